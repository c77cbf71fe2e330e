//! Sealing: the one place where secrets are encrypted before they are stored or travel.
//!
//! Stored values are bound to the cell they live in ([`Place`]), travelling ones to what they were made for
//! ([`Purpose`]) and the caller's context, so that a value moved elsewhere does not open (R38, R99). The ring holds
//! several keys: the first seals, every one opens (R101).
//!
//! AES-256-GCM. Each message has a key of its own, derived by HKDF-SHA256 from the ring's key, the cell or the purpose,
//! and half of a random 192-bit nonce; the other half is GCM's nonce. No derived key sees more than a few messages, so
//! the limit of 2^32 random nonces a key (NIST SP 800-38D, section 8.3) is out of reach however long a ring's key
//! lives, and two clones of one machine need no counter to stay apart (R100).
//!
//! What it must never do: read or write anything; say in an error what was inside; answer a value that does not open
//! with "nothing there" (R102).

mod cell;
mod envelope;
mod key;
mod place;
mod purpose;

use std::{fmt, sync::Arc};

use aws_lc_rs::{hkdf, hmac};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

pub use self::{
    cell::Cell,
    envelope::Sealed,
    key::{Key, KeyError, KeyId, check_ring},
    place::Place,
    purpose::Purpose,
};
use crate::{random::Random, secret::SecretBytes};

/// Why a sealed value does not open. Never a reason to treat it as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Sealed with a key that is not in the ring: the operator's fault, and mended by giving the key back.
    #[error("sealed with a key that is not configured")]
    UnknownKey,
    /// Not the form of a sealed value.
    #[error("not a sealed value")]
    Malformed,
    /// Changed, moved to another place or made for another use.
    #[error("the sealed value does not belong here or was changed")]
    Refused,
}

/// The ring of keys. Cloning shares it.
#[derive(Clone)]
pub struct Vault(Arc<Ring>);

struct Ring {
    current: RingKey,
    older: Vec<RingKey>,
    random: Random,
}

struct RingKey {
    id: KeyId,
    root: hkdf::Prk,
}

impl Vault {
    /// A vault over `keys`: the first seals, every one opens.
    ///
    /// # Errors
    /// An empty ring, an id used twice, two ids for the same key.
    pub fn new(keys: Vec<Key>, random: Random) -> Result<Self, KeyError> {
        key::check_ring(&keys)?;
        let mut ring = keys.into_iter().map(|key| RingKey { root: key.root(), id: key.into_id() });
        let current = ring.next().ok_or(KeyError::EmptyRing)?;
        Ok(Self(Arc::new(Ring { current, older: ring.collect(), random })))
    }

    /// The key that seals.
    pub fn current_key(&self) -> &KeyId {
        &self.0.current.id
    }

    /// Every key that opens, the current one first.
    pub fn keys(&self) -> impl Iterator<Item = &KeyId> {
        self.ring().map(|key| &key.id)
    }

    /// Seals `plain` for one cell of the store.
    pub fn seal(&self, place: &Place<'_>, plain: &[u8]) -> Sealed {
        debug_assert!(
            cfg!(test) || Cell::of(place.table, place.column).is_some(),
            "{}.{} is not in the register of sealed cells",
            place.table,
            place.column
        );
        let current = &self.0.current;
        envelope::seal(
            &current.root,
            &current.id,
            &place.cell(),
            &place.bound(&current.id),
            self.0.random,
            plain,
        )
    }

    /// Opens what was sealed for this very cell.
    ///
    /// # Errors
    /// [`OpenError`]; a refusal is a security event and never the same as an empty cell (R99, R102).
    pub fn open(&self, place: &Place<'_>, sealed: &Sealed) -> Result<SecretBytes, OpenError> {
        let key = self.key_of(sealed)?;
        envelope::open(&key.root, &place.cell(), &place.bound(&key.id), sealed)
    }

    /// Seals `plain` as URL-safe text for a cookie or a parameter. `context` is what must be the same when it is
    /// opened, such as a server's id; it is not part of the text.
    pub fn seal_text(&self, purpose: Purpose, context: &[&str], plain: &[u8]) -> String {
        let current = &self.0.current;
        let bound = purpose.bound(&current.id, context);
        let sealed =
            envelope::seal(&current.root, &current.id, &purpose.cell(), &bound, self.0.random, plain);
        BASE64_URL_SAFE_NO_PAD.encode(sealed.as_bytes())
    }

    /// Opens what [`Vault::seal_text`] made for the same purpose and context. The caller bounds the length of `text`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_text(
        &self,
        purpose: Purpose,
        context: &[&str],
        text: &str,
    ) -> Result<SecretBytes, OpenError> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| OpenError::Malformed)?;
        let sealed = Sealed::from_bytes(sealed);
        let key = self.key_of(&sealed)?;
        envelope::open(&key.root, &purpose.cell(), &purpose.bound(&key.id, context), &sealed)
    }

    /// A keyed digest of `parts` (HMAC-SHA256 under the current key), the parts kept apart. The same as long as the
    /// current key is.
    pub fn mac(&self, purpose: Purpose, parts: &[&[u8]]) -> [u8; 32] {
        mac_under(&self.0.current, purpose, &place::join(parts))
    }

    /// Whether `tag` is the digest of `parts` under any key of the ring; in constant time for each key.
    pub fn verify_mac(&self, purpose: Purpose, parts: &[&[u8]], tag: &[u8]) -> bool {
        let parts = place::join(parts);
        self.ring().any(|key| hmac::verify(&mac_key(key, purpose), &parts, tag).is_ok())
    }

    /// The digest of `parts` under each key of the ring, the current one first: to find what was made before a change of
    /// keys.
    pub fn macs(&self, purpose: Purpose, parts: &[&[u8]]) -> impl Iterator<Item = (&KeyId, [u8; 32])> {
        let parts = place::join(parts);
        self.ring().map(move |key| (&key.id, mac_under(key, purpose, &parts)))
    }

    /// Whether `tag` is the digest of `parts` under the key of this id, in constant time; `None` when the ring has no
    /// such key.
    pub fn verify_mac_of(&self, id: &KeyId, purpose: Purpose, parts: &[&[u8]], tag: &[u8]) -> Option<bool> {
        let key = self.ring().find(|key| key.id == *id)?;
        Some(hmac::verify(&mac_key(key, purpose), &place::join(parts), tag).is_ok())
    }

    fn ring(&self) -> impl Iterator<Item = &RingKey> {
        std::iter::once(&self.0.current).chain(&self.0.older)
    }

    fn key_of(&self, sealed: &Sealed) -> Result<&RingKey, OpenError> {
        let id = sealed.key_id().ok_or(OpenError::Malformed)?;
        self.ring().find(|key| key.id == id).ok_or(OpenError::UnknownKey)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

fn mac_under(key: &RingKey, purpose: Purpose, parts: &[u8]) -> [u8; 32] {
    let tag = hmac::sign(&mac_key(key, purpose), parts);
    let mut digest = [0; 32];
    digest.copy_from_slice(tag.as_ref());
    digest
}

fn mac_key(key: &RingKey, purpose: Purpose) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &*derive(&key.root, &purpose.mac_cell()))
}

/// 32 bytes of key material for `info` (RFC 5869, section 2.3).
fn derive(root: &hkdf::Prk, info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut derived = Zeroizing::new([0; 32]);
    #[expect(clippy::expect_used, reason = "32 bytes are one block of SHA-256; HKDF fails beyond 255")]
    root.expand(&[info], hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut *derived))
        .expect("one block is derivable");
    derived
}

#[cfg(test)]
mod tests;
