//! Protocol revisions and the two eras they belong to. The version says how a client talks, never what it can show:
//! that is [`Capability`](crate::Capability).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A protocol revision, which is a calendar date written `YYYY-MM-DD`. Later revisions compare greater.
///
/// ```
/// use consentry_elicitation::{Era, ProtocolVersion};
///
/// let version: ProtocolVersion = "2025-06-18".parse()?;
/// assert!(version < ProtocolVersion::V2026_07_28);
/// assert_eq!(version.era(), Era::Legacy);
/// assert!("2025-6-18".parse::<ProtocolVersion>().is_err());
/// # Ok::<(), consentry_elicitation::InvalidVersion>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion {
    year: u16,
    month: u8,
    day: u8,
}

impl ProtocolVersion {
    /// The revision that introduced elicitation, form mode only. Some of its clients declare URL mode all the same.
    pub const V2025_06_18: Self = Self { year: 2025, month: 6, day: 18 };
    /// The last legacy revision, which introduced URL mode.
    pub const V2025_11_25: Self = Self { year: 2025, month: 11, day: 25 };
    /// The first modern revision.
    pub const V2026_07_28: Self = Self { year: 2026, month: 7, day: 28 };

    /// Which way of asking this revision knows.
    #[must_use]
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }
}

/// The two ways of asking: by request to the client, or by a result that makes the client retry.
///
/// ```
/// use consentry_elicitation::{Era, ProtocolVersion};
///
/// assert_eq!(ProtocolVersion::V2025_11_25.era(), Era::Legacy);
/// assert_eq!("2027-01-15".parse::<ProtocolVersion>()?.era(), Era::Modern);
/// # Ok::<(), consentry_elicitation::InvalidVersion>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to `2025-11-25`: an `initialize` handshake, requests from the server.
    Legacy,
    /// From `2026-07-28` on: stateless, the client retries.
    Modern,
}

/// What was given is not a date of the form `YYYY-MM-DD`.
///
/// ```
/// use consentry_elicitation::ProtocolVersion;
///
/// let error = "draft".parse::<ProtocolVersion>().unwrap_err();
/// assert_eq!(error.to_string(), "a protocol version is a date of the form YYYY-MM-DD");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a protocol version is a date of the form YYYY-MM-DD")]
pub struct InvalidVersion;

impl FromStr for ProtocolVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let bytes = text.as_bytes();
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return Err(InvalidVersion);
        }
        let year = digits(&bytes[..4])?;
        let month = u8::try_from(digits(&bytes[5..7])?).map_err(|_| InvalidVersion)?;
        let day = u8::try_from(digits(&bytes[8..])?).map_err(|_| InvalidVersion)?;
        if day == 0 || day > days_in(year, month) {
            return Err(InvalidVersion);
        }
        Ok(Self { year, month, day })
    }
}

fn digits(bytes: &[u8]) -> Result<u16, InvalidVersion> {
    bytes.iter().try_fold(0, |number, byte| match byte {
        b'0'..=b'9' => Ok(number * 10 + u16::from(byte - b'0')),
        _ => Err(InvalidVersion),
    })
}

/// Zero for a month that does not exist.
pub(crate) fn days_in(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_era_turns_on_the_day_of_the_modern_revision() {
        for (text, era) in [
            ("2024-11-05", Era::Legacy),
            ("2025-06-18", Era::Legacy),
            ("2026-07-27", Era::Legacy),
            ("2026-07-28", Era::Modern),
            ("2030-01-01", Era::Modern),
        ] {
            assert_eq!(text.parse::<ProtocolVersion>().unwrap().era(), era, "{text}");
        }
    }

    #[test]
    fn another_shape_is_an_error() {
        let shapes = [
            "",
            "2025",
            "2025-11-25 ",
            " 2025-11-25",
            "2025/11/25",
            "2025-13-01",
            "2025-00-10",
            "2025-02-29",
        ];
        for text in shapes.iter().chain(&[
            "2025-11-00",
            "+025-11-25",
            "20251125",
            "DRAFT-2026",
            "２025-11-25",
            "latest",
        ]) {
            assert_eq!(text.parse::<ProtocolVersion>(), Err(InvalidVersion), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]") {
            if let Ok(version) = text.parse::<ProtocolVersion>() {
                prop_assert_eq!(version.to_string(), text);
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,12}") {
            let _ = text.parse::<ProtocolVersion>();
        }
    }
}
