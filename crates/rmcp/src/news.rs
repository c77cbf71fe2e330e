//! `notifications/elicitation/complete` for sessions of the legacy era, also after their call has ended, and wherever
//! the user's browser came back to: the stream of Consentry's signals reaches every process of an MCP server, and the one
//! that has the session knows it by its reference.
//!
//! What it must never do: notify a session that was not asked, twice, or of anything but a connection.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use consentry_client::{Client, Elicitation, Error, Event, EventKind, Events};
use consentry_elicitation::{COMPLETE_METHOD, ElicitationComplete};
use rmcp::{
    Peer, RoleServer,
    model::{CustomNotification, ServerNotification},
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};

/// How long a question waits for the stream to be open. Without it the news may be missed; the question may not.
const OPENING_WAIT: Duration = Duration::from_secs(5);
/// Before a stream that was refused is tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// Questions whose end is waited for, at most; further ones end without a notification.
const ASKED_MAX: usize = 100_000;

pub(crate) struct News {
    api: Client,
    /// By the id of the elicitation.
    asked: Mutex<HashMap<String, Asked>>,
    listener: Mutex<Option<Listener>>,
}

struct Asked {
    /// The session's, which the signal must carry.
    reference: String,
    session: Peer<RoleServer>,
    /// In seconds since the epoch.
    expires_at: i64,
}

struct Listener {
    task: JoinHandle<()>,
    opening: watch::Receiver<Opening>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Waited,
    Open,
    Refused,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl News {
    pub(crate) fn new(api: Client) -> Self {
        Self { api, asked: Mutex::default(), listener: Mutex::default() }
    }

    /// Remembers that this session is about to be asked, so that it hears of the end.
    pub(crate) async fn expect(
        self: &Arc<Self>,
        elicitations: impl Iterator<Item = &Elicitation> + Send,
        reference: &str,
        session: &Peer<RoleServer>,
    ) {
        let ids: Vec<_> = elicitations.map(|one| (one.id.clone(), one.expires_at.unix_timestamp())).collect();
        if ids.is_empty() {
            return;
        }
        let mut opening = self.listen();
        let decided = opening.wait_for(|opening| *opening != Opening::Waited);
        let opened = timeout(OPENING_WAIT, decided).await;
        if !opened.is_ok_and(|opened| opened.is_ok_and(|opening| *opening == Opening::Open)) {
            tracing::warn!(
                "the stream of signals is not open; a session may not hear that its user has connected"
            );
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() + ids.len() > ASKED_MAX {
            asked.retain(|_, asked| !asked.session.is_transport_closed());
        }
        for (id, expires_at) in ids {
            if asked.len() < ASKED_MAX || asked.contains_key(&id) {
                let (reference, session) = (reference.to_owned(), session.clone());
                asked.insert(id, Asked { reference, session, expires_at });
            }
        }
    }

    pub(crate) fn forget(&self, id: &str) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// The user has connected: says so to the session that was asked, once.
    pub(crate) async fn tell(&self, id: &str) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(asked) = asked {
            let params = serde_json::to_value(ElicitationComplete::new(id)).ok();
            let news = CustomNotification::new(COMPLETE_METHOD, params);
            // The client may be gone; its next call finds the connection all the same.
            let _ = asked.session.send_notification(ServerNotification::CustomNotification(news)).await;
        }
    }

    async fn heard(&self, event: Event) {
        let Some(id) = &event.data.elicitation_id else { return };
        {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            // Whatever nobody will hear of any more goes; signals are many, so that this is often enough.
            let now = event.timestamp.unix_timestamp();
            let grace_s = 120;
            asked.retain(|_, one| one.expires_at + grace_s > now && !one.session.is_transport_closed());
            if asked.get(id).is_none_or(|one| Some(&one.reference) != event.data.client_ref.as_ref()) {
                return;
            }
        }
        match event.kind {
            EventKind::ElicitationCompleted if event.data.mcp.is_some() => self.tell(id).await,
            EventKind::ElicitationCompleted
            | EventKind::ElicitationDeclined
            | EventKind::ElicitationCancelled
            | EventKind::ElicitationExpired
            | EventKind::ElicitationFailed => self.forget(id),
            _ => {}
        }
    }

    /// Starts the listener when there is none; tells when it is connected.
    fn listen(self: &Arc<Self>) -> watch::Receiver<Opening> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        match &*listener {
            Some(listener) if !listener.task.is_finished() => listener.opening.clone(),
            _ => {
                let (tell, opening) = watch::channel(Opening::Waited);
                let task = tokio::spawn(run(Arc::downgrade(self), self.api.events(None), tell));
                *listener = Some(Listener { task, opening: opening.clone() });
                opening
            }
        }
    }
}

/// Until nobody is left to tell.
async fn run(news: Weak<News>, mut events: Events, tell: watch::Sender<Opening>) {
    while let Err(error) = events.open().await {
        tell.send_replace(Opening::Refused);
        refused(&error).await;
    }
    tell.send_replace(Opening::Open);
    loop {
        match events.next().await {
            Ok(event) => match news.upgrade() {
                Some(news) => news.heard(event).await,
                None => return,
            },
            // Passed over by the next call.
            Err(Error::Unreadable(what)) => tracing::warn!(what, "a signal cannot be read"),
            Err(error) => refused(&error).await,
        }
    }
}

async fn refused(error: &Error) {
    tracing::error!(%error, "the stream of signals is refused");
    sleep_until(Instant::now() + REFUSED_PAUSE).await;
}
