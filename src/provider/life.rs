//! Lives and ends of tokens, in every notation that providers have for them (R75).

use std::time::Duration;

use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::clock::Millis;

/// A life beyond this is a mistake or "never"; both are bounded to it.
pub(super) const LONGEST_LIFE: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// Clocks are taken to disagree by so much at most.
const SKEW: Duration = Duration::from_secs(5 * 60);
/// What a token is taken to live that has ended by no more than that: it came a moment ago, and its provider's clock is
/// behind. So short, that one that is really dead is soon replaced; so long, that not every call replaces one that is not.
const LEFT: Duration = Duration::from_secs(60);
/// No token is older than OAuth: 2001 in seconds. A number below is a life in the wrong place, or 0 for "never".
const FIRST_INSTANT: f64 = 1e9;
/// From here on an instant is in milliseconds: as seconds it would be in the year 5138.
const FIRST_IN_MILLISECONDS: f64 = 1e11;

/// When a life given in seconds ends: a number or its text, whole or not. None when it is absent, not a number, zero or
/// negative: some providers write 0 for "never", and a token that is really dead is reported by whoever tries it.
pub(super) fn of_span(value: Option<&Value>, now: Millis) -> Option<Millis> {
    let seconds = number(value?)?;
    let life = Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 {
        LONGEST_LIFE
    } else {
        Duration::ZERO
    });
    (life >= Duration::from_millis(1)).then(|| now.plus(life.min(LONGEST_LIFE)))
}

/// An instant: seconds or milliseconds of the epoch, as a number or its text, or a date of RFC 3339, whose offset may be
/// missing. None when it is absent or anything else; what is over is over.
pub(super) fn of_instant(value: Option<&Value>, now: Millis) -> Option<Millis> {
    let value = value?;
    let at = match number(value) {
        Some(number) if number >= FIRST_IN_MILLISECONDS => number,
        Some(number) => number * 1000.0,
        None => date(value.as_str()?.trim())?,
    };
    // Whatever it is, it is no time at which a token could end.
    if at.is_nan() || at < FIRST_INSTANT * 1000.0 {
        return None;
    }
    let last = now.plus(LONGEST_LIFE);
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the years that a token may live")]
    let at = if at >= last.0 as f64 { last } else { Millis(at as i64) };
    Some(if at > now || at.plus(SKEW) <= now { at } else { now.plus(LEFT) })
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of an age are exact in it")]
fn date(text: &str) -> Option<f64> {
    let parsed = OffsetDateTime::parse(text, &Rfc3339);
    let parsed = parsed.or_else(|_| OffsetDateTime::parse(&format!("{}Z", text.replace(' ', "T")), &Rfc3339));
    Some(parsed.ok()?.unix_timestamp() as f64 * 1000.0)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const NOW: Millis = Millis(1_764_417_600_000);

    /// R75: an instant is told apart by what it looks like.
    #[test]
    fn r75_an_instant_is_read_in_every_notation() {
        let hour = Some(NOW.plus(Duration::from_secs(3600)));
        for (value, expected) in [
            (json!(1_764_421_200), hour),
            (json!("1764421200"), hour),
            (json!(1_764_421_200_000_i64), hour),
            (json!("1764421200000"), hour),
            (json!("2025-11-29T13:00:00Z"), hour),
            (json!("2025-11-29T14:00:00+01:00"), hour),
            (json!("2025-11-29T13:00:00"), hour),
            (json!("2025-11-29 13:00:00"), hour),
            (json!(0), None),
            (json!("0"), None),
            (json!(-1), None),
            (json!(0.0), None),
            (json!("1970-01-01T00:00:00Z"), None),
            (json!("0001-01-01T00:00:00Z"), None),
            (json!(-1_764_421_200_i64), None),
            (json!(3600), None),
            (json!("tomorrow"), None),
            (json!(""), None),
            (json!("2025-11-29"), None),
            (json!(true), None),
            (json!("-inf"), None),
            (json!(-1e300), None),
            (json!("NaN"), None),
            (json!(null), None),
            (json!({"at": 1}), None),
            (json!(1e300), Some(NOW.plus(LONGEST_LIFE))),
            (json!("inf"), Some(NOW.plus(LONGEST_LIFE))),
        ] {
            assert_eq!(of_instant(Some(&value), NOW), expected, "{value}");
        }
        assert_eq!(of_instant(None, NOW), None);
    }

    /// R75: what is over is not taken for what never ends; by a little, the clocks may be what is wrong.
    #[test]
    fn r75_an_instant_of_before_is_an_end() {
        let at = NOW.seconds();
        for (seconds, expected) in [
            (at + 1, NOW.plus(Duration::from_secs(1))),
            (at, NOW.plus(LEFT)),
            (at - 1, NOW.plus(LEFT)),
            (at - 299, NOW.plus(LEFT)),
            (at - 300, NOW.minus(SKEW)),
            (at - 3_600, Millis(NOW.0 - 3_600_000)),
            (1_000_000_000, Millis(1_000_000_000_000)),
        ] {
            for value in [json!(seconds), json!(seconds.to_string()), json!(seconds * 1000)] {
                assert_eq!(of_instant(Some(&value), NOW), Some(expected), "{value}");
            }
        }
        let hour_ago = Some(Millis(NOW.0 - 3_600_000));
        assert_eq!(of_instant(Some(&json!("2025-11-29T11:00:00Z")), NOW), hour_ago);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,40}", number: f64) {
            let _ = of_instant(Some(&json!(text)), NOW);
            let _ = of_instant(Some(&json!(number)), NOW);
        }
    }
}
