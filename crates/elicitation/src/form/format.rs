//! The four formats of a text field. Each is checked as JSON Schema describes it (2020-12 validation, section 7.3) and
//! errs on the side of accepting: an address is not proved by its shape.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::version::days_in;

/// What a text must look like.
///
/// ```
/// use consentry_elicitation::form::Format;
///
/// assert_eq!(serde_json::to_string(&Format::DateTime)?, r#""date-time""#);
/// assert!(Format::Date.fits("2026-07-28"));
/// assert!(!Format::Date.fits("2026-02-30"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// An e-mail address (RFC 5321, section 4.1.2, without quoted names).
    Email,
    /// An absolute URI (RFC 3986).
    Uri,
    /// A day (RFC 3339, `full-date`).
    Date,
    /// A moment (RFC 3339, `date-time`).
    DateTime,
}

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Email, Self::Uri, Self::Date, Self::DateTime];

    /// As it is written in a schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }

    /// Does the text look like it?
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => email(text),
            Self::Uri => uri(text),
            Self::Date => date(text),
            Self::DateTime => date_time(text),
        }
    }
}

fn email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let atom = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c))
    };
    // A literal address in brackets is allowed by RFC 5321 and used by nobody.
    local.len() <= 64
        && local.split('.').all(atom)
        && !domain.contains([':', '/', '?', '#', '%', '['])
        && matches!(Host::parse(domain), Ok(Host::Domain(_)))
}

fn uri(text: &str) -> bool {
    let unreserved = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    let percents = text
        .split('%')
        .skip(1)
        .all(|rest| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)));
    text.chars().all(unreserved) && percents && Url::parse(text).is_ok()
}

fn date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| number(bytes.get(from..to)?);
    let dashes = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    dashes && (1..=u16::from(days_in(year, u8::try_from(month).unwrap_or_default()))).contains(&day)
}

fn date_time(text: &str) -> bool {
    let Some((day, time)) = text.split_at_checked(10) else { return false };
    let bytes = time.as_bytes();
    let [b'T' | b't', _, _, b':', _, _, b':', _, _, rest @ ..] = bytes else { return false };
    let (Some(hour), Some(minute), Some(second)) =
        (number(&bytes[1..3]), number(&bytes[4..6]), number(&bytes[7..9]))
    else {
        return false;
    };
    let zone = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        rest => rest,
    };
    let offset = match zone {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => match (number(&[*h1, *h2]), number(&[*m1, *m2])) {
            (Some(hours @ 0..=23), Some(minutes @ 0..=59)) => {
                let offset = i32::from(hours) * 60 + i32::from(minutes);
                Some(if *sign == b'+' { offset } else { -offset })
            }
            _ => None,
        },
        _ => None,
    };
    let Some(offset) = offset else { return false };
    // A leap second is the last of a day in UTC, whatever the clock of the place says.
    let utc = (i32::from(hour) * 60 + i32::from(minute) - offset).rem_euclid(24 * 60);
    date(day) && hour <= 23 && minute <= 59 && (second <= 59 || (second == 60 && utc == 24 * 60 - 1))
}

fn number(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0, |number: u16, byte| match byte {
        b'0'..=b'9' => Some(number * 10 + u16::from(byte - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_and_what_does_not() {
        for (format, text, fits) in [
            (Format::Email, "octocat@github.com", true),
            (Format::Email, "a.b+c@sub.example", true),
            (Format::Email, "jörg@exämple.test", true),
            (Format::Email, "octocat", false),
            (Format::Email, "@example.com", false),
            (Format::Email, "a@", false),
            (Format::Email, "a b@example.com", false),
            (Format::Email, "a..b@example.com", false),
            (Format::Email, "a@example.com/path", false),
            (Format::Email, "a@127.0.0.1", false),
            (Format::Uri, "https://example.com/a?b=c#d", true),
            (Format::Uri, "urn:isbn:0451450523", true),
            (Format::Uri, "mailto:a@example.com", true),
            (Format::Uri, "/relative", false),
            (Format::Uri, "https://exa mple.com/", false),
            (Format::Uri, "https://example.com/%zz", false),
            (Format::Uri, "https://exämple.com/", false),
            (Format::Date, "2024-02-29", true),
            (Format::Date, "2026-02-29", false),
            (Format::Date, "2026-13-01", false),
            (Format::Date, "2026-1-01", false),
            (Format::Date, "2026-01-00", false),
            (Format::Date, "２026-1-01", false),
            (Format::DateTime, "2026-07-28T12:00:00Z", true),
            (Format::DateTime, "2026-07-28t12:00:00.123456789+05:30", true),
            (Format::DateTime, "1990-12-31T15:59:60-08:00", true),
            (Format::DateTime, "1990-12-31T15:59:60Z", false),
            (Format::DateTime, "2026-07-28T24:00:00Z", false),
            (Format::DateTime, "2026-07-28T12:00:00", false),
            (Format::DateTime, "2026-07-28T12:00:00.Z", false),
            (Format::DateTime, "2026-07-28 12:00:00Z", false),
            (Format::DateTime, "2026-07-28T12:00:00+24:00", false),
            (Format::DateTime, "2026-07-28T12:00:00+0530", false),
        ] {
            assert_eq!(format.fits(text), fits, "{format:?} {text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,30}", near in "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tté ][0-9:.+Z-]{0,20}") {
            for format in Format::ALL {
                let _ = format.fits(&text);
                let _ = format.fits(&near);
            }
        }
    }
}
