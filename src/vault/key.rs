//! One key of the ring, and what is refused as one (R103).
//!
//! What it must never do: name a key's value in an error.

use std::{collections::HashSet, fmt, str::FromStr};

use aws_lc_rs::{constant_time, digest, hkdf};
use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::{random::Random, secret::Secret};

const KEY_BYTES: usize = 32;
/// 32 random bytes show 30 distinct values on average; fewer than 16 does not happen.
const FEWEST_DISTINCT: usize = 16;
/// What people type, or find in an example, where a key is asked for; also refused as its SHA-256.
const WELL_KNOWN: [&str; 12] = [
    "",
    "admin",
    "change-me",
    "changeit",
    "changeme",
    "consentry",
    "default",
    "encryption-key",
    "key",
    "password",
    "secret",
    "test",
];

/// Names a key of the ring: 1 to 64 characters of `A-Z a-z 0-9 . _ -`. Not secret; stands in every sealed value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct KeyId(String);

impl KeyId {
    /// Takes a name.
    ///
    /// # Errors
    /// [`KeyError::BadId`].
    pub fn new(id: impl Into<String>) -> Result<Self, KeyError> {
        let id = id.into();
        if Self::is_valid(id.as_bytes()) { Ok(Self(id)) } else { Err(KeyError::BadId) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_valid(id: &[u8]) -> bool {
        (1..=64).contains(&id.len())
            && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(id: &str) -> Result<Self, KeyError> {
        Self::new(id)
    }
}

impl TryFrom<String> for KeyId {
    type Error = KeyError;

    fn try_from(id: String) -> Result<Self, KeyError> {
        Self::new(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a key or a ring is refused; start-up stops on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The id has other characters or another length than allowed.
    #[error("a key id is 1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen")]
    BadId,
    /// Nothing where the key should be.
    #[error("encryption key {0} is empty; `consentry key new` makes one")]
    Missing(KeyId),
    /// Not base64.
    #[error("encryption key {0} is not base64; `consentry key new` makes one")]
    NotBase64(KeyId),
    /// Another length than 32 bytes.
    #[error("encryption key {0} is {1} bytes, not 32; `consentry key new` makes one")]
    WrongLength(KeyId, usize),
    /// Typed, patterned or known to everyone.
    #[error("encryption key {0} is not random; `consentry key new` makes one")]
    Weak(KeyId),
    /// No key at all.
    #[error("no encryption key is configured")]
    EmptyRing,
    /// The same id twice.
    #[error("two encryption keys have the id {0}")]
    DuplicateId(KeyId),
    /// Two ids for one key.
    #[error("encryption keys {0} and {1} are the same key")]
    EqualKeys(KeyId, KeyId),
}

/// A key of 256 bits. Wiped when dropped; never printed.
pub struct Key {
    id: KeyId,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

impl Key {
    /// Reads a key from base64 of 32 bytes, in either alphabet, padded or not; white space around it is ignored.
    ///
    /// # Errors
    /// A missing, undecodable, short or long key, and one that is not random: repeated, counted up, typed or well known.
    pub fn from_base64(id: KeyId, text: &Secret) -> Result<Self, KeyError> {
        let text = text.expose().trim();
        if text.is_empty() {
            return Err(KeyError::Missing(id));
        }
        let Some(decoded) = decode(text) else {
            return Err(KeyError::NotBase64(id));
        };
        let Ok(bytes) = <[u8; KEY_BYTES]>::try_from(decoded.as_slice()).map(Zeroizing::new) else {
            return Err(KeyError::WrongLength(id, decoded.len()));
        };
        if is_weak(&bytes) { Err(KeyError::Weak(id)) } else { Ok(Self { id, bytes }) }
    }

    /// A new random key, and its base64 for the key file.
    pub fn generate(id: KeyId, random: &Random) -> (Self, Secret) {
        let bytes = Zeroizing::new(random.bytes::<KEY_BYTES>());
        let text = Secret::new(BASE64_STANDARD.encode(*bytes));
        (Self { id, bytes }, text)
    }

    /// The key's id.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The root that everything is derived from. The key is uniformly random, so HKDF's extract step is left out
    /// (RFC 5869, section 3.3).
    pub(super) fn root(&self) -> hkdf::Prk {
        hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &*self.bytes)
    }

    pub(super) fn into_id(self) -> KeyId {
        self.id
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// Refuses a ring in which an id does not name exactly one key.
///
/// # Errors
/// An empty ring, an id used twice, two ids for the same key.
pub fn check_ring(keys: &[Key]) -> Result<(), KeyError> {
    for (at, key) in keys.iter().enumerate() {
        for earlier in &keys[..at] {
            if earlier.id == key.id {
                return Err(KeyError::DuplicateId(key.id.clone()));
            }
            if constant_time::verify_slices_are_equal(&*earlier.bytes, &*key.bytes).is_ok() {
                return Err(KeyError::EqualKeys(earlier.id.clone(), key.id.clone()));
            }
        }
    }
    if keys.is_empty() { Err(KeyError::EmptyRing) } else { Ok(()) }
}

fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    GeneralPurpose::new(&alphabet, lenient).decode(text).ok().map(Zeroizing::new)
}

fn is_weak(bytes: &[u8; KEY_BYTES]) -> bool {
    let distinct: HashSet<u8> = bytes.iter().copied().collect();
    let step = bytes[1].wrapping_sub(bytes[0]);
    let counts = bytes.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
    let repeats = bytes[..KEY_BYTES / 2] == bytes[KEY_BYTES / 2..];
    // A passphrase, or hexadecimal digits that were encoded once more: half of the strength at best.
    let typed = bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 0));
    distinct.len() < FEWEST_DISTINCT || counts || repeats || typed || is_well_known(bytes)
}

fn is_well_known(bytes: &[u8; KEY_BYTES]) -> bool {
    WELL_KNOWN.iter().any(|word| digest::digest(&digest::SHA256, word.as_bytes()).as_ref() == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(bytes: &[u8]) -> Result<Key, KeyError> {
        Key::from_base64(KeyId::new("k").unwrap(), &Secret::new(BASE64_STANDARD.encode(bytes)))
    }

    /// R103: weak, short, long, typed and well-known keys are refused, each by its name.
    #[test]
    fn r103_what_is_no_key_is_refused() {
        let id = KeyId::new("k").unwrap();
        let counted: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        let backwards: [u8; 32] = std::array::from_fn(|at| 255 - 3 * u8::try_from(at).unwrap());
        let sha = digest::digest(&digest::SHA256, b"changeme");
        let half = Random.bytes::<16>();
        for weak in [
            &[0; 32][..],
            &[255; 32],
            &[7; 32],
            &counted,
            &backwards,
            b"0123456789abcdef0123456789abcdef",
            b"correct horse battery staple ok!",
            b"abcdefghijklmnop\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            sha.as_ref(),
            &[half, half].concat(),
        ] {
            assert_eq!(key(weak).unwrap_err(), KeyError::Weak(id.clone()));
        }
        for length in [1, 16, 31, 33, 64] {
            assert_eq!(key(&vec![9; length]).unwrap_err(), KeyError::WrongLength(id.clone(), length));
        }
        for (text, error) in [("", KeyError::Missing(id.clone())), (" \n", KeyError::Missing(id.clone()))] {
            assert_eq!(Key::from_base64(id.clone(), &Secret::new(text)).unwrap_err(), error);
        }
        let error = Key::from_base64(id.clone(), &Secret::new("canary*4711")).unwrap_err();
        assert_eq!(error, KeyError::NotBase64(id));
        assert!(!format!("{error} {error:?}").contains("canary"));
    }

    #[test]
    fn a_made_key_can_be_read_back_in_every_spelling() {
        let (made, text) = Key::generate(KeyId::new("k").unwrap(), &Random);
        let url_safe = text.expose().replace('+', "-").replace('/', "_");
        for text in
            [format!("{}\n", text.expose()), url_safe.clone(), url_safe.trim_end_matches('=').to_owned()]
        {
            let read = Key::from_base64(KeyId::new("k").unwrap(), &Secret::new(text)).unwrap();
            assert_eq!(read.bytes, made.bytes);
        }
        assert_eq!(format!("{made:?}"), "Key(k)");
    }

    #[test]
    fn random_keys_are_never_taken_for_weak() {
        for _ in 0..20_000 {
            assert!(!is_weak(&Random.bytes()));
        }
    }

    #[test]
    fn an_id_is_short_and_plain() {
        for bad in ["", "a b", "ä", "a/b", "a\n", &"x".repeat(65)] {
            assert_eq!(KeyId::new(bad), Err(KeyError::BadId));
        }
        assert_eq!("2026-11_a.b".parse::<KeyId>().unwrap().to_string(), "2026-11_a.b");
    }
}
