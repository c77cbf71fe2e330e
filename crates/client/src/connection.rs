//! Connections as the API shows them: what is connected and how it fares, never a token.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// A user: whom the issuer calls by this subject.
///
/// ```
/// use consentry_client::Subject;
///
/// let subject: Subject = serde_json::from_str(r#"{ "issuer": "https://id.example.com", "sub": "alice" }"#)?;
/// assert_eq!(subject.sub, "alice");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subject {
    /// The authorization server; left out in a request, that of the calling MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The subject there.
    pub sub: String,
}

impl Subject {
    /// Whom this issuer calls so.
    #[must_use]
    pub fn of(issuer: impl Into<String>, sub: impl Into<String>) -> Self {
        Self { issuer: Some(issuer.into()), sub: sub.into() }
    }
}

/// The account at the third party.
///
/// ```
/// use consentry_client::Account;
///
/// let account: Account = serde_json::from_str(r#"{ "id": "583231", "label": "octocat" }"#)?;
/// assert_eq!(account.label.as_deref(), Some("octocat"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Account {
    /// The provider's id of it, where one is known.
    pub id: Option<String>,
    /// What the user knows it by.
    pub label: Option<String>,
}

/// Does a connection work?
///
/// ```
/// use consentry_client::ConnectionStatus;
///
/// let status: ConnectionStatus = serde_json::from_str(r#""needs_reconnect""#)?;
/// assert_eq!(status, ConnectionStatus::NeedsReconnect);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConnectionStatus {
    /// Its credential is handed out.
    Active,
    /// The user must connect again.
    NeedsReconnect,
    /// Held back until an operator has looked.
    Quarantined,
    /// A status that this version does not know.
    #[serde(other)]
    Other,
}

/// One connection of a user to a provider.
///
/// ```
/// use consentry_client::{Connection, ConnectionStatus};
///
/// let connection: Connection =
///     serde_json::from_str(r#"{ "id": "c-1", "provider": "github", "status": "active", "generation": 4 }"#)?;
/// assert_eq!(connection.status, ConnectionStatus::Active);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Connection {
    /// Its id.
    pub id: String,
    /// The provider's id.
    pub provider: String,
    /// Whose it is.
    pub subject: Option<Subject>,
    /// What is connected.
    pub account: Option<Account>,
    /// What was granted.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Does it work?
    pub status: ConnectionStatus,
    /// Why not.
    pub reason: Option<String>,
    /// Counts the credentials that it has had.
    pub generation: Option<u64>,
    /// When it was first made.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub created_at: Option<OffsetDateTime>,
    /// When it last changed.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub updated_at: Option<OffsetDateTime>,
}

/// Which connections to list; by default all that the caller may see.
///
/// ```
/// use consentry_client::ConnectionQuery;
///
/// let query = ConnectionQuery::new().user("alice").provider("github").limit(50);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionQuery {
    issuer: Option<String>,
    sub: Option<String>,
    provider: Option<String>,
    cursor: Option<String>,
    limit: Option<u16>,
}

impl ConnectionQuery {
    /// Everything, from the start.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only users of this issuer.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Only this user: the subject at its issuer.
    #[must_use]
    pub fn user(mut self, sub: impl Into<String>) -> Self {
        self.sub = Some(sub.into());
        self
    }

    /// Only this provider.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// From where the page before ended: its `next_cursor`.
    #[must_use]
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// At most so many on a page.
    #[must_use]
    pub fn limit(mut self, limit: u16) -> Self {
        self.limit = Some(limit);
        self
    }

    pub(crate) fn encoded(&self) -> String {
        let limit = self.limit.map(|limit| limit.to_string());
        let fields = [
            ("issuer", &self.issuer),
            ("sub", &self.sub),
            ("provider", &self.provider),
            ("cursor", &self.cursor),
            ("limit", &limit),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in fields {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// A page of connections.
///
/// ```
/// use consentry_client::Connections;
///
/// let page: Connections = serde_json::from_str(r#"{ "connections": [], "next_cursor": null }"#)?;
/// assert!(page.next_cursor.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Connections {
    /// The connections.
    pub connections: Vec<Connection>,
    /// Where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
}
