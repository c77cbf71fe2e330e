//! Days, times and lengths of time in words. Always UTC, and it says so: without a script we do not know where you are.

use time::{Month, OffsetDateTime, UtcOffset};

use super::sentences;
use crate::web::pages::{Gap, Sentence};

sentences! { MOMENT:
    day_pattern(day, month, year) = "{day} {month} {year}";
    time_pattern(hour, minute) = "{hour}:{minute} UTC";
    month_1() = "January";
    month_2() = "February";
    month_3() = "March";
    month_4() = "April";
    month_5() = "May";
    month_6() = "June";
    month_7() = "July";
    month_8() = "August";
    month_9() = "September";
    month_10() = "October";
    month_11() = "November";
    month_12() = "December";
}

/// "29 November 2026", in UTC.
#[must_use]
pub fn day(at: OffsetDateTime) -> Gap {
    let at = at.to_offset(UtcOffset::UTC);
    let words = day_pattern(plain(at.day()), Gap::Plain(month(at.month()).plain()), plain(at.year()));
    Gap::Plain(words.plain())
}

/// "20:45 UTC".
#[must_use]
pub fn hour(at: OffsetDateTime) -> Gap {
    let at = at.to_offset(UtcOffset::UTC);
    let two = |number: u8| Gap::Plain(format!("{number:02}"));
    Gap::Plain(time_pattern(two(at.hour()), two(at.minute())).plain())
}

/// What to do after `seconds` of waiting; rounded up.
#[must_use]
pub fn wait(seconds: u64) -> Sentence {
    match seconds {
        0..=50 => super::too_many_seconds(seconds.max(2)),
        51..=60 => super::too_many_minute(),
        _ => super::too_many_minutes(seconds.div_ceil(60)),
    }
}

fn plain(number: impl Into<i64>) -> Gap {
    Gap::Plain(number.into().to_string())
}

fn month(month: Month) -> Sentence {
    match month {
        Month::January => month_1(),
        Month::February => month_2(),
        Month::March => month_3(),
        Month::April => month_4(),
        Month::May => month_5(),
        Month::June => month_6(),
        Month::July => month_7(),
        Month::August => month_8(),
        Month::September => month_9(),
        Month::October => month_10(),
        Month::November => month_11(),
        Month::December => month_12(),
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn says_days_times_and_waits() {
        let at = datetime!(2026-11-30 01:05 +2);
        assert_eq!(day(at), Gap::Plain("29 November 2026".to_owned()));
        assert_eq!(hour(at), Gap::Plain("23:05 UTC".to_owned()));
        assert_eq!(wait(0).plain(), "Wait 2 seconds, then load this page again.");
        assert_eq!(wait(60).plain(), "Wait a minute, then load this page again.");
        assert_eq!(wait(61).plain(), "Wait 2 minutes, then load this page again.");
    }
}
