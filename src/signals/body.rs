//! A signal as every channel sends it: the page, the stream and the webhook.

use consentry_elicitation::{COMPLETE_METHOD, ElicitationComplete};
use serde::Serialize;
use utoipa::ToSchema;

use crate::signal::{Kind, Signal};

/// The body of a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Event {
    /// What happened, such as `elicitation.completed`.
    #[serde(rename = "type")]
    #[schema(example = "elicitation.completed")]
    pub kind: &'static str,
    /// When it happened, RFC 3339 in UTC.
    pub timestamp: String,
    /// To what.
    pub data: Data,
}

/// What a signal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EventData)]
pub struct Data {
    /// Counts 1, 2, 3 within one MCP server; also the event's id in the stream.
    pub sequence: i64,
    /// The elicitation; none when a connection changed by itself.
    pub elicitation_id: Option<String>,
    /// The caller's reference of the client that asked.
    pub client_ref: Option<String>,
    /// The provider's id.
    pub provider: String,
    /// Whose it is.
    pub subject: Whose,
    /// The connection, where there is one.
    pub connection_id: Option<String>,
    /// Why, as a stable code.
    pub reason: Option<String>,
    /// What to send to the MCP client named by `client_ref`, and to no other: only when an elicitation of the legacy
    /// era was completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Notification>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EventSubject)]
pub struct Whose {
    /// The issuer that names them.
    pub issuer: String,
    /// Their subject there.
    pub sub: String,
}

/// An MCP notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Notification {
    /// `notifications/elicitation/complete`.
    pub method: &'static str,
    /// Its parameters.
    #[schema(value_type = Object)]
    pub params: ElicitationComplete,
}

impl From<&Signal> for Event {
    fn from(signal: &Signal) -> Self {
        let completes = signal.legacy && signal.kind == Kind::ElicitationCompleted;
        let mcp = signal.elicitation.filter(|_| completes).map(|id| Notification {
            method: COMPLETE_METHOD,
            params: ElicitationComplete::new(id.to_string()),
        });
        Self {
            kind: signal.kind.as_str(),
            timestamp: signal.at.rfc3339(),
            data: Data {
                sequence: signal.sequence,
                elicitation_id: signal.elicitation.map(|id| id.to_string()),
                client_ref: Some(signal.client_ref.clone()).filter(|reference| !reference.is_empty()),
                provider: signal.provider.to_string(),
                subject: Whose { issuer: signal.subject.issuer.clone(), sub: signal.subject.sub.clone() },
                connection_id: signal.connection.map(|id| id.to_string()),
                reason: signal.reason.clone(),
                mcp,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{
        clock::Millis, connection::ConnectionId, elicitation::ElicitationId, signal::SignalId,
        subject::Subject,
    };

    fn signal(kind: Kind, legacy: bool) -> Signal {
        Signal {
            id: SignalId(Uuid::from_u128(1)),
            server: "files".parse().unwrap(),
            sequence: 7,
            kind,
            elicitation: Some(ElicitationId(Uuid::from_u128(2))),
            connection: Some(ConnectionId(Uuid::from_u128(3))),
            provider: "github".parse().unwrap(),
            subject: Subject::new("https://id.example", "alice").unwrap(),
            client_ref: "session-1".to_owned(),
            reason: Some("connected".to_owned()),
            legacy,
            at: Millis(1_764_417_600_000),
        }
    }

    #[test]
    fn a_completion_of_the_legacy_era_carries_the_notification() {
        assert_eq!(
            serde_json::to_value(Event::from(&signal(Kind::ElicitationCompleted, true))).unwrap(),
            json!({
                "type": "elicitation.completed",
                "timestamp": "2025-11-29T12:00:00Z",
                "data": {
                    "sequence": 7,
                    "elicitation_id": "00000000-0000-0000-0000-000000000002",
                    "client_ref": "session-1",
                    "provider": "github",
                    "subject": { "issuer": "https://id.example", "sub": "alice" },
                    "connection_id": "00000000-0000-0000-0000-000000000003",
                    "reason": "connected",
                    "mcp": {
                        "method": "notifications/elicitation/complete",
                        "params": { "elicitationId": "00000000-0000-0000-0000-000000000002" }
                    }
                }
            })
        );
    }

    #[test]
    fn nothing_else_carries_it() {
        for kind in Kind::ALL {
            for legacy in [true, false] {
                let event = Event::from(&signal(kind, legacy));
                assert_eq!(
                    event.data.mcp.is_some(),
                    legacy && kind == Kind::ElicitationCompleted,
                    "{kind:?}"
                );
            }
        }
    }
}
