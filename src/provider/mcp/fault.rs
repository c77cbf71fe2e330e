//! Where finding out about a third-party MCP server failed, for its operator.

use std::fmt;

use crate::{elicitation::ProviderId, provider::error::ProviderError};

/// A step on the way to a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The MCP server's own metadata (RFC 9728).
    Resource,
    /// The authorization server that it names.
    AuthorizationServer,
    /// That one's metadata (RFC 8414).
    Metadata,
    /// Our client there.
    Registration,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resource => "protected resource metadata (RFC 9728)",
            Self::AuthorizationServer => "choice of the authorization server",
            Self::Metadata => "authorization server metadata (RFC 8414)",
            Self::Registration => "registration of the client",
        })
    }
}

/// A step that failed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The step.
    pub step: Step,
    /// Why.
    pub error: ProviderError,
}

impl Fault {
    pub(super) fn new(step: Step, error: ProviderError) -> Self {
        Self { step, error }
    }

    pub(super) fn misconfigured(step: Step, code: &str) -> Self {
        Self::new(step, ProviderError::misconfigured(code))
    }

    /// The error, after the log was told of the step.
    pub(super) fn told(self, provider: &ProviderId) -> ProviderError {
        let (step, error, detail) = (self.step.to_string(), self.error.code(), self.error.detail());
        tracing::warn!(%provider, step, error, detail, advice = self.advice(), "an MCP server cannot be connected");
        self.error
    }

    /// What to do, in a sentence.
    pub fn advice(&self) -> &'static str {
        let code = match &self.error {
            ProviderError::Unreachable { .. } => {
                return "it does not answer now; it is asked again at the next use";
            }
            ProviderError::Policy => {
                return "it redirects, or names an address that is not called: https to the public internet, unless \
                        outbound.allowed says otherwise";
            }
            other => other.detail().unwrap_or_default(),
        };
        match code {
            "no_resource_metadata" => {
                "neither the challenge of the MCP server nor its well-known addresses lead to such a document; is mcp \
                 its endpoint, and does it use OAuth?"
            }
            "resource_mismatch" => {
                "the document is for another resource; write mcp exactly as the server's documentation has it"
            }
            "resource_metadata" => {
                "the document is not JSON of the right form, or too large; its server must mend it"
            }
            "no_authorization_server" => {
                "the MCP server names none; without one it cannot be connected with OAuth"
            }
            "issuer_malformed" => {
                "an authorization server that it names is no https address; its server must mend it"
            }
            "issuer_not_listed" => {
                "the MCP server does not name the issuer of the settings: correct it, or leave it out"
            }
            "no_metadata" => "the authorization server publishes no metadata at its well-known addresses",
            "issuer_mismatch" => {
                "the metadata names another issuer than the MCP server does; one of them must mend it"
            }
            "pkce_unsupported" => {
                "the metadata does not list S256, without which no MCP client may go on; the authorization server must mend it"
            }
            "client_documents_unsupported" => {
                "the authorization server does not take client metadata documents: register a client there (registration = \
                 \"static\"), or use \"dynamic\" if it offers that"
            }
            "no_registration_endpoint" => {
                "the authorization server has no registration endpoint: register a client there (registration = \"static\")"
            }
            "registration_token_refused" => "the authorization server wants another registration_token",
            "registration_refused" => {
                "the authorization server did not register our client; its error is in the log"
            }
            _ => "see the documentation of third-party MCP servers",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.error)?;
        if let Some(detail) = self.error.detail() {
            write!(f, " ({detail})")?;
        }
        write!(f, "; {}", self.advice())
    }
}
