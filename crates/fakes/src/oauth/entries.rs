//! Entries of the authorize, token and revocation logs. The token log judges whether a code reached this server that
//! never should have: it must be complete and exact.

use crate::clients::AuthenticationUsed;

/// How an authorize request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Over HTTP.
    Browser,
    /// By a call of a test (`approve`, `deny`).
    Shortcut,
}

/// What became of an authorize request at first sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Valid: the person is asked, or was answered for at once.
    Valid,
    /// Refused on a page of this server; the client hears nothing.
    RefusedHere(String),
    /// Refused by an error answer to the client.
    RefusedToClient(String),
}

/// What a person (or a test in their place) answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// A code was issued.
    Approved {
        /// The account or person.
        account: String,
        /// Granted scopes.
        scopes: Vec<String>,
    },
    /// An error went back to the client.
    Denied(String),
}

/// One request to the authorize endpoint.
#[derive(Clone, Debug)]
pub struct AuthorizeRequest {
    /// Its place in the log; approvals refer to it.
    pub number: usize,
    /// Milliseconds since the epoch by this server's clock.
    pub at_ms: i64,
    /// Browser or shortcut.
    pub via: Via,
    /// All query (or form) parameters, decoded, in order, duplicates kept.
    pub parameters: Vec<(String, String)>,
    /// The parameters that were pushed before, when it came with a `request_uri`.
    pub pushed: Vec<(String, String)>,
    /// First sight.
    pub verdict: Verdict,
    /// Every answer given to it.
    pub answers: Vec<Answered>,
}

impl AuthorizeRequest {
    /// The first value of a parameter, pushed ones included.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let all = self.pushed.iter().chain(&self.parameters);
        all.into_iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Somebody approved an authorize request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Which request: [`AuthorizeRequest::number`].
    pub request: usize,
    /// Its `state`.
    pub state: Option<String>,
    /// Who approved: the provider's account, or the person at the authorization server.
    pub account: String,
    /// For which client.
    pub client_id: String,
    /// Where the answer was sent.
    pub redirect_uri: String,
    /// Granted scopes.
    pub scopes: Vec<String>,
    /// When, in milliseconds since the epoch.
    pub at_ms: i64,
}

/// One request that reached the token endpoint, accepted or not, readable or not.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// Milliseconds since the epoch by this server's clock.
    pub at_ms: i64,
    /// `grant_type` as sent.
    pub grant_type: Option<String>,
    /// Who it says it is, by header or body.
    pub client_id: Option<String>,
    /// The method it used for that.
    pub authentication: AuthenticationUsed,
    /// The code presented.
    pub code: Option<String>,
    /// The refresh token presented.
    pub refresh_token: Option<String>,
    /// The PKCE verifier presented.
    pub code_verifier: Option<String>,
    /// The redirect URI presented.
    pub redirect_uri: Option<String>,
    /// `resource` values (RFC 8707).
    pub resources: Vec<String>,
    /// All parameters, decoded, in order, duplicates kept.
    pub parameters: Vec<(String, String)>,
    /// Tokens were issued (whether or not the answer then arrived).
    pub accepted: bool,
    /// The error answered; `None` when accepted or scripted.
    pub error: Option<String>,
    /// Why it was refused, for the test's reader.
    pub why: Option<String>,
    /// A scripted answer took the place of the ordinary one, or changed it.
    pub scripted: bool,
    /// Who had approved what this code or refresh token came from; `None` when this server never issued it.
    pub approval: Option<Approval>,
}

impl TokenRequest {
    /// Whether this is a code exchange.
    pub fn is_code(&self) -> bool {
        self.grant_type.as_deref() == Some("authorization_code")
    }

    /// Whether this is a refresh.
    pub fn is_refresh(&self) -> bool {
        self.grant_type.as_deref() == Some("refresh_token")
    }
}

/// One request to the revocation endpoint (RFC 7009).
#[derive(Clone, Debug)]
pub struct Revocation {
    /// Milliseconds since the epoch by this server's clock.
    pub at_ms: i64,
    /// Who asked, as said.
    pub client_id: Option<String>,
    /// The token presented.
    pub token: Option<String>,
    /// `token_type_hint`.
    pub hint: Option<String>,
    /// The client proved itself and the token was one of its own that lived.
    pub revoked: bool,
    /// A scripted answer took the place of the work.
    pub scripted: bool,
}
