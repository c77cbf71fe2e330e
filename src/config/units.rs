//! Spans of time and sizes, as people write them.
//!
//! What it must never do: guess a unit. `30` alone is refused.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

/// A span such as `500ms`, `30s`, `10m`, `12h`, `90d` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span(pub(super) Duration);

/// A size such as `512B`, `256KiB` or `1MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size(pub(super) usize);

const SPAN: &str = "must be a span of time such as \"30s\", \"10m\", \"12h\" or \"1h30m\"";
const SIZE: &str = "must be a size such as \"512B\", \"256KiB\" or \"1MiB\"";

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A bare number is met with the same sentence as a wrong text.
        let text = toml::Value::deserialize(deserializer)?;
        text.as_str().and_then(span).map(Self).ok_or_else(|| D::Error::custom(SPAN))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = toml::Value::deserialize(deserializer)?;
        text.as_str().and_then(size).map(Self).ok_or_else(|| D::Error::custom(SIZE))
    }
}

fn span(mut text: &str) -> Option<Duration> {
    let mut whole = Duration::ZERO;
    if text.is_empty() {
        return None;
    }
    while !text.is_empty() {
        let (number, rest) = number(text)?;
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit_end);
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        whole = whole.checked_add(Duration::from_millis(number.checked_mul(millis)?))?;
        text = rest;
    }
    Some(whole)
}

fn size(text: &str) -> Option<usize> {
    let (number, unit) = number(text)?;
    let bytes: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    usize::try_from(number.checked_mul(bytes)?).ok()
}

fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = text.split_at(end);
    digits.parse().ok().map(|number| (number, rest))
}

/// A span as a person writes it, for sentences about limits.
pub(super) fn say(span: Duration) -> String {
    let millis = span.as_millis();
    for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if millis >= unit && millis.is_multiple_of(unit) {
            return format!("{}{name}", millis / unit);
        }
    }
    format!("{millis}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_have_units() {
        assert_eq!(span("1h30m"), Some(Duration::from_secs(5_400)));
        assert_eq!(span("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(span("90d"), Some(Duration::from_secs(90 * 86_400)));
        assert_eq!(size("256KiB"), Some(262_144));
        for bad in ["", "30", "m", "1.5h", "-1s", "30 s", "1h 30m", "99999999999999999999s", "1w", "s30"] {
            assert_eq!(span(bad), None, "{bad}");
        }
        for bad in ["", "30", "KiB", "1KB", "1kib", "1.5MiB", "99999999999999MiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
        assert_eq!(say(Duration::from_secs(5_400)), "90m");
        assert_eq!(say(Duration::from_millis(1_500)), "1500ms");
    }
}
