//! Values that must never be printed.
//!
//! [`Secret`] has no `Display` and no `Serialize`, its `Debug` says only `[secret]`, it is wiped when dropped and
//! compared in constant time. A secret leaves the type in one way, [`Secret::expose`], which is easy to grep for.

use std::fmt;

use aws_lc_rs::{constant_time, digest};
use zeroize::{Zeroize, Zeroizing};

/// A secret string: a token, a client secret, a verifier, an API key.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a value; the caller keeps no copy.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The value itself, for the one place that sends or seals it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// SHA-256, for looking a secret up without storing it.
    pub fn hash(&self) -> Hash {
        Hash::of(self.0.as_bytes())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AsRef<Secret> for Secret {
    fn as_ref(&self) -> &Secret {
        self
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(self.0.as_bytes(), other.0.as_bytes()).is_ok()
    }
}

impl Eq for Secret {}

impl<'de> serde::Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// Secret bytes: a key, or an opened ciphertext.
#[derive(Clone)]
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Wraps bytes; the caller keeps no copy.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes themselves.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, where they are UTF-8.
    pub fn into_secret(mut self) -> Option<Secret> {
        let bytes = std::mem::take(&mut *self.0);
        String::from_utf8(bytes)
            .map(Secret::new)
            .map_err(|error| {
                let mut bytes = error.into_bytes();
                bytes.zeroize();
            })
            .ok()
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A SHA-256 digest: what is stored of a secret that is only ever looked up (R98).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = digest::digest(&digest::SHA256, bytes);
        let mut hash = [0; 32];
        hash.copy_from_slice(digest.as_ref());
        Self(hash)
    }

    /// The digest as bytes, as the store keeps it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether two digests are equal, in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }

    /// The first eight bytes in hexadecimal: enough to correlate log lines, too little to look anything up.
    pub fn short(&self) -> String {
        self.0[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_cannot_be_printed() {
        let secret = Secret::new("canary-4711");
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(format!("{:?}", SecretBytes::new(b"canary-4711".to_vec())), "[secret]");
    }

    #[test]
    fn equality_is_of_the_whole_value() {
        assert_eq!(Secret::new("a"), Secret::new("a"));
        assert_ne!(Secret::new("a"), Secret::new("ab"));
        assert_ne!(Secret::new(""), Secret::new("a"));
    }
}
