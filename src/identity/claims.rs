//! Claims, read strictly: a claim of another type than the standard's is no claim (R33), and no number wraps (R20).

use std::time::Duration;

use serde_json::{Map, Value};

use super::TokenRefusal;
use crate::{clock::Millis, subject::Subject};

const LABEL_CHARACTERS_MAX: usize = 64;

/// The claims of a token whose signature holds.
pub(super) struct Claims(consentry_jwt::Claims);

impl Claims {
    pub(super) fn new(claims: Map<String, Value>) -> Self {
        Self(consentry_jwt::Claims::new(claims))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }

    /// Whether this is an ID token that would pass for an access token.
    pub(super) fn are_of_id_token(&self, typ: Option<&str>) -> bool {
        self.0.are_of_id_token(typ)
    }

    /// A string; another type is an error, absence is not.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, TokenRefusal> {
        Ok(self.0.text(name)?)
    }

    /// `aud`; empty when there is none.
    pub(super) fn audiences(&self) -> Result<Vec<&str>, TokenRefusal> {
        Ok(self.0.audiences()?)
    }

    /// A NumericDate (RFC 7519, section 2).
    pub(super) fn time(&self, name: &str) -> Result<Option<Millis>, TokenRefusal> {
        Ok(self.0.seconds(name)?.map(Millis::from_seconds))
    }

    /// `exp` must be there and ahead; `iat` and `nbf`, where they are, must not be.
    pub(super) fn check_times(&self, now: Millis, leeway: Duration) -> Result<Millis, TokenRefusal> {
        Ok(Millis::from_seconds(self.0.check_times(now.0, leeway)?))
    }

    /// The person: the value of the configured claim, a string, as it is (R22).
    pub(super) fn subject(&self, issuer: &str, claim: &str) -> Result<Subject, TokenRefusal> {
        let sub = self.0.value(claim).and_then(Value::as_str).ok_or(TokenRefusal::Subject)?;
        Subject::new(issuer, sub).map_err(|_| TokenRefusal::Subject)
    }

    /// What the person may recognise themselves by. Shown to them alone, and never compared.
    pub(super) fn label(&self) -> Option<String> {
        // An address that is not verified is whatever somebody typed, and would make them look like another (R33).
        let is_verified = self.0.value("email_verified") == Some(&Value::Bool(true));
        let claims = ["email", "preferred_username", "name"].into_iter();
        let claims = claims.filter(|claim| *claim != "email" || is_verified);
        let mut texts = claims.filter_map(|claim| self.0.value(claim).and_then(Value::as_str)).map(cleaned);
        texts.find(|text| !text.is_empty())
    }
}

fn cleaned(text: &str) -> String {
    let visible = text.trim().chars().filter(|c| !c.is_control() && !is_direction(*c));
    visible.take(LABEL_CHARACTERS_MAX).collect()
}

/// Marks that make text read in another order than it is written.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Millis = Millis(1_764_417_600_000);
    const SECONDS: i64 = 1_764_417_600;
    const LAST_SECOND: i64 = 253_402_300_799;

    fn claims(value: Value) -> Claims {
        let Value::Object(claims) = value else { panic!("an object") };
        Claims::new(claims)
    }

    /// R20: thirty values of `exp`, and what each means.
    #[test]
    fn r20_no_time_wraps_or_panics() {
        use TokenRefusal::{Expired, Malformed};
        let leeway = Duration::from_secs(30);
        let raw = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let table = [
            (json!(SECONDS + 60), Ok(())),
            (json!(SECONDS), Ok(())),
            (json!(SECONDS - 29), Ok(())),
            (json!(SECONDS - 30), Err(Expired)),
            (json!(SECONDS - 31), Err(Expired)),
            (json!(0), Err(Expired)),
            (json!(1), Err(Expired)),
            (json!(-1), Err(Malformed)),
            (json!(i64::MIN), Err(Malformed)),
            (json!(i64::MAX), Err(Malformed)),
            (json!(i64::MAX / 1000), Err(Malformed)),
            (json!(u64::MAX), Err(Malformed)),
            (json!(2_147_483_647_i64), Ok(())),
            (json!(2_147_483_648_i64), Ok(())),
            (json!(4_294_967_296_i64), Ok(())),
            (json!(LAST_SECOND), Ok(())),
            (json!(LAST_SECOND + 1), Err(Malformed)),
            (json!(SECONDS * 1000), Err(Malformed)),
            (raw("1764417660.5"), Ok(())),
            (raw("1764417570.9"), Err(Expired)),
            (raw("1.76441766e9"), Ok(())),
            (raw("1e300"), Err(Malformed)),
            (raw("-1e300"), Err(Malformed)),
            (raw("1e-300"), Err(Expired)),
            (raw("-0.0"), Err(Expired)),
            (raw("99999999999999999999999999"), Err(Malformed)),
            (json!("1764417660"), Err(Malformed)),
            (json!(null), Err(Malformed)),
            (json!(true), Err(Malformed)),
            (json!([SECONDS + 60]), Err(Malformed)),
            (json!({ "exp": SECONDS + 60 }), Err(Malformed)),
        ];
        assert!(table.len() >= 30);
        for (value, expected) in table {
            let found = claims(json!({ "exp": value })).check_times(NOW, leeway).map(|_| ());
            assert_eq!(found, expected, "{value}");
        }
        assert_eq!(claims(json!({})).check_times(NOW, leeway), Err(Expired));
        assert!(serde_json::from_str::<Value>(r#"{"exp":1e999}"#).is_err());
    }

    /// R20: what is issued later than now, or by more than a minute's leeway, is refused.
    #[test]
    fn r20_leeway_is_a_minute_at_most() {
        let at = |name: &str, offset: i64, leeway| {
            let mut with = json!({ "exp": SECONDS + 600 });
            with[name] = json!(SECONDS + offset);
            claims(with).check_times(NOW, Duration::from_secs(leeway)).map(|_| ())
        };
        for name in ["iat", "nbf"] {
            assert_eq!(at(name, -86_400, 0), Ok(()));
            assert_eq!(at(name, 0, 0), Ok(()));
            assert_eq!(at(name, 1, 0), Err(TokenRefusal::NotYet));
            assert_eq!(at(name, 60, 3600), Ok(()));
            assert_eq!(at(name, 61, 3600), Err(TokenRefusal::NotYet));
        }
        let odd = claims(json!({ "exp": SECONDS + 600, "iat": "now" }));
        assert_eq!(odd.check_times(NOW, Duration::ZERO), Err(TokenRefusal::Malformed));
    }

    /// R22: a subject is a string, and only what is byte for byte the same is the same.
    #[test]
    fn r22_a_subject_is_taken_as_it_is() {
        let subject = |value: Value| claims(json!({ "sub": value })).subject("i", "sub");
        let distinct = ["Abc", "abc", "a", "a ", "\u{430}bc", "ab\u{301}c", "\u{e1}bc"];
        for (at, one) in distinct.iter().enumerate() {
            assert_eq!(subject(json!(one)).unwrap().sub, *one);
            assert!(distinct[..at].iter().all(|other| subject(json!(other)) != subject(json!(one))));
        }
        for refused in [json!(7), json!(7.5), json!(null), json!(true), json!(["a"]), json!({}), json!("")] {
            assert_eq!(subject(refused), Err(TokenRefusal::Subject));
        }
        let other = claims(json!({ "sub": "a", "email": "b@example.com" }));
        assert_eq!(other.subject("i", "oid"), Err(TokenRefusal::Subject));
    }

    /// R33: a value of another type is no value.
    #[test]
    fn r33_labels_are_strings_and_clean() {
        let verified = |value: Value| {
            claims(json!({ "preferred_username": 1, "name": "n", "email": "a@b",
            "email_verified": value }))
        };
        assert_eq!(verified(json!(true)).label().unwrap(), "a@b");
        for not_quite in [json!("true"), json!(1), json!(false), json!(null)] {
            assert_eq!(verified(not_quite).label().unwrap(), "n", "an address that anybody could have typed");
        }
        assert_eq!(claims(json!({ "name": " \u{202e}x\n\0y " })).label().unwrap(), "xy");
        assert_eq!(claims(json!({ "name": "é".repeat(500) })).label().unwrap().chars().count(), 64);
        assert_eq!(claims(json!({ "name": "\u{7}" })).label(), None);
    }
}
