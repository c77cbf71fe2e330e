//! `elicitation/create`: what the client is asked. One type for both eras; the legacy one carries an id.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

/// The method by which a server asks; in the modern era it stands inside an
/// [`InputRequiredResult`](crate::InputRequiredResult).
pub const CREATE_METHOD: &str = "elicitation/create";

/// Parameters of `elicitation/create`.
///
/// Only URL mode is read and written; other modes come without breaking this type.
///
/// ```
/// use consentry_elicitation::{ElicitRequestParams, UrlRequest};
///
/// let params = ElicitRequestParams::from(UrlRequest::new("https://connect.example.com/".parse()?, "Connect GitHub."));
/// let value = serde_json::to_value(&params)?;
/// assert_eq!(value["mode"], "url");
/// assert_eq!(serde_json::from_value::<ElicitRequestParams>(value)?, params);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// Open a link (`mode: "url"`).
    Url(UrlRequest),
}

impl From<UrlRequest> for ElicitRequestParams {
    fn from(request: UrlRequest) -> Self {
        Self::Url(request)
    }
}

/// A request to open a link.
///
/// ```
/// use consentry_elicitation::UrlRequest;
/// use serde_json::json;
///
/// let url: url::Url = "https://connect.example.com/connect?elicitationId=550e8400".parse()?;
/// let legacy = UrlRequest::new(url.clone(), "Connect GitHub.").elicitation_id("550e8400");
/// assert_eq!(
///     serde_json::to_value(legacy)?,
///     json!({ "mode": "url", "elicitationId": "550e8400", "url": url, "message": "Connect GitHub." }),
/// );
/// let modern = UrlRequest::new(url.clone(), "Connect GitHub.");
/// assert_eq!(serde_json::to_value(modern)?, json!({ "mode": "url", "url": url, "message": "Connect GitHub." }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlRequest {
    mode: UrlMode,
    /// Legacy era only: names this elicitation; opaque to the client and never empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Where the user is to go.
    pub url: Url,
    /// Why, in words for the user.
    pub message: String,
    /// Metadata, when the sender gave any.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

// One variant, so that serde both writes the constant and refuses any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UrlMode {
    Url,
}

impl UrlRequest {
    /// A request as the modern era writes it, without an id.
    #[must_use]
    pub fn new(url: Url, message: impl Into<String>) -> Self {
        Self { mode: UrlMode::Url, elicitation_id: None, url, message: message.into(), meta: None }
    }

    /// The same with the id that the legacy era requires.
    #[must_use]
    pub fn elicitation_id(mut self, id: impl Into<String>) -> Self {
        self.elicitation_id = Some(id.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_mode_or_an_invalid_url_is_refused() {
        for value in [
            json!({ "url": "https://a.example/", "message": "m" }),
            json!({ "mode": "form", "url": "https://a.example/", "message": "m" }),
            json!({ "mode": "url", "url": "a.example", "message": "m" }),
            json!({ "mode": "url", "url": "https://a.example/" }),
        ] {
            assert!(serde_json::from_value::<ElicitRequestParams>(value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn what_a_later_revision_adds_is_passed_over() {
        let value = json!({ "mode": "url", "url": "https://a.example/", "message": "m", "_meta": { "k": 1 }, "later": 1 });
        let request: UrlRequest = serde_json::from_value(value).unwrap();
        assert_eq!(request.meta.unwrap()["k"], 1);
        assert_eq!(request.elicitation_id, None);
    }
}
