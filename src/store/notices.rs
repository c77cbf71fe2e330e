//! News between the processes on one Postgres: a `NOTIFY` after a commit, and a connection that `LISTEN`s.
//!
//! Only a hint, in both directions: what is lost here is found by whoever polls. A notice is a statement of its own
//! after the commit, for within a durable transaction it would end the group commit of everybody. One task sends
//! what has come while its last statement ran; one task listens, once somebody in this process waits for signals.
//! Each has one connection beside the pool. What it must never do: make a caller wait, or carry more than an MCP
//! server's id.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    Connection as _, PgConnection,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use super::{StoreError, wake::Wake};
use crate::elicitation::ServerId;

/// The one channel of a database.
const CHANNEL: &str = "consentry_signals";
const SEND: &str = "SELECT pg_notify($1, notice) FROM unnest($2::text[]) AS notice";
/// One statement, and one connection attempt.
const PATIENCE: Duration = Duration::from_secs(2);
/// A listener that hears nothing for so long asks whether its connection still lives.
const SILENCE: Duration = Duration::from_secs(30);
/// Before the listener connects again: the first pause, which doubles, and the longest.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The notices of one store. Both tasks end with its last clone.
#[derive(Clone)]
pub(super) struct Notices(Arc<Shared>);

struct Shared {
    options: PgConnectOptions,
    /// Tells this process's own notices, whose readers are awake already.
    origin: Uuid,
    due: Arc<Due>,
    sending: Mutex<Option<JoinHandle<()>>>,
    listening: AtomicBool,
    stop: DropGuard,
}

/// MCP servers whose news are not sent yet.
#[derive(Default)]
struct Due {
    servers: Mutex<BTreeSet<ServerId>>,
    some: Notify,
}

impl Notices {
    /// Connects to nothing yet.
    pub(super) fn new(options: PgConnectOptions, origin: Uuid) -> Self {
        Self(Arc::new(Shared {
            options,
            origin,
            due: Arc::default(),
            sending: Mutex::default(),
            listening: AtomicBool::new(false),
            stop: CancellationToken::new().drop_guard(),
        }))
    }

    /// Sends the news of these MCP servers, soon and without waiting for it.
    pub(super) fn send(&self, servers: &[ServerId]) {
        if servers.is_empty() {
            return;
        }
        let Shared { options, origin, due, sending, stop, .. } = &*self.0;
        due.servers.lock().unwrap_or_else(PoisonError::into_inner).extend(servers.iter().cloned());
        due.some.notify_one();
        let mut sending = sending.lock().unwrap_or_else(PoisonError::into_inner);
        sending.get_or_insert_with(|| {
            let options = options.clone().application_name("consentry notifier");
            tokio::spawn(send(options, *origin, Arc::clone(due), token(stop)))
        });
    }

    /// Begins to listen for other processes' news, unless it does already.
    pub(super) fn listen(&self, wake: &Wake) {
        let Shared { options, origin, listening, stop, .. } = &*self.0;
        if !listening.swap(true, Ordering::Relaxed) {
            let options = options.clone().application_name("consentry listener");
            tokio::spawn(listen(options, *origin, wake.clone(), token(stop)));
        }
    }

    /// Sends what is due, for a moment at most, and ends both tasks.
    pub(super) async fn shut_down(&self) {
        token(&self.0.stop).cancel();
        let sending = self.0.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sending) = sending
            && timeout(PATIENCE, sending).await.is_err()
        {
            tracing::debug!("the last notices were not sent");
        }
    }
}

/// The guard gives its token only when it is taken apart.
fn token(guard: &DropGuard) -> CancellationToken {
    guard.token().clone()
}

async fn send(options: PgConnectOptions, origin: Uuid, due: Arc<Due>, stop: CancellationToken) {
    let mut connection = None;
    loop {
        tokio::select! {
            () = due.some.notified() => {}
            () = stop.cancelled() => {}
        }
        let servers = std::mem::take(&mut *due.servers.lock().unwrap_or_else(PoisonError::into_inner));
        if servers.is_empty() {
            if stop.is_cancelled() {
                return;
            }
            continue;
        }
        let notices: Vec<String> = servers.iter().map(|server| notice(server, origin)).collect();
        // A connection that broke since the last notice is found out by using it: once more, on a new one.
        let mut sent = send_once(&mut connection, &options, &notices).await;
        if sent.is_err() {
            connection = None;
            sent = send_once(&mut connection, &options, &notices).await;
        }
        if let Err(error) = sent {
            connection = None;
            tracing::warn!(%error, "other processes were not told of news; they look by themselves");
        }
    }
}

async fn send_once(
    connection: &mut Option<PgConnection>,
    options: &PgConnectOptions,
    notices: &[String],
) -> Result<(), StoreError> {
    let connection = match connection {
        Some(connection) => connection,
        None => {
            let connected = PgConnection::connect_with(options);
            connection.insert(timeout(PATIENCE, connected).await.map_err(late)??)
        }
    };
    let query = sqlx::query(SEND).bind(CHANNEL).bind(notices).execute(connection);
    timeout(PATIENCE, query).await.map_err(late)??;
    Ok(())
}

async fn listen(options: PgConnectOptions, origin: Uuid, wake: Wake, stop: CancellationToken) {
    let mut pause = PAUSE;
    while !stop.is_cancelled() {
        tokio::select! {
            ended = hear(&options, origin, &wake, &mut pause) => {
                let reason = ended.err().map_or_else(|| "it was lost".to_owned(), |error| error.to_string());
                tracing::warn!(reason, "other processes' news come by polling until the listener is connected again");
            }
            () = stop.cancelled() => return,
        }
        if timeout(pause, stop.cancelled()).await.is_ok() {
            return;
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Listens until the connection is lost.
async fn hear(
    options: &PgConnectOptions,
    origin: Uuid,
    wake: &Wake,
    pause: &mut Duration,
) -> Result<(), StoreError> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    *pause = PAUSE;
    // What came while nobody listened is not told again.
    wake.all();
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(heard))) => {
                if let Some(server) = server_of(heard.payload(), origin) {
                    wake.one(&server);
                }
            }
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(error.into()),
            // A peer that is gone without a word is not noticed by waiting for it.
            Err(_) => {
                let asked = sqlx::query("SELECT 1").execute(&mut listener);
                timeout(PATIENCE, asked).await.map_err(late)??;
            }
        }
    }
}

fn late(_: tokio::time::error::Elapsed) -> StoreError {
    StoreError::Unavailable("it did not answer in time")
}

fn notice(server: &ServerId, origin: Uuid) -> String {
    format!("{server} {}", origin.as_simple())
}

/// The MCP server of another process's notice. What is not understood is nobody's.
fn server_of(payload: &str, origin: Uuid) -> Option<ServerId> {
    let (server, from) = payload.split_once(' ').unwrap_or((payload, ""));
    if from.parse() == Ok(origin) {
        return None;
    }
    server.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_for_other_processes_and_names_a_server_alone() {
        let (mine, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let files: ServerId = "files".parse().unwrap();
        assert_eq!(server_of(&notice(&files, other), mine), Some(files.clone()));
        assert_eq!(server_of(&notice(&files, mine), mine), None);
        assert_eq!(server_of("files", mine), Some(files));
        for nonsense in ["", " ", "No such", "\u{0} 1"] {
            assert_eq!(server_of(nonsense, mine), None, "{nonsense:?}");
        }
    }
}
