//! The bytes of a sealed value: version, length of the key id, key id, nonce of 24 bytes, ciphertext, tag of 16 bytes.
//!
//! What it must never do: give back one byte of a value whose tag does not fit.

use std::fmt;

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
};
use zeroize::Zeroizing;

use super::{OpenError, derive, key::KeyId, place::join};
use crate::{random::Random, secret::SecretBytes};

pub(super) const VERSION: u8 = 1;
const TAG_LEN: usize = 16;
/// Half goes into the derived key, half is GCM's nonce.
const FULL_NONCE: usize = 2 * NONCE_LEN;

/// A sealed value as the store keeps it: says which key opens it, and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Takes stored bytes; what they are worth shows when they are opened.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes to store.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The key that it was sealed with; `None` when these are no bytes of a sealed value.
    pub fn key_id(&self) -> Option<KeyId> {
        let (id, _, _) = self.parts()?;
        std::str::from_utf8(id).ok().and_then(|id| KeyId::new(id).ok())
    }

    /// The key that a sealed value, or a tag, was made with, by what it begins with; `None` when it begins otherwise.
    pub fn key_of(beginning: &[u8]) -> Option<KeyId> {
        let (&[version, length], rest) = beginning.split_first_chunk()?;
        let (id, _) = rest.split_at_checked(usize::from(length))?;
        let id = std::str::from_utf8(id).ok().filter(|_| version == VERSION)?;
        KeyId::new(id).ok()
    }

    /// What everything sealed under a key begins with, and nothing that was sealed under another.
    pub fn beginning(key: &KeyId) -> Vec<u8> {
        let id = key.as_str().as_bytes();
        #[expect(clippy::cast_possible_truncation, reason = "a key id has at most 64 bytes")]
        let mut beginning = vec![VERSION, id.len() as u8];
        beginning.extend_from_slice(id);
        beginning
    }

    /// Key id, nonce, ciphertext with tag.
    fn parts(&self) -> Option<(&[u8], &[u8; FULL_NONCE], &[u8])> {
        let (&[version, id_len], rest) = self.0.split_first_chunk()?;
        let (id, rest) = rest.split_at_checked(usize::from(id_len))?;
        let (nonce, sealed) = rest.split_first_chunk()?;
        (version == VERSION && KeyId::is_valid(id) && sealed.len() >= TAG_LEN).then_some((id, nonce, sealed))
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

/// Seals `plain` under the key of `cell`, with `bound` as associated data.
pub(super) fn seal(
    root: &hkdf::Prk,
    id: &KeyId,
    cell: &[u8],
    bound: &[u8],
    random: Random,
    plain: &[u8],
) -> Sealed {
    let nonce: [u8; FULL_NONCE] = random.bytes();
    let beginning = Sealed::beginning(id);
    let header = beginning.len() + FULL_NONCE;
    // Reserved whole, so that no copy of the plain text stays behind when the buffer grows.
    let mut bytes = Vec::with_capacity(header + plain.len() + TAG_LEN);
    bytes.extend_from_slice(&beginning);
    bytes.extend_from_slice(&nonce);
    bytes.extend_from_slice(plain);
    let (key, nonce) = message_key(root, cell, &nonce);
    #[expect(clippy::expect_used, reason = "GCM fails only beyond 64 GiB")]
    let tag = key
        .seal_in_place_separate_tag(nonce, Aad::from(bound), &mut bytes[header..])
        .expect("is short enough");
    bytes.extend_from_slice(tag.as_ref());
    Sealed(bytes)
}

/// Opens what [`seal`] made of the same root, cell and associated data.
pub(super) fn open(
    root: &hkdf::Prk,
    cell: &[u8],
    bound: &[u8],
    sealed: &Sealed,
) -> Result<SecretBytes, OpenError> {
    let (_, nonce, sealed) = sealed.parts().ok_or(OpenError::Malformed)?;
    let (key, nonce) = message_key(root, cell, nonce);
    // Wiped when the tag does not fit: the library leaves the buffer in an unspecified state.
    let mut buffer = Zeroizing::new(sealed.to_vec());
    let length =
        key.open_in_place(nonce, Aad::from(bound), &mut buffer).map_err(|_| OpenError::Refused)?.len();
    buffer.truncate(length);
    Ok(SecretBytes::new(std::mem::take(&mut *buffer)))
}

fn message_key(root: &hkdf::Prk, cell: &[u8], nonce: &[u8; FULL_NONCE]) -> (LessSafeKey, Nonce) {
    let (salt, rest) = nonce.split_at(NONCE_LEN);
    let bytes = derive(root, &join(&[&b"aes-256-gcm"[..], cell, salt]));
    let mut nonce = [0; NONCE_LEN];
    nonce.copy_from_slice(rest);
    #[expect(clippy::expect_used, reason = "the key has the length of the algorithm")]
    let key = UnboundKey::new(&AES_256_GCM, &*bytes).expect("32 bytes are a key");
    (LessSafeKey::new(key), Nonce::assume_unique_for_key(nonce))
}
