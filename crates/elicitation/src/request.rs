//! `elicitation/create`: what the client is asked. One type for both eras and both modes; a link of the legacy era carries
//! an id. A request without a mode is a form (E47).

mod form;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use url::Url;

pub(crate) use form::has_link;
pub use form::{Concern, ConcernKind, FormRequest};

use crate::form::{FormFault, InvalidForm};
use crate::members::{Members, members, text};
use crate::node::Node;

/// The method by which a server asks; in the modern era it stands inside an
/// [`InputRequiredResult`](crate::InputRequiredResult).
pub const CREATE_METHOD: &str = "elicitation/create";

/// Parameters of `elicitation/create`.
///
/// ```
/// use consentry_elicitation::{ElicitRequestParams, UrlRequest};
/// use serde_json::json;
///
/// let params = ElicitRequestParams::from(UrlRequest::new("https://connect.example.com/".parse()?, "Connect GitHub."));
/// let value = serde_json::to_value(&params)?;
/// assert_eq!(value["mode"], "url");
/// assert_eq!(serde_json::from_value::<ElicitRequestParams>(value)?, params);
///
/// // Without a mode it is a form.
/// let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
/// let params = ElicitRequestParams::read(&json!({ "message": "Your GitHub name?", "requestedSchema": schema }))?;
/// assert!(matches!(params, ElicitRequestParams::Form(_)));
///
/// let error = ElicitRequestParams::read(&json!({ "mode": "voice", "message": "Say yes." })).unwrap_err();
/// assert_eq!(error.to_string(), "/mode: has a value that is not allowed here");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// Open a link (`mode: "url"`).
    Url(UrlRequest),
    /// Fill in a form (`mode: "form"`, or no mode).
    Form(FormRequest),
}

impl From<UrlRequest> for ElicitRequestParams {
    fn from(request: UrlRequest) -> Self {
        Self::Url(request)
    }
}

impl From<FormRequest> for ElicitRequestParams {
    fn from(request: FormRequest) -> Self {
        Self::Form(request)
    }
}

impl ElicitRequestParams {
    /// Reads parameters. Members that are not known are passed over, except within the schema of a form.
    ///
    /// # Errors
    ///
    /// When they are not those of a form or of a link, with the place. A client answers it with `-32602`.
    pub fn read(params: &Value) -> Result<Self, InvalidForm> {
        Self::from_node(params.into())
    }

    fn from_node(params: Node) -> Result<Self, InvalidForm> {
        let mut params = Members::of(params)?;
        match params.take("mode", text)?.as_deref() {
            Some("url") => UrlRequest::from_members(params).map(Self::Url),
            None => FormRequest::from_members(params, false).map(Self::Form),
            Some("form") => FormRequest::from_members(params, true).map(Self::Form),
            Some(_) => Err(InvalidForm::new("/mode", FormFault::Value)),
        }
    }

    /// Why the user is asked, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Url(request) => &request.message,
            Self::Form(request) => request.message(),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_node(Node::deserialize(from)?).map_err(D::Error::custom)
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlRequest {
    mode: UrlMode,
    /// Legacy era only: names this elicitation; opaque to the client and never empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Where the user is to go.
    pub url: Url,
    /// Why, in words for the user.
    pub message: String,
    /// Metadata, when the sender gave any.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

    fn from_members(mut params: Members) -> Result<Self, InvalidForm> {
        let url = params.need("url", text)?.parse().map_err(|_| InvalidForm::new("/url", FormFault::Url))?;
        Ok(Self {
            mode: UrlMode::Url,
            elicitation_id: params.take("elicitationId", text)?,
            url,
            message: params.need("message", text)?,
            meta: params.take("_meta", members)?,
        })
    }
}

impl<'de> Deserialize<'de> for UrlRequest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match ElicitRequestParams::deserialize(from)? {
            ElicitRequestParams::Url(request) => Ok(request),
            ElicitRequestParams::Form(_) => {
                Err(D::Error::custom(InvalidForm::new("/mode", FormFault::Value)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn e11_e12_another_mode_or_an_invalid_url_is_refused_with_its_place() {
        for (value, error) in [
            (json!({ "mode": "url", "url": "a.example", "message": "m" }), "/url: is not an absolute URL"),
            (json!({ "mode": "url", "url": "https://a.example/" }), "/message: is missing"),
            (json!({ "mode": "url", "message": "m" }), "/url: is missing"),
            (
                json!({ "mode": "url", "url": "https://a.example/", "message": "m", "elicitationId": null }),
                "/elicitationId: has the wrong type",
            ),
            (json!({ "mode": null, "message": "m" }), "/mode: has the wrong type"),
            (json!({ "url": "https://a.example/", "message": "m" }), "/requestedSchema: is missing"),
            (json!([]), "has the wrong type"),
        ] {
            assert_eq!(ElicitRequestParams::read(&value).unwrap_err().to_string(), error, "{value}");
        }
        let form = json!({ "message": "m", "requestedSchema": { "type": "object", "properties": {} } });
        assert!(serde_json::from_value::<UrlRequest>(form).is_err());
    }

    #[test]
    fn what_a_later_revision_adds_is_passed_over() {
        let value = json!({ "mode": "url", "url": "https://a.example/", "message": "m", "_meta": { "k": 1 }, "later": 1 });
        let request: UrlRequest = serde_json::from_value(value).unwrap();
        assert_eq!(request.meta.unwrap()["k"], 1);
        assert_eq!(request.elicitation_id, None);
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused() {
        let text =
            r#"{ "mode": "url", "url": "https://a.example/", "url": "https://b.example/", "message": "m" }"#;
        let error = serde_json::from_str::<ElicitRequestParams>(text).unwrap_err();
        assert!(error.to_string().starts_with("/url: is there twice"), "{error}");
    }
}
