//! A row of the record, and its place in a chain.
//!
//! Each process writes chains of its own, so that no two wait for each other. A row's tag is over all of its fields and
//! over the tag before it, under a key of the vault: who can write to the database but has no key can neither change,
//! insert, move nor take out a row between two others without [`Sealer::check`] and the numbers telling. What is cut
//! off at the end of a chain is told by its head, which the log has.

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use super::Entry;
use crate::{
    clock::Millis,
    elicitation::MalformedId,
    subject::Subject,
    vault::{KeyId, Purpose, Vault},
};

const VERSION: u8 = 1;
const MAC_BYTES: usize = 32;
/// Of a subject's digest: 128 bits tell any two people apart.
const DIGEST_BYTES: usize = 16;

/// A row as it is stored, fields as text, so that it is checked as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The chain.
    pub chain: Uuid,
    /// Counts 1, 2, 3 within the chain.
    pub number: i64,
    /// When it happened.
    pub at: Millis,
    /// What happened: a [`Kind`](super::Kind)'s code.
    pub kind: String,
    /// Who did it.
    pub actor: String,
    /// The MCP server.
    pub server: Option<String>,
    /// The third party.
    pub provider: Option<String>,
    /// The connection.
    pub connection: Option<Uuid>,
    /// The elicitation.
    pub elicitation: Option<Uuid>,
    /// A keyed digest of the subject, or the subject.
    pub subject: Option<String>,
    /// What came of it.
    pub result: String,
    /// Why, or how.
    pub detail: Option<String>,
    /// How many times.
    pub times: i64,
    /// The tag of the row before; empty for the first.
    pub previous: Vec<u8>,
    /// Over all of the above: version, length of the key's id, the id, HMAC-SHA256.
    pub tag: Vec<u8>,
}

/// Where a chain ends. Written `CHAIN:NUMBER:TAG` where people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The chain.
    pub chain: Uuid,
    /// The last row's number; 0 before the first.
    pub number: i64,
    /// The last row's tag; empty before the first.
    pub tag: Vec<u8>,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.chain, self.number, BASE64_URL_SAFE_NO_PAD.encode(&self.tag))
    }
}

impl FromStr for Head {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next().ok_or(MalformedId);
        Ok(Self {
            chain: next()?.parse().map_err(|_| MalformedId)?,
            number: next()?.parse().map_err(|_| MalformedId)?,
            tag: BASE64_URL_SAFE_NO_PAD.decode(next()?).map_err(|_| MalformedId)?,
        })
    }
}

/// What a row's tag says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The row is as it was written.
    Good,
    /// It is not.
    Changed,
    /// It was tagged with a key that is not configured.
    KeyMissing(KeyId),
}

/// Makes rows of entries, and checks rows.
#[derive(Clone, Debug)]
pub struct Sealer {
    vault: Vault,
    names_subjects: bool,
}

impl Sealer {
    /// Over this ring of keys. `names_subjects`: rows hold subjects as they are, and not their digests.
    pub fn new(vault: Vault, names_subjects: bool) -> Self {
        Self { vault, names_subjects }
    }

    /// The row of `entry` behind `head`.
    pub fn seal(&self, entry: &Entry, head: &Head) -> Row {
        let about = &entry.about;
        let mut row = Row {
            chain: head.chain,
            number: head.number.saturating_add(1),
            at: entry.at,
            kind: entry.kind.as_str().to_owned(),
            actor: entry.actor.as_str().to_owned(),
            server: about.server.as_ref().map(ToString::to_string),
            provider: about.provider.as_ref().map(ToString::to_string),
            connection: about.connection.map(|id| id.0),
            elicitation: about.elicitation.map(|id| id.0),
            subject: about.subject.as_ref().map(|subject| self.subject(subject)),
            result: entry.outcome.as_str().to_owned(),
            detail: entry.detail.as_ref().map(ToString::to_string),
            times: entry.times,
            previous: head.tag.clone(),
            tag: Vec::new(),
        };
        let id = self.vault.current_key().as_str();
        #[expect(clippy::cast_possible_truncation, reason = "a key's id has at most 64 bytes")]
        let mut tag = vec![VERSION, id.len() as u8];
        tag.extend_from_slice(id.as_bytes());
        tag.extend_from_slice(&self.vault.mac(Purpose::AuditChain, &slices(&row.parts())));
        row.tag = tag;
        row
    }

    /// Whether a row is as it was written; its place in the chain is the caller's to compare.
    pub fn check(&self, row: &Row) -> Checked {
        let Some((key, mac)) = row.split_tag() else { return Checked::Changed };
        match self.vault.verify_mac_of(&key, Purpose::AuditChain, &slices(&row.parts()), mac) {
            Some(true) => Checked::Good,
            Some(false) => Checked::Changed,
            None => Checked::KeyMissing(key),
        }
    }

    /// A subject as rows have it from now on.
    pub fn subject(&self, subject: &Subject) -> String {
        if self.names_subjects {
            return plain(subject);
        }
        let key = self.vault.current_key();
        digest(key, &self.vault.mac(Purpose::AuditSubject, &parts_of(subject)))
    }

    /// Every way in which rows may have a subject: its digest under each key of the ring, and plain.
    pub fn spellings(&self, subject: &Subject) -> Vec<String> {
        let parts = parts_of(subject);
        let macs = self.vault.macs(Purpose::AuditSubject, &parts);
        macs.map(|(key, mac)| digest(key, &mac)).chain([plain(subject)]).collect()
    }
}

fn slices<const N: usize>(parts: &[Vec<u8>; N]) -> [&[u8]; N] {
    parts.each_ref().map(Vec::as_slice)
}

fn parts_of(subject: &Subject) -> [&[u8]; 2] {
    [subject.issuer.as_bytes(), subject.sub.as_bytes()]
}

fn plain(subject: &Subject) -> String {
    format!("{} {}", subject.issuer, subject.sub)
}

fn digest(key: &KeyId, mac: &[u8; MAC_BYTES]) -> String {
    format!("{key}:{}", BASE64_URL_SAFE_NO_PAD.encode(&mac[..DIGEST_BYTES]))
}

impl Row {
    /// The head of a chain that ends here.
    pub fn head(&self) -> Head {
        Head { chain: self.chain, number: self.number, tag: self.tag.clone() }
    }

    /// Every field but the tag. An absent field is not the same as an empty one.
    fn parts(&self) -> [Vec<u8>; 15] {
        let there = |bytes: &[u8]| [&[1], bytes].concat();
        let text = |field: &Option<String>| field.as_ref().map_or_else(|| vec![0], |it| there(it.as_bytes()));
        let id = |field: &Option<Uuid>| field.map_or_else(|| vec![0], |it| there(it.as_bytes()));
        [
            there(&[VERSION]),
            there(self.chain.as_bytes()),
            there(&self.number.to_be_bytes()),
            there(&self.at.0.to_be_bytes()),
            there(self.kind.as_bytes()),
            there(self.actor.as_bytes()),
            text(&self.server),
            text(&self.provider),
            id(&self.connection),
            id(&self.elicitation),
            text(&self.subject),
            there(self.result.as_bytes()),
            text(&self.detail),
            there(&self.times.to_be_bytes()),
            there(&self.previous),
        ]
    }

    fn split_tag(&self) -> Option<(KeyId, &[u8])> {
        let (&[version, length], rest) = self.tag.split_first_chunk()?;
        let (id, mac) = rest.split_at_checked(usize::from(length))?;
        let id = KeyId::new(std::str::from_utf8(id).ok()?).ok()?;
        (version == VERSION && mac.len() == MAC_BYTES).then_some((id, mac))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        audit::{About, Actor, Kind},
        random::Random,
        vault::Key,
    };

    fn key(id: &str) -> Key {
        Key::generate(KeyId::new(id).unwrap(), &Random).0
    }

    fn sealer(keys: Vec<Key>) -> Sealer {
        Sealer::new(Vault::new(keys, Random).unwrap(), false)
    }

    fn beginning() -> Head {
        Head { chain: Random.uuid(), number: 0, tag: Vec::new() }
    }

    fn entry() -> Entry {
        let subject = Subject::new("https://id.example", "alice").unwrap();
        let about = About { server: "files".parse().ok(), subject: Some(subject), ..About::default() };
        Entry::new(Kind::Connected, Actor::Person, about, Millis(1_800_000_000_000))
    }

    /// Every field is under the tag: what is changed, emptied or moved to the next field is told.
    #[test]
    fn a_change_of_any_field_is_told() {
        let sealer = sealer(vec![key("k")]);
        let row = sealer.seal(&entry(), &beginning());
        assert_eq!(sealer.check(&row), Checked::Good);
        let changes: [fn(&mut Row); 16] = [
            |row| row.chain = Random.uuid(),
            |row| row.number += 1,
            |row| row.at = Millis(row.at.0 + 1),
            |row| row.kind = "disconnected".to_owned(),
            |row| row.actor = "operator".to_owned(),
            |row| row.server = None,
            |row| row.provider = row.server.take(),
            |row| row.provider = Some(String::new()),
            |row| row.connection = Some(Random.uuid()),
            |row| row.elicitation = Some(Random.uuid()),
            |row| row.subject = None,
            |row| row.result = "refused".to_owned(),
            |row| row.detail = Some("x".to_owned()),
            |row| row.times += 1,
            |row| row.previous.push(0),
            |row| row.tag[10] ^= 1,
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut changed = row.clone();
            change(&mut changed);
            assert_eq!(sealer.check(&changed), Checked::Changed, "{at}");
        }
    }

    #[test]
    fn rows_outlive_a_change_of_keys_and_name_a_key_that_is_gone() {
        let (one, two) = (Key::generate(KeyId::new("one").unwrap(), &Random), key("two"));
        let again = Key::from_base64(KeyId::new("one").unwrap(), &one.1).unwrap();
        let old = sealer(vec![one.0]);
        let row = old.seal(&entry(), &beginning());
        let new = sealer(vec![two, again]);
        assert_eq!(new.check(&row), Checked::Good);
        let subject = entry().about.subject.unwrap();
        assert_ne!(old.subject(&subject), new.subject(&subject));
        assert!(new.spellings(&subject).contains(&old.subject(&subject)));
        assert_eq!(sealer(vec![key("three")]).check(&row), Checked::KeyMissing(KeyId::new("one").unwrap()));
    }

    #[test]
    fn a_subject_is_named_only_when_that_is_asked_for() {
        let vault = Vault::new(vec![key("k")], Random).unwrap();
        let subject = entry().about.subject.unwrap();
        assert!(!Sealer::new(vault.clone(), false).subject(&subject).contains("alice"));
        assert_eq!(Sealer::new(vault, true).subject(&subject), "https://id.example alice");
    }

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = sealer(vec![key("k")]).seal(&entry(), &beginning()).head();
        assert_eq!(head.to_string().parse(), Ok(head));
        for bad in ["", "x", "550e8400-e29b-41d4-a716-446655440000:1"] {
            assert!(bad.parse::<Head>().is_err());
        }
    }
}
