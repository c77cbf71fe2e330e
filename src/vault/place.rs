//! Where a sealed value lives, as bytes that cannot be read in two ways.
//!
//! What it must never do: leave a field out. What is not bound here can be swapped by whoever writes to the database.

use uuid::Uuid;

use super::{envelope::VERSION, key::KeyId};

/// The cell that a sealed value belongs to; all of it is the value's associated data (R99).
///
/// A value copied to another row, column, tenant or user does not open, nor does an older generation put back into
/// its own cell. A whole row put back, generation and all, is not noticed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
    /// The row's key.
    pub row: Uuid,
    /// The MCP server: the tenant.
    pub server: &'a str,
    /// The issuer of the subject.
    pub issuer: &'a str,
    /// The subject.
    pub sub: &'a str,
    /// The provider; empty where there is none.
    pub provider: &'a str,
    /// The row's generation, as the row itself has it.
    pub generation: i64,
}

impl Place<'_> {
    /// What this cell's key is derived from.
    pub(super) fn cell(&self) -> Vec<u8> {
        join(&[&b"row"[..], self.table.as_bytes(), self.column.as_bytes(), self.row.as_bytes()])
    }

    /// The associated data.
    pub(super) fn bound(&self, key: &KeyId) -> Vec<u8> {
        join(&[
            &b"row"[..],
            &[VERSION],
            key.as_str().as_bytes(),
            self.table.as_bytes(),
            self.column.as_bytes(),
            self.row.as_bytes(),
            self.server.as_bytes(),
            self.issuer.as_bytes(),
            self.sub.as_bytes(),
            self.provider.as_bytes(),
            &self.generation.to_be_bytes(),
        ])
    }
}

/// The parts, each behind its length: two different lists never give the same bytes.
pub(super) fn join<P: AsRef<[u8]>>(parts: &[P]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(parts.iter().map(|part| 8 + part.as_ref().len()).sum());
    for part in parts {
        let part = part.as_ref();
        joined.extend_from_slice(&(part.len() as u64).to_be_bytes());
        joined.extend_from_slice(part);
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reading back of [`join`], which is what makes it injective.
    fn split(mut joined: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut parts = Vec::new();
        while !joined.is_empty() {
            let (length, rest) = joined.split_first_chunk::<8>()?;
            let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
            parts.push(part.to_vec());
            joined = rest;
        }
        Some(parts)
    }

    proptest! {
        /// R99: no two lists of parts have the same encoding.
        #[test]
        fn r99_what_is_joined_can_be_told_apart(parts: Vec<Vec<u8>>) {
            prop_assert_eq!(split(&join(&parts)), Some(parts));
        }
    }

    #[test]
    fn a_boundary_moved_is_another_encoding() {
        assert_ne!(join(&["ab", "c"]), join(&["a", "bc"]));
        assert_ne!(join(&["a", ""]), join(&["a"]));
        assert_ne!(join::<&str>(&[]), join(&[""]));
    }
}
