//! Asking by a form, and what makes a form one that must not or should not be sent.

use serde::de::Error;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::ElicitRequestParams;
use crate::form::{Field, Form, FormFault, InvalidForm, escaped};
use crate::members::{Members, members, text};
use crate::{ProtocolVersion, Sensitive};

/// A request to fill in a form.
///
/// ```
/// use consentry_elicitation::FormRequest;
/// use consentry_elicitation::form::{Form, Text};
///
/// let form = Form::builder().required("name", Text::new()).build()?;
/// let request = FormRequest::new("Your GitHub name?", form)?;
/// assert_eq!(
///     serde_json::to_string(&request)?,
///     concat!(
///         r#"{"mode":"form","message":"Your GitHub name?","requestedSchema":"#,
///         r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}"#,
///     ),
/// );
///
/// // What the client must not see cannot be asked by a form.
/// let form = Form::builder().required("password", Text::new()).build()?;
/// assert_eq!(
///     FormRequest::new("Sign in to GitHub.", form).unwrap_err().to_string(),
///     "/requestedSchema/properties/password: asks for a password, which must not pass through the client: use URL mode",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormRequest {
    names_mode: bool,
    message: String,
    form: Form,
    meta: Option<Map<String, Value>>,
}

/// Something about a form that its reader should know.
///
/// ```
/// use consentry_elicitation::{ConcernKind, ElicitRequestParams};
/// use serde_json::json;
///
/// let params = ElicitRequestParams::read(&json!({
///     "message": "See https://evil.example/ for help.",
///     "requestedSchema": { "type": "object", "properties": { "pin": { "type": "integer" } } },
/// }))?;
/// let ElicitRequestParams::Form(request) = params else { panic!() };
/// let concerns = request.concerns();
/// assert_eq!((concerns[0].at.as_str(), concerns[0].kind), ("/message", ConcernKind::Link));
/// assert_eq!(concerns[1].to_string(), "/requestedSchema/properties/pin: asks for a password");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// Where: a JSON pointer into the parameters.
    pub at: String,
    /// What.
    pub kind: ConcernKind,
}

/// The kinds of concern.
///
/// ```
/// use consentry_elicitation::{ConcernKind, Sensitive};
///
/// assert_eq!(ConcernKind::Sensitive(Sensitive::Key).to_string(), "asks for a key");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConcernKind {
    /// It asks for a secret (E1, E37): never to be sent.
    #[error("asks for {0}")]
    Sensitive(Sensitive),
    /// It holds a link that a client may make clickable, past all that URL mode does to make links safe (E34).
    #[error("holds a link that is meant to be clicked")]
    Link,
}

impl std::fmt::Display for Concern {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.at, self.kind)
    }
}

impl FormRequest {
    /// A request that a server may send.
    ///
    /// # Errors
    ///
    /// [`FormFault::Sensitive`] when the message or a field asks for a secret: URL mode is the way to do that (E1, E2,
    /// E37). [`FormFault::Missing`] when the message says nothing.
    pub fn new(message: impl Into<String>, form: Form) -> Result<Self, InvalidForm> {
        let request = Self { names_mode: true, message: message.into(), form, meta: None };
        if request.message.trim().is_empty() {
            return Err(InvalidForm::new("/message", FormFault::Missing));
        }
        let sensitive = request.concerns().into_iter().find_map(|concern| match concern.kind {
            ConcernKind::Sensitive(kind) => Some(InvalidForm::new(concern.at, FormFault::Sensitive(kind))),
            ConcernKind::Link => None,
        });
        sensitive.map_or(Ok(request), Err)
    }

    /// The same without the member `mode`, which means the same (E9, E47).
    #[must_use]
    pub fn without_mode(mut self) -> Self {
        self.names_mode = false;
        self
    }

    /// The same with metadata.
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Why the user is asked, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What is asked.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Metadata, when the sender gave any.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.meta.as_ref()
    }

    /// The request as a client of this revision may be sent it: see [`Form::for_version`]. Before `2025-11-25` there was
    /// no `mode`.
    ///
    /// # Errors
    ///
    /// [`FormFault::Revision`] when a field cannot be said in this revision.
    pub fn for_version(&self, version: ProtocolVersion) -> Result<Self, InvalidForm> {
        let form = self.form.for_version(version).map_err(|fault| fault.below("/requestedSchema"))?;
        let names_mode = self.names_mode && version >= ProtocolVersion::V2025_11_25;
        Ok(Self { names_mode, message: self.message.clone(), form, meta: self.meta.clone() })
    }

    /// All that a server must not or should not ask like this. A client can show it beside the form.
    #[must_use]
    pub fn concerns(&self) -> Vec<Concern> {
        let mut found = Vec::new();
        let typed = self.form.fields().any(|(_, field)| field.is_free());
        let asked = if typed { Sensitive::asked_in(&self.message) } else { None };
        look("/message", &self.message, asked, &mut found);
        for (name, field) in self.form.fields() {
            let at = format!("/requestedSchema/properties/{}", escaped(name));
            let free = field.is_free();
            // What the server offers to choose from it knows already, and yes or no is no secret.
            let by = |text: &str, judge: fn(&str) -> Option<Sensitive>| if free { judge(text) } else { None };
            look(&at, "", by(name, Sensitive::asked_by), &mut found);
            if let Some(title) = field.title() {
                look(&format!("{at}/title"), title, by(title, Sensitive::asked_by), &mut found);
            }
            if let Some(text) = field.description() {
                look(&format!("{at}/description"), text, by(text, Sensitive::asked_in), &mut found);
            }
            let options = match field {
                Field::Choice(field) => field.options(),
                Field::Choices(field) => field.options(),
                _ => &[],
            };
            if options.iter().filter_map(|option| option.title()).any(has_link) {
                found.push(Concern { at, kind: ConcernKind::Link });
            }
        }
        found
    }

    pub(super) fn from_members(mut params: Members, names_mode: bool) -> Result<Self, InvalidForm> {
        Ok(Self {
            names_mode,
            message: params.need("message", text)?,
            form: params.need("requestedSchema", Form::from_node)?,
            meta: params.take("_meta", members)?,
        })
    }
}

fn look(at: &str, text: &str, asked: Option<Sensitive>, found: &mut Vec<Concern>) {
    found.extend(asked.map(|kind| Concern { at: at.to_owned(), kind: ConcernKind::Sensitive(kind) }));
    if has_link(text) {
        found.push(Concern { at: at.to_owned(), kind: ConcernKind::Link });
    }
}

/// What clients are known to make clickable.
pub(crate) fn has_link(text: &str) -> bool {
    let text = text.to_lowercase();
    let starts = |start: &str| {
        text.match_indices(start).any(|(place, _)| {
            !text[..place].ends_with(char::is_alphanumeric)
                && text[place + start.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '[')
        })
    };
    starts("http://") || starts("https://") || starts("www.") || text.contains("](")
}

impl Serialize for FormRequest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut params = to.serialize_map(None)?;
        if self.names_mode {
            params.serialize_entry("mode", "form")?;
        }
        params.serialize_entry("message", &self.message)?;
        params.serialize_entry("requestedSchema", &self.form)?;
        if let Some(meta) = &self.meta {
            params.serialize_entry("_meta", meta)?;
        }
        params.end()
    }
}

impl<'de> Deserialize<'de> for FormRequest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match ElicitRequestParams::deserialize(from)? {
            ElicitRequestParams::Form(request) => Ok(request),
            ElicitRequestParams::Url(_) => Err(D::Error::custom(InvalidForm::new("/mode", FormFault::Value))),
        }
    }
}
