//! Whom a call is about: a user that the MCP server names, or the one behind an access token that it passes on.
//!
//! Exactly one of both, never a default (R2, R109). A server of which the token is required may not name anybody.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    audit::{About, Actor},
    identity::IdentityError,
    secret::Secret,
    subject::Subject,
    telemetry::SecurityEvent,
};

use super::{
    auth::Caller,
    problem::{Code, Problem},
};

/// A user, named by a caller that has verified them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Subject)]
pub(super) struct NamedSubject {
    /// The issuer; that of the MCP server's authorization server, and may be left out.
    #[schema(example = "https://id.example.com")]
    pub(super) issuer: Option<String>,
    /// The subject there, byte for byte; 1 to 255 bytes.
    #[schema(example = "alice")]
    pub(super) sub: String,
}

/// Who is meant.
pub(super) enum Who {
    Named(Subject),
    Bearer(Secret),
}

impl Who {
    /// Takes one of the two.
    pub(super) fn new(
        caller: &Caller,
        subject: Option<NamedSubject>,
        token: Option<Secret>,
    ) -> Result<Self, Problem> {
        match (subject, token) {
            (Some(named), None) => {
                may_name(caller)?;
                subject_of(caller, named).map(Self::Named)
            }
            (None, Some(token)) if token.is_empty() => {
                Err(Problem::invalid_field("subject_token", "The token is empty."))
            }
            (None, Some(token)) => Ok(Self::Bearer(token)),
            (None, None) => Err(Problem::invalid_field("subject", "Either `subject` or `subject_token`.")),
            (Some(_), Some(_)) => {
                Err(Problem::invalid_field("subject_token", "Only one of `subject` and `subject_token`."))
            }
        }
    }

    /// Says who it is; a token is verified: signature or introspection, `iss`, `aud`, `exp`.
    pub(super) async fn find(self, caller: &Caller) -> Result<Subject, Problem> {
        let token = match self {
            Self::Named(subject) => return Ok(subject),
            Self::Bearer(token) => token,
        };
        let server = caller.server();
        let Some(authority) = &server.authorization_server else {
            let detail =
                "No authorization server is configured for this MCP server: name the user by `subject`.";
            return Err(Problem::invalid_field("subject_token", detail));
        };
        let found = caller.app.identity.subject_of(authority, &token, &server.resource).await;
        found.map_err(|error| {
            if matches!(error, IdentityError::Token(_)) {
                let about = About { server: Some(server.id.clone()), ..About::default() };
                caller.app.security_event(SecurityEvent::SubjectTokenInvalid, Actor::Server, about);
            }
            error.into()
        })
    }
}

/// Whether this MCP server may name users itself, here or on any other call.
pub(super) fn may_name(caller: &Caller) -> Result<(), Problem> {
    if caller.server().require_subject_token {
        let detail = "This MCP server is configured with `require_subject_token`: pass `subject_token`.";
        return Err(Problem::new(Code::SubjectTokenRequired, detail));
    }
    Ok(())
}

fn subject_of(caller: &Caller, named: NamedSubject) -> Result<Subject, Problem> {
    let own = caller.issuer()?;
    if named.issuer.is_some_and(|issuer| issuer != own) {
        let detail = "The issuer is not that of this MCP server's authorization server; it may be left out.";
        return Err(Problem::new(Code::IssuerNotAllowed, detail).field("subject.issuer"));
    }
    Subject::new(own, named.sub)
        .map_err(|_| Problem::invalid_field("subject.sub", "1 to 255 bytes without control characters."))
}
