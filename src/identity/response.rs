//! The authorization response, parsed strictly: nothing twice, no token in the front channel (R52, R56).

use url::form_urlencoded;

use super::{SignInRefusal, pending};
use crate::secret::Secret;

const BYTES_MAX: usize = 8 * 1024;

/// What an authorization server sent the browser back with. Nothing of it is believed yet.
pub struct Response {
    pub(super) state: Secret,
    pub(super) issuer: Option<String>,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Code(Secret),
    Denied,
    Failed,
}

impl Response {
    /// Reads the query of a callback.
    ///
    /// # Errors
    /// `Malformed` for a parameter given twice, without `state`, with both or neither of `code` and `error`, or with
    /// a token in it.
    pub fn parse(query: &str) -> Result<Self, SignInRefusal> {
        if query.len() > BYTES_MAX {
            return Err(SignInRefusal::Malformed);
        }
        let (mut state, mut issuer, mut code, mut error) = (None, None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let slot = match &*name {
                "state" => &mut state,
                "iss" => &mut issuer,
                "code" => &mut code,
                "error" => &mut error,
                "access_token" | "id_token" | "token_type" | "response" => {
                    return Err(SignInRefusal::Malformed);
                }
                _ => continue,
            };
            if slot.replace(value.into_owned()).is_some() {
                return Err(SignInRefusal::Malformed);
            }
        }
        let state = Secret::new(state.filter(|state| !state.is_empty()).ok_or(SignInRefusal::Malformed)?);
        let outcome = match (code, error.as_deref()) {
            (Some(code), None) if !code.is_empty() => Outcome::Code(Secret::new(code)),
            (None, Some("access_denied")) => Outcome::Denied,
            (None, Some(_)) => Outcome::Failed,
            _ => return Err(SignInRefusal::Malformed),
        };
        Ok(Self { state, issuer, outcome })
    }

    /// What the cookie of this sign-in is called, behind the common part of the names.
    pub fn cookie_key(&self) -> String {
        pending::cookie_key(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_response_is_read() {
        let response =
            Response::parse("state=s%2B1&code=c+1&iss=https%3A%2F%2Fid.example.com&x=1&x=2").unwrap();
        assert_eq!(response.state.expose(), "s+1");
        assert_eq!(response.issuer.as_deref(), Some("https://id.example.com"));
        assert!(matches!(response.outcome, Outcome::Code(code) if code.expose() == "c 1"));
        let denied = Response::parse("state=s&error=access_denied&error_description=%3Cscript%3E").unwrap();
        assert!(matches!(denied.outcome, Outcome::Denied));
    }

    /// R52: no first or last one wins.
    #[test]
    fn r52_what_is_given_twice_is_refused() {
        for query in [
            "state=a&state=b&code=c",
            "state=a&state=a&code=c",
            "state=a&code=c&code=c",
            "state=a&code=c&iss=i&iss=i",
            "state=a&%73tate=b&code=c",
            "state=a&error=access_denied&error=server_error",
            "state=a&code=c&error=access_denied",
            "state=a",
            "state=a&code=",
            "state=&code=c",
            "code=c",
            "",
            "state=a&code=c&access_token=t",
            "state=a&code=c&id_token=t",
        ] {
            assert!(Response::parse(query).is_err(), "{query}");
        }
        assert!(Response::parse(&format!("state=a&code={}", "c".repeat(9000))).is_err());
    }
}
