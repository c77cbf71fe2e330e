//! The only caller of the operating system's generator.
//!
//! Everything that must not be guessed comes from here (R7): ids, `state`, `nonce`, verifiers, session ids.
//! Time-ordered ids are for rows alone and are never a capability.

use aws_lc_rs::rand;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::{clock::Millis, secret::Secret};

/// The generator. Cheap to copy; holds no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Random {
    /// `N` random bytes.
    ///
    /// # Panics
    /// When the operating system has no randomness to give; nothing safe can be done without it.
    pub fn bytes<const N: usize>(self) -> [u8; N] {
        let mut bytes = [0; N];
        #[expect(clippy::expect_used, reason = "without randomness nothing safe can be done")]
        rand::fill(&mut bytes).expect("the operating system gives random bytes");
        bytes
    }

    /// A secret of 256 bits as 43 characters of base64url: `state`, `nonce`, PKCE verifier (RFC 7636, section
    /// 4.1), binding secret.
    pub fn secret(self) -> Secret {
        Secret::new(BASE64_URL_SAFE_NO_PAD.encode(self.bytes::<32>()))
    }

    /// A UUID version 4.
    pub fn uuid(self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid()
    }

    /// A UUID version 7, ordered by `now`: for row keys only.
    pub fn row_id(self, now: Millis) -> Uuid {
        let millis = u64::try_from(now.0).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()).into_uuid()
    }

    /// A number in `0..bound`, for jitter; `0` when `bound` is `0`.
    pub fn below(self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { u64::from_le_bytes(self.bytes()) % bound }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// R7: no duplicates, 256 bits, no shared prefix.
    #[test]
    fn secrets_are_long_and_differ() {
        let secrets: HashSet<String> = (0..10_000).map(|_| Random.secret().expose().to_owned()).collect();
        assert_eq!(secrets.len(), 10_000);
        assert!(secrets.iter().all(|secret| secret.len() == 43));
        let first: HashSet<char> = secrets.iter().filter_map(|secret| secret.chars().next()).collect();
        assert_eq!(first.len(), 64);
    }

    #[test]
    fn row_ids_are_ordered_by_time() {
        assert!(Random.row_id(Millis(1_000)) < Random.row_id(Millis(2_000)));
        assert_eq!(Random.uuid().get_version_num(), 4);
    }
}
