//! What the API shows of elicitations and connections. Never a secret; of a connection's refresh token not even that
//! there is one (R111).

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    clock::Millis,
    connect,
    connection::{Connection, ConnectionId},
    elicitation::{Elicitation, ElicitationId, State},
    scope::Scopes,
    subject::Subject,
};

use super::answer::{maybe_text, maybe_time, scopes, text, time};

/// A user.
#[derive(Serialize, ToSchema)]
#[schema(as = User)]
pub(super) struct SubjectView<'a> {
    /// The issuer.
    issuer: &'a str,
    /// The subject there.
    sub: &'a str,
}

impl<'a> From<&'a Subject> for SubjectView<'a> {
    fn from(subject: &'a Subject) -> Self {
        Self { issuer: &subject.issuer, sub: &subject.sub }
    }
}

/// An elicitation as an answer that asks for action names it.
#[derive(Serialize, ToSchema)]
#[schema(as = Asked)]
pub(super) struct AskedView<'a> {
    /// Its id.
    #[serde(serialize_with = "text")]
    #[schema(value_type = String, format = Uuid)]
    id: ElicitationId,
    /// The link for the user. It grants nothing: only the user that it is for can use it.
    url: String,
    /// `pending`, `authorizing`, `completed`, `declined`, `cancelled`, `expired` or `failed`.
    state: &'static str,
    /// The provider's id.
    provider: &'a str,
    /// When the link ends.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Millis,
}

impl<'a> AskedView<'a> {
    pub(super) fn new(app: &App, elicitation: &'a Elicitation) -> Self {
        Self {
            id: elicitation.id,
            url: connect::link(app, elicitation.id),
            state: elicitation.state(app.clock.now()).as_str(),
            provider: elicitation.provider.as_str(),
            expires_at: elicitation.expires_at,
        }
    }
}

/// An elicitation.
#[derive(Serialize, ToSchema)]
#[schema(as = Elicitation)]
pub(super) struct ElicitationView<'a> {
    /// Its id.
    #[serde(serialize_with = "text")]
    #[schema(value_type = String, format = Uuid)]
    id: ElicitationId,
    /// The link for the user. It grants nothing: only the user that it is for can use it.
    url: String,
    /// `pending`, `authorizing`, `completed`, `declined`, `cancelled`, `expired` or `failed`; the last five are final.
    state: &'static str,
    /// The provider's id.
    provider: &'a str,
    /// What is asked for.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    scopes: &'a Scopes,
    /// Who is asked.
    subject: SubjectView<'a>,
    /// The caller's reference of the client that asked.
    client_ref: Option<&'a str>,
    /// What completed it.
    #[serde(serialize_with = "maybe_text")]
    #[schema(value_type = Option<String>, format = Uuid)]
    connection: Option<ConnectionId>,
    /// Why it ended, as a stable code.
    reason: Option<&'a str>,
    /// When it was made.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Millis,
    /// When the link ends.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Millis,
    /// When it ended.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    closed_at: Option<Millis>,
}

impl<'a> ElicitationView<'a> {
    pub(super) fn new(app: &App, elicitation: &'a Elicitation) -> Self {
        let state = elicitation.state(app.clock.now());
        let expired = (state == State::Expired).then_some("expired");
        Self {
            id: elicitation.id,
            url: connect::link(app, elicitation.id),
            state: state.as_str(),
            provider: elicitation.provider.as_str(),
            scopes: &elicitation.scopes,
            subject: (&elicitation.owner).into(),
            client_ref: Some(elicitation.caller_ref()).filter(|reference| !reference.is_empty()),
            connection: elicitation.connection,
            reason: elicitation.reason.as_deref().or(expired),
            created_at: elicitation.created_at,
            expires_at: elicitation.expires_at,
            closed_at: elicitation.closed_at,
        }
    }
}

/// Whose account it is at the provider.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
pub(super) struct AccountView<'a> {
    /// The provider's stable id of it, where one is known.
    id: Option<&'a str>,
    /// What the user knows it by. Untrusted text.
    label: Option<&'a str>,
}

impl<'a> From<&'a Connection> for AccountView<'a> {
    fn from(connection: &'a Connection) -> Self {
        Self { id: connection.account.id.as_deref(), label: connection.account.label.as_deref() }
    }
}

/// A connection.
#[derive(Serialize, ToSchema)]
#[schema(as = Connection)]
pub(super) struct ConnectionView<'a> {
    /// Its id. One that is made after a disconnect has another.
    #[serde(serialize_with = "text")]
    #[schema(value_type = String, format = Uuid)]
    id: ConnectionId,
    /// The provider's id.
    provider: &'a str,
    /// Whose it is.
    subject: SubjectView<'a>,
    /// `oauth2`, `secret` for what a user has typed, or `redirect` for what they have done on a page of the MCP server's own.
    kind: &'static str,
    /// Whether nobody could say if what a user has typed works.
    unchecked: bool,
    /// Whether it is of the provider's test mode, as far as it shows.
    test_mode: bool,
    /// What is connected.
    account: AccountView<'a>,
    /// What was granted.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    scopes: &'a Scopes,
    /// `active`, `needs_reconnect` or `quarantined`.
    status: &'static str,
    /// Why it is not active, as a stable code.
    reason: Option<&'a str>,
    /// Moves with every new token.
    generation: i64,
    /// When its access token ends; null when it does not, or nobody said.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Millis>,
    /// Until when new access tokens can be had without the user, unless it is renewed; null when nobody said.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    renewable_until: Option<Millis>,
    /// When the user's consent ends at the provider; null when it does not, or nobody said.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    consent_expires_at: Option<Millis>,
    /// When it was first made.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Millis,
    /// When it last changed.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    updated_at: Millis,
    /// When it was last handed out, to the minute; null when it was not, or the first time was within the last minute.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Millis>,
}

impl<'a> ConnectionView<'a> {
    /// Of a connection that was last handed out then.
    pub(super) fn new(connection: &'a Connection, last_used_at: Option<Millis>) -> Self {
        Self {
            id: connection.id,
            provider: connection.provider.as_str(),
            subject: (&connection.owner).into(),
            kind: connection.marks.kind(),
            unchecked: connection.marks.unchecked,
            test_mode: connection.marks.test_mode,
            account: connection.into(),
            scopes: &connection.granted,
            status: connection.status.as_str(),
            reason: connection.reason.as_deref(),
            generation: connection.generation,
            expires_at: connection.access_expires_at,
            renewable_until: connection.refresh_expires_at,
            consent_expires_at: connection.consent_expires_at,
            created_at: connection.created_at,
            updated_at: connection.updated_at,
            last_used_at,
        }
    }
}

/// How to hand an answer to the MCP client.
#[derive(ToSchema)]
#[schema(as = Reply)]
#[expect(dead_code, reason = "describes a type of the protocol crate")]
pub(super) struct ReplySchema {
    /// `elicitation_request`: send `elicitation/create` with the body as its parameters. `jsonrpc_error`: answer the
    /// call with this error. `input_required` and `tool_result`: answer it with this result.
    kind: String,
    /// What to hand on, unchanged.
    #[schema(value_type = Object)]
    body: (),
    /// The status that the HTTP answer to the client must have, where the protocol prescribes one.
    http_status: Option<u16>,
}
