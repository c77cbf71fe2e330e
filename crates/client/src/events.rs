//! The stream of signals, taken up again by itself where it broke off.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;

use crate::sse::{Message, Reader};
use crate::transport::{Transport, accepted, pause};
use crate::{Error, Subject};

/// The server sends a heartbeat every 15 s; after this long without one the connection counts as dead.
const SILENCE: Duration = Duration::from_secs(50);
/// The longest pause before connecting again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What happened.
///
/// ```
/// use consentry_client::EventKind;
///
/// let kind: EventKind = serde_json::from_str(r#""elicitation.completed""#)?;
/// assert_eq!(kind, EventKind::ElicitationCompleted);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[non_exhaustive]
pub enum EventKind {
    /// The user connected.
    #[serde(rename = "elicitation.completed")]
    ElicitationCompleted,
    /// The user said no.
    #[serde(rename = "elicitation.declined")]
    ElicitationDeclined,
    /// It was withdrawn.
    #[serde(rename = "elicitation.cancelled")]
    ElicitationCancelled,
    /// Nobody finished in time.
    #[serde(rename = "elicitation.expired")]
    ElicitationExpired,
    /// It cannot be finished.
    #[serde(rename = "elicitation.failed")]
    ElicitationFailed,
    /// A new connection.
    #[serde(rename = "connection.created")]
    ConnectionCreated,
    /// A connection with another account, scopes or status.
    #[serde(rename = "connection.updated")]
    ConnectionUpdated,
    /// A connection works no longer.
    #[serde(rename = "connection.needs_reconnect")]
    ConnectionNeedsReconnect,
    /// A connection is gone.
    #[serde(rename = "connection.deleted")]
    ConnectionDeleted,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// A signal.
///
/// ```
/// use consentry_client::{Event, EventKind};
///
/// let event: Event = serde_json::from_str(
///     r#"{ "type": "elicitation.completed", "timestamp": "2026-11-29T12:00:00Z", "data": {
///          "sequence": 7, "elicitation_id": "e-1", "client_ref": "session-7f3a",
///          "mcp": { "method": "notifications/elicitation/complete", "params": { "elicitationId": "e-1" } } } }"#,
/// )?;
/// assert_eq!(event.kind, EventKind::ElicitationCompleted);
/// assert_eq!(event.data.mcp.unwrap().method, "notifications/elicitation/complete");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub timestamp: OffsetDateTime,
    /// To what.
    pub data: EventData,
}

/// What a signal is about.
///
/// ```
/// use consentry_client::EventData;
///
/// let data: EventData = serde_json::from_str(r#"{ "sequence": 7, "provider": "github" }"#)?;
/// assert_eq!(data.sequence, 7);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct EventData {
    /// Grows from signal to signal.
    pub sequence: u64,
    /// The elicitation.
    pub elicitation_id: Option<String>,
    /// What the caller named the MCP client that was asked; the notification goes to it and to no other.
    pub client_ref: Option<String>,
    /// The provider's id.
    pub provider: Option<String>,
    /// Whose it is.
    pub subject: Option<Subject>,
    /// The connection.
    pub connection_id: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// What to notify the MCP client of: legacy era, completion only.
    pub mcp: Option<Notification>,
}

/// A notification for an MCP client, ready to be sent.
///
/// ```
/// use consentry_client::Notification;
///
/// let notification: Notification = serde_json::from_str(r#"{ "method": "m", "params": { "elicitationId": "e-1" } }"#)?;
/// assert_eq!(notification.params["elicitationId"], "e-1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Notification {
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

/// The signals, one after the other and without end.
///
/// ```no_run
/// # async fn example(consentry: consentry_client::Client) -> Result<(), consentry_client::Error> {
/// let mut events = consentry.events(None);
/// loop {
///     let event = events.next().await?;
///     if let (Some(client), Some(notification)) = (&event.data.client_ref, &event.data.mcp) {
///         // send `notification` to that client
///     }
/// }
/// # }
/// ```
pub struct Events {
    transport: Arc<Transport>,
    last_event_id: Option<String>,
    open: Option<(Response, Reader)>,
    /// Read while opening, and not told yet.
    early: Option<Message>,
    failures: u32,
    retry: Option<Duration>,
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Events").field("last_event_id", &self.last_event_id).finish_non_exhaustive()
    }
}

impl Events {
    pub(crate) fn new(transport: Arc<Transport>, last_event_id: Option<String>) -> Self {
        Self { transport, last_event_id, open: None, early: None, failures: 0, retry: None }
    }

    /// The id of the last signal that [`next`](Self::next) returned, or before the first one the place where the stream
    /// began: a later stream can go on behind it.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// The next signal. A connection that breaks, or a server that is not there, is tried again without end; dropping
    /// the future loses no signal.
    ///
    /// # Errors
    ///
    /// What trying again does not mend: a refusal (`401` and the like), an answer that is no event stream, or a signal
    /// that cannot be read (which the next call passes over) or is longer than 256 KiB (which it does not).
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(message) = self.early.take() {
                return self.told(&message);
            }
            match self.read().await? {
                Some(message) => return self.told(&message),
                None => continue,
            }
        }
    }

    /// Connects, unless it is connected: what happens when this has returned is told by [`next`](Self::next), through
    /// every interruption. Without it the stream begins with the first call of `next`.
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub async fn open(&mut self) -> Result<(), Error> {
        loop {
            if self.early.is_some() || self.open.as_ref().is_some_and(|(_, reader)| reader.begun) {
                return Ok(());
            }
            self.early = self.read().await?;
        }
    }

    fn told(&mut self, message: &Message) -> Result<Event, Error> {
        if message.id.is_some() {
            self.last_event_id.clone_from(&message.id);
        }
        serde_json::from_str(&message.data).map_err(|_| Error::Unreadable("a signal"))
    }

    /// One step: connects, or takes what has come, or waits for more.
    async fn read(&mut self) -> Result<Option<Message>, Error> {
        if self.open.is_none() {
            self.connect().await?;
            return Ok(None);
        }
        if let Some(message) = self.parse()? {
            return Ok(Some(message));
        }
        let Some((response, reader)) = &mut self.open else { return Ok(None) };
        match tokio::time::timeout(SILENCE, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                // Not zero: a server that closes at once must not make a hot loop.
                self.failures = 1;
                reader.push(&bytes);
                self.parse()
            }
            _ => {
                self.broken();
                Ok(None)
            }
        }
    }

    /// The next whole event of what has come. Notes where the stream stands, although no signal may have come yet.
    fn parse(&mut self) -> Result<Option<Message>, Error> {
        let Some((_, reader)) = &mut self.open else { return Ok(None) };
        match reader.next() {
            Ok(None) => {
                if reader.last_id.is_some() {
                    self.last_event_id.clone_from(&reader.last_id);
                }
                Ok(None)
            }
            Ok(message) => Ok(message),
            Err(error) => {
                self.broken();
                Err(error)
            }
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        if self.failures > 0 {
            pause(self.pause_before()).await;
        }
        let url = self.transport.url(&["v1", "events"]);
        let mut request = self.transport.http.get(url).header(ACCEPT, "text/event-stream");
        if let Some(id) = &self.last_event_id {
            let id = HeaderValue::try_from(id)
                .map_err(|_| Error::Setup("the last event id is not a header value"))?;
            request = request.header("Last-Event-ID", id);
        }
        // Counted before the answer, so that a dropped future does not make a hot loop.
        self.failures = self.failures.saturating_add(1);
        let answer = tokio::time::timeout(self.transport.policy.timeout, accepted(request)).await;
        match answer {
            Ok(Ok(response)) => {
                let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
                if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
                    return Err(Error::Unreadable("not an event stream"));
                }
                self.open = Some((response, Reader::default()));
                Ok(())
            }
            Ok(Err(Error::Problem(problem))) if !passes(problem.status) => Err(Error::Problem(problem)),
            Ok(Err(Error::Status { status })) if !passes(status) => Err(Error::Status { status }),
            _ => Ok(()),
        }
    }

    fn broken(&mut self) {
        if let Some((_, reader)) = self.open.take() {
            self.retry = reader.retry.or(self.retry);
        }
    }

    fn pause_before(&self) -> Duration {
        let first = self.retry.unwrap_or(self.transport.policy.backoff);
        first.saturating_mul(1 << (self.failures - 1).min(16)).min(LONGEST_PAUSE)
    }
}

/// A status that will pass by itself.
fn passes(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}
