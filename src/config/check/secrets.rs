//! The ring of keys, and secrets that must not be shared between uses (R103).

use std::path::Path;

use super::Checker;
use crate::{
    config::{raw, secret_source},
    secret::{Hash, Secret},
    vault::{self, Key, KeyId},
};

/// Hashes of secrets that were read, each with the key that named it.
#[derive(Default)]
pub(super) struct SecretsSeen(Vec<(Hash, String)>);

/// The fewest characters of an API key: 128 bits in hexadecimal.
const API_KEY_MIN: usize = 32;
/// Random text of 32 characters shows more distinct ones than this, even in hexadecimal.
const API_KEY_DISTINCT_MIN: usize = 8;

impl Checker<'_> {
    /// The ring; a finding for each key that is missing, weak, short, doubled or well known.
    pub(super) fn keys(&mut self, raw: raw::Encryption) -> Option<Vec<Key>> {
        let before = self.findings.len();
        let mut keys = Vec::new();
        for (at, key) in raw.keys.into_iter().enumerate() {
            keys.extend(self.key(&format!("encryption.keys[{at}]"), key));
        }
        if self.findings.len() > before {
            return None;
        }
        self.findings.keep("encryption.keys", vault::check_ring(&keys).map_err(|error| refused(&error)))?;
        Some(keys)
    }

    fn key(&mut self, at: &str, raw: raw::EncryptionKey) -> Option<Key> {
        let id = self.findings.keep(format!("{at}.id"), KeyId::new(raw.id).map_err(|error| refused(&error)));
        let text = match (raw.file, raw.env) {
            (Some(file), None) => {
                let text = secret_source::of_file(Path::new(&file));
                self.findings
                    .keep(at, text.map_err(|problem| format!("{problem}; `consentry key new` makes one")))
            }
            (None, Some(name)) => {
                self.findings.keep(at, secret_source::of_environment(&name, self.environment))
            }
            (Some(_), Some(_)) | (None, None) => {
                self.refuse(at, "needs one of file and env");
                None
            }
        }?;
        self.only_use(at, &text);
        self.findings.keep(at, Key::from_base64(id?, &text).map_err(|error| refused(&error)))
    }

    /// The hash of an API key. Short ones, typed ones and those that stand in two places are refused.
    pub(super) fn api_key(&mut self, at: &str, source: &secret_source::SecretSource) -> Option<Hash> {
        let key = source.read(at, self.environment, self.loopback, self.findings)?;
        let text = key.expose();
        let distinct: std::collections::BTreeSet<char> = text.chars().collect();
        self.demand(text.len() >= API_KEY_MIN, at, "must be at least 32 characters");
        self.demand(distinct.len() >= API_KEY_DISTINCT_MIN, at, "must be random");
        self.demand(
            text.bytes().all(|byte| byte.is_ascii_graphic()),
            at,
            "must be printable ASCII without spaces, since it travels in a header",
        );
        self.only_use(at, &key);
        Some(key.hash())
    }

    /// Refuses a secret that has another use already.
    pub(super) fn only_use(&mut self, at: &str, secret: &Secret) {
        let hash = secret.hash();
        let other = self.seen.0.iter().find(|(seen, _)| seen.matches(&hash)).map(|(_, other)| other.clone());
        match other {
            Some(other) => self.refuse(at, format!("is the same secret as {other}")),
            None => self.seen.note(at, secret),
        }
    }
}

impl SecretsSeen {
    /// Remembers a secret that may be shared with others of its kind.
    pub(super) fn note(&mut self, at: &str, secret: &Secret) {
        self.0.push((secret.hash(), at.to_owned()));
    }
}

/// The vault's sentences begin with what they are about; here they follow a key.
fn refused(error: &vault::KeyError) -> String {
    format!("is refused: {error}")
}
