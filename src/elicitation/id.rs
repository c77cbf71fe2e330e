//! Names of rows and of what is configured, parsed strictly: one spelling for each.

use std::{fmt, str::FromStr};

/// Makes a UUID newtype that parses strictly: 36 characters, lower case, hyphenated.
macro_rules! uuid_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub uuid::Uuid);

        impl std::str::FromStr for $name {
            type Err = $crate::elicitation::MalformedId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let id = uuid::Uuid::try_parse(text).map_err(|_| $crate::elicitation::MalformedId)?;
                // One spelling alone, so that an id has one URL (R5).
                if id.as_hyphenated().encode_lower(&mut [0; 36]) == text { Ok(Self(id)) } else { Err($crate::elicitation::MalformedId) }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }
    };
}
pub(crate) use uuid_id;

/// Makes a newtype for a configured name that is part of a URL path.
macro_rules! name_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let fits = (1..=64).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
                    && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
                if fits { Ok(Self(text.to_owned())) } else { Err(MalformedId) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// An id that is not spelled as ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct MalformedId;

uuid_id! {
    /// Names an elicitation; a UUID version 4 that stands in the link and grants nothing (R6).
    ElicitationId
}
uuid_id! {
    /// Names an attempt; a row key, never a capability.
    AttemptId
}
name_id! {
    /// A registered MCP server: 1 to 64 of `a-z`, `0-9`, `-`, `_`.
    ServerId
}
name_id! {
    /// A configured provider: 1 to 64 of `a-z`, `0-9`, `-`, `_`.
    ProviderId
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5: an id has one spelling.
    #[test]
    fn ids_are_parsed_strictly() {
        let id = "550e8400-e29b-41d4-a716-446655440000";
        assert!(id.parse::<ElicitationId>().is_ok());
        for bad in [
            "550E8400-E29B-41D4-A716-446655440000",
            "550e8400e29b41d4a716446655440000",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
            " 550e8400-e29b-41d4-a716-446655440000",
            "",
        ] {
            assert!(bad.parse::<ElicitationId>().is_err(), "{bad:?}");
        }
        assert!("Files".parse::<ServerId>().is_err());
        assert!("../x".parse::<ServerId>().is_err());
    }
}
