//! One refresh of a connection at a time in this process, shared by everybody who waits for it.
//!
//! It runs in a task of its own that a drain waits for; nobody who hangs up cancels it (R81).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{step::Finish, task};
use crate::{app::App, connection::ConnectionId, vault::OpenError};

/// How a refresh ended, for everybody who waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How.
    pub finish: Finish,
    /// Why what is stored does not open.
    pub unreadable: Option<OpenError>,
}

type Waiting = watch::Receiver<Option<Ending>>;

/// The refreshes that are under way in this process. Cloning shares them.
#[derive(Clone, Default)]
pub struct Refreshes(Arc<Mutex<HashMap<ConnectionId, Waiting>>>);

/// A refresh that somebody may wait for; dropping it changes nothing.
#[must_use]
#[derive(Debug)]
pub struct Flight(Waiting);

/// Takes a refresh out of the map when its task is over, also by a panic.
struct Entry {
    refreshes: Refreshes,
    connection: ConnectionId,
}

impl Refreshes {
    /// The refresh of this connection that is under way, or a new one that replaces `generation`.
    pub fn join(&self, app: &App, connection: ConnectionId, generation: i64) -> Flight {
        let mut under_way = self.lock();
        if let Some(waiting) = under_way.get(&connection) {
            return Flight(waiting.clone());
        }
        let (tell, waiting) = watch::channel(None);
        under_way.insert(connection, waiting.clone());
        drop(under_way);
        let entry = Entry { refreshes: self.clone(), connection };
        let work = app.clone();
        app.tasks.spawn(async move {
            let ending = task::refresh(&work, connection, generation).await;
            // Before anybody hears of it: who comes from now on starts anew, and finds what is stored.
            drop(entry);
            tell.send_replace(Some(ending));
        });
        Flight(waiting)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionId, Waiting>> {
        // Nothing that is kept here can be left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.refreshes.lock().remove(&self.connection);
    }
}

impl Flight {
    /// Waits for its end; `None` when its task died.
    pub async fn end(mut self) -> Option<Ending> {
        self.0.wait_for(Option::is_some).await.ok().and_then(|ending| ending.clone())
    }
}
