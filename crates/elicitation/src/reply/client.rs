//! The client of the call that needs a connection, as far as the reply depends on it.

use serde::{Deserialize, Serialize};

use crate::{Capability, Era, INPUT_METHODS, ProtocolVersion};

/// Who is to be answered, and to what.
///
/// Its name and version number of software are left out on purpose: they are self-reported, and the specification
/// advises against behaviour that depends on them.
///
/// ```
/// use consentry_elicitation::{Capability, Client, Era, Prefer, ProtocolVersion};
///
/// let client = Client::new(ProtocolVersion::V2025_11_25, Capability::BOTH, "tools/call")
///     .target("list_repositories")
///     .prefer(Prefer::Error);
/// assert_eq!(client.era(), Era::Legacy);
/// assert!(!client.may_be_asked_again());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// Of the connection (legacy) or of the request (modern).
    pub protocol_version: ProtocolVersion,
    /// Of the connection (legacy) or of the request (modern).
    pub elicitation: Capability,
    /// The method of the call that is being answered.
    pub method: String,
    /// The tool, prompt or resource that it names, for the words only.
    pub target: Option<String>,
    /// How a legacy client is to be asked.
    pub prefer: Prefer,
}

impl Client {
    /// A client that makes this call.
    #[must_use]
    pub fn new(
        protocol_version: ProtocolVersion,
        elicitation: Capability,
        method: impl Into<String>,
    ) -> Self {
        Self { protocol_version, elicitation, method: method.into(), target: None, prefer: Prefer::default() }
    }

    /// The same with the name of the tool, prompt or resource.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// The same with this preference.
    #[must_use]
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// In which era's words it is answered.
    #[must_use]
    pub fn era(&self) -> Era {
        self.protocol_version.era()
    }

    /// Will it retry by itself: modern, URL mode declared, and a method that may be answered by a question? Only then
    /// is a `requestState` of use.
    #[must_use]
    pub fn may_be_asked_again(&self) -> bool {
        self.era() == Era::Modern && self.elicitation.url() && INPUT_METHODS.contains(&self.method.as_str())
    }
}

/// How a legacy client that declared URL mode is to be sent one link.
///
/// ```
/// use consentry_elicitation::Prefer;
///
/// assert_eq!(serde_json::from_str::<Prefer>(r#""error""#)?, Prefer::Error);
/// assert_eq!(Prefer::default(), Prefer::Request);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prefer {
    /// By `elicitation/create` within the call.
    #[default]
    Request,
    /// By error `-32042`, for clients known to retry.
    Error,
}
