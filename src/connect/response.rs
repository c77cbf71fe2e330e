//! The provider's answer in the browser's address, read strictly (RFC 6749, sections 4.1.2 and 4.1.2.1; RFC 9207).

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{
    elicitation::{AttemptId, Elicitation},
    secret::{Secret, SecretBytes},
    vault::{OpenError, Sealed, Vault},
};

use super::{input::Said, sealing::attempt_place};

/// Bytes of a `state`: ours has 43.
const STATE_BYTES_MAX: usize = 256;
/// Bytes of a code; some providers send JWTs.
const CODE_BYTES_MAX: usize = 8 * 1024;
/// Bytes of an `iss`.
const ISSUER_BYTES_MAX: usize = 2048;
/// Parameters in all.
const PARAMETERS_MAX: usize = 64;

/// From where a browser comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// From a provider of OAuth.
    Provider,
    /// From a page of the MCP server's own.
    Page,
}

/// What the provider decided.
#[derive(Debug)]
pub enum Verdict {
    /// A code to redeem.
    Code(Secret),
    /// The browser is back from a page of the MCP server's own, which says the rest by the API.
    Back,
    /// An error code; anything longer than 256 bytes is cut before it is looked at.
    Error(String),
}

/// An authorization response.
#[derive(Debug)]
pub struct Response {
    /// Names the attempt to whoever holds its cookie.
    pub state: Secret,
    /// Who says so (RFC 9207).
    pub issuer: Option<String>,
    /// What was decided.
    pub verdict: Verdict,
    /// What else it says, as far as it is short.
    pub said: Said,
}

/// A response that is not looked at any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// A parameter stands twice (RFC 6749, section 3.1; R52).
    #[error("a parameter is given twice")]
    Twice,
    /// A token in the front channel (R56).
    #[error("a token where none may be")]
    Token,
    /// There is no `state`, or neither or both of `code` and `error`, which a page of the MCP server's own need not send.
    #[error("not an authorization response")]
    Shape,
    /// Longer than anything that a provider sends.
    #[error("too long")]
    TooLong,
}

impl Response {
    /// Reads the parameters of a response, in the order of the query or the body. Unknown ones are ignored.
    ///
    /// # Errors
    /// [`ResponseError`]; nothing is touched then.
    pub fn read(parameters: &[(String, String)], from: From) -> Result<Self, ResponseError> {
        if parameters.len() > PARAMETERS_MAX {
            return Err(ResponseError::TooLong);
        }
        let mut names = std::collections::HashSet::new();
        if !parameters.iter().all(|(name, _)| names.insert(name.as_str())) {
            return Err(ResponseError::Twice);
        }
        let get = |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map(|(_, v)| v.as_str());
        if get("access_token").is_some() || get("id_token").is_some() {
            return Err(ResponseError::Token);
        }
        let state = get("state").filter(|state| !state.is_empty()).ok_or(ResponseError::Shape)?;
        let issuer = get("iss");
        if state.len() > STATE_BYTES_MAX || issuer.is_some_and(|issuer| issuer.len() > ISSUER_BYTES_MAX) {
            return Err(ResponseError::TooLong);
        }
        // A page may send back the code that it was given, which is of no use to anybody.
        let code = get("code").filter(|_| from == From::Provider);
        let verdict = match (code, get("error")) {
            (None, None) if from == From::Page => Verdict::Back,
            (Some(code), None) if !code.is_empty() => {
                if code.len() > CODE_BYTES_MAX {
                    return Err(ResponseError::TooLong);
                }
                Verdict::Code(Secret::new(code))
            }
            (None, Some(error)) if !error.is_empty() => Verdict::Error(error.chars().take(256).collect()),
            _ => return Err(ResponseError::Shape),
        };
        let said = Said::read(parameters);
        Ok(Self { state: Secret::new(state), issuer: issuer.map(str::to_owned), verdict, said })
    }

    /// Sealed for the attempt's row, while it waits for a sign-in.
    pub(super) fn seal(
        &self,
        vault: &Vault,
        asked: &Elicitation,
        id: AttemptId,
    ) -> Result<Sealed, OpenError> {
        let (code, error) = match &self.verdict {
            Verdict::Code(code) => (Some(code.expose().to_owned()), None),
            Verdict::Error(error) => (None, Some(error.clone())),
            Verdict::Back => (None, None),
        };
        let parked = Parked {
            state: self.state.expose().to_owned(),
            issuer: self.issuer.clone(),
            code,
            error,
            said: self.said.clone(),
        };
        let plain = SecretBytes::new(serde_json::to_vec(&parked).map_err(|_| OpenError::Malformed)?);
        Ok(vault.seal(&attempt_place(asked, id, "parked"), plain.expose()))
    }

    /// What was sealed for this very row.
    pub(super) fn open(
        vault: &Vault,
        asked: &Elicitation,
        id: AttemptId,
        sealed: &Sealed,
    ) -> Result<Self, OpenError> {
        let plain = vault.open(&attempt_place(asked, id, "parked"), sealed)?;
        let parked: Parked = serde_json::from_slice(plain.expose()).map_err(|_| OpenError::Malformed)?;
        let verdict = match (&parked.code, &parked.error) {
            (Some(code), None) => Verdict::Code(Secret::new(code.as_str())),
            (None, Some(error)) => Verdict::Error(error.clone()),
            (None, None) => Verdict::Back,
            (Some(_), Some(_)) => return Err(OpenError::Malformed),
        };
        let said = parked.said.clone();
        Ok(Self { state: Secret::new(parked.state.as_str()), issuer: parked.issuer.clone(), verdict, said })
    }
}

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Parked {
    state: String,
    issuer: Option<String>,
    code: Option<String>,
    error: Option<String>,
    #[serde(default)]
    #[zeroize(skip)]
    said: Said,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Response, ResponseError> {
        let parameters: Vec<_> = url::form_urlencoded::parse(query.as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        Response::read(&parameters, From::Provider)
    }

    /// R52: a parameter that stands twice is refused, whichever it is.
    #[test]
    fn a_parameter_given_twice_is_refused() {
        for query in [
            "state=a&state=b&code=c",
            "state=a&code=c&code=c",
            "state=a&code=c&iss=x&iss=y",
            "state=a&error=e&error=f",
            "state=a&code=c&x=1&x=1",
            "state=a&code=c&st%61te=b",
        ] {
            assert_eq!(read(query).unwrap_err(), ResponseError::Twice, "{query}");
        }
    }

    /// R56: no token comes through the front channel.
    #[test]
    fn a_token_is_refused() {
        assert_eq!(read("state=a&code=c&access_token=t").unwrap_err(), ResponseError::Token);
        assert_eq!(read("state=a&id_token=t").unwrap_err(), ResponseError::Token);
    }

    #[test]
    fn neither_or_both_of_code_and_error_are_refused() {
        for query in ["", "state=a", "code=c", "state=&code=c", "state=a&code=", "state=a&code=c&error=e"] {
            assert_eq!(read(query).unwrap_err(), ResponseError::Shape, "{query}");
        }
        assert!(matches!(read("state=a&code=c&scope=x").unwrap().verdict, Verdict::Code(_)));
        assert!(matches!(read("state=a&error=access_denied").unwrap().verdict, Verdict::Error(_)));
    }

    /// Only its `state` and an `error` count; the code that it was sent with says nothing.
    #[test]
    fn a_page_sends_back_a_state_and_maybe_an_error() {
        let from_page = |query: &str| {
            let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            Response::read(&pairs, From::Page)
        };
        for query in ["state=a", "state=a&code=c", "state=a&code=c&redirect_uri=x"] {
            assert!(matches!(from_page(query).unwrap().verdict, Verdict::Back), "{query}");
        }
        assert!(matches!(from_page("state=a&code=c&error=e").unwrap().verdict, Verdict::Error(_)));
        for query in ["", "code=c", "state=&error=e", "state=a&error="] {
            assert_eq!(from_page(query).unwrap_err(), ResponseError::Shape, "{query}");
        }
        assert_eq!(from_page("state=a&state=a").unwrap_err(), ResponseError::Twice);
        assert_eq!(from_page("state=a&access_token=t").unwrap_err(), ResponseError::Token);
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert_eq!(read(&format!("state={}&code=c", "a".repeat(257))).unwrap_err(), ResponseError::TooLong);
        assert_eq!(read(&format!("state=a&code={}", "c".repeat(8193))).unwrap_err(), ResponseError::TooLong);
        let many: String = (0..65).map(|n| format!("p{n}=1&")).collect();
        assert_eq!(read(&many).unwrap_err(), ResponseError::TooLong);
    }
}
