//! Claims, read strictly: a claim of another type than the standard's is no claim, and no number wraps.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::Refused;

/// The last second of the year 9999. What lies behind it is no time.
const LAST_SECOND: i64 = 253_402_300_799;
/// A longer leeway is taken for this one.
const LEEWAY_MAX: Duration = Duration::from_mins(1);

/// The claims of a token whose signature holds.
///
/// ```
/// use consentry_jwt::{Claims, Refused};
///
/// let claims = Claims::new(serde_json::from_str(r#"{ "aud": ["a", "b"], "exp": "soon" }"#).unwrap());
/// assert_eq!(claims.audiences().unwrap(), ["a", "b"]);
/// assert_eq!(claims.seconds("exp"), Err(Refused::Malformed));
/// ```
pub struct Claims(Map<String, Value>);

impl Claims {
    /// Reads nothing yet.
    #[must_use]
    pub fn new(claims: Map<String, Value>) -> Self {
        Self(claims)
    }

    /// Whether the claim is there, of whatever type.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The claim as it is.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A string; another type is an error, absence is not.
    ///
    /// # Errors
    ///
    /// [`Refused::Malformed`].
    pub fn text(&self, name: &str) -> Result<Option<&str>, Refused> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refused::Malformed),
        }
    }

    /// `aud`: one string or several (RFC 7519, section 4.1.3); empty when there is none.
    ///
    /// # Errors
    ///
    /// [`Refused::Malformed`].
    pub fn audiences(&self) -> Result<Vec<&str>, Refused> {
        match self.0.get("aud") {
            None => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one]),
            Some(Value::Array(several)) => {
                several.iter().map(|one| one.as_str().ok_or(Refused::Malformed)).collect()
            }
            Some(_) => Err(Refused::Malformed),
        }
    }

    /// Whether this is an ID token that would pass for an access token: it has claims that only stand in ID tokens, and
    /// its `typ`, as [`Jws`](crate::Jws) has it, is not that of an access token (RFC 9068, section 2.1).
    #[must_use]
    pub fn are_of_id_token(&self, typ: Option<&str>) -> bool {
        typ != Some("at+jwt") && ["nonce", "at_hash", "c_hash"].iter().any(|name| self.has(name))
    }

    /// A NumericDate (RFC 7519, section 2) in whole seconds: a number of the years 1970 to 9999, its fraction cut off.
    ///
    /// # Errors
    ///
    /// [`Refused::Malformed`].
    pub fn seconds(&self, name: &str) -> Result<Option<i64>, Refused> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let Value::Number(number) = value else { return Err(Refused::Malformed) };
        let seconds = match (number.as_i64(), number.as_f64()) {
            (Some(seconds), _) => seconds,
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the range is checked, the fraction is to be cut"
            )]
            (None, Some(float)) if (0.0..=253_402_300_799.0).contains(&float) => float as i64,
            _ => return Err(Refused::Malformed),
        };
        if (0..=LAST_SECOND).contains(&seconds) { Ok(Some(seconds)) } else { Err(Refused::Malformed) }
    }

    /// `exp` must be there and ahead; `iat` and `nbf`, where they are, must not be. `now_ms` is in milliseconds since the
    /// epoch; a leeway counts for a minute at most. Gives `exp` in seconds.
    ///
    /// # Errors
    ///
    /// [`Refused::Expired`], [`Refused::NotYet`] or [`Refused::Malformed`].
    pub fn check_times(&self, now_ms: i64, leeway: Duration) -> Result<i64, Refused> {
        let leeway = i64::try_from(leeway.min(LEEWAY_MAX).as_millis()).unwrap_or(0);
        let expires = self.seconds("exp")?.ok_or(Refused::Expired)?;
        if (expires * 1000).saturating_add(leeway) <= now_ms {
            return Err(Refused::Expired);
        }
        for name in ["iat", "nbf"] {
            if self.seconds(name)?.is_some_and(|at| at * 1000 > now_ms.saturating_add(leeway)) {
                return Err(Refused::NotYet);
            }
        }
        Ok(expires)
    }
}
