//! What happened, in order, for tests to read. Kept in memory only: entries hold secrets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// One HTTP request as it reached a fake, before anything was decided about it.
#[derive(Clone, Debug)]
pub struct Received {
    /// When, in milliseconds since the epoch by the fake's clock.
    pub at_ms: i64,
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The raw query string.
    pub query: Option<String>,
    /// Header names in lower case, in the order received; values that are no UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Received {
    /// The first header of that name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as text, invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, if it is.
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// An append-only list that can be waited on. Clones share it.
#[derive(Debug)]
pub struct Log<T> {
    kept: Arc<Mutex<Kept<T>>>,
    changed: Arc<watch::Sender<()>>,
}

#[derive(Debug)]
struct Kept<T> {
    /// How many entries were forgotten: indices go on counting.
    before: usize,
    entries: Vec<T>,
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self { kept: Arc::clone(&self.kept), changed: Arc::clone(&self.changed) }
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        let kept = Kept { before: 0, entries: Vec::new() };
        Self { kept: Arc::new(Mutex::new(kept)), changed: Arc::new(watch::Sender::new(())) }
    }
}

impl<T: Clone> Log<T> {
    /// Everything so far.
    pub fn entries(&self) -> Vec<T> {
        lock(&self.kept).entries.clone()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        lock(&self.kept).entries.len()
    }

    /// Whether nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything; numbers that entries carry go on counting.
    pub fn clear(&self) {
        let mut kept = lock(&self.kept);
        kept.before += kept.entries.len();
        kept.entries.clear();
    }

    /// Waits until `enough` holds for the entries, and returns them. `None` when `limit` (wall time) is over first.
    pub async fn until(&self, limit: Duration, enough: impl Fn(&[T]) -> bool) -> Option<Vec<T>> {
        let mut changed = self.changed.subscribe();
        let waiting = async {
            loop {
                let entries = self.entries();
                if enough(&entries) {
                    return Some(entries);
                }
                changed.changed().await.ok()?;
            }
        };
        tokio::time::timeout(limit, waiting).await.ok().flatten()
    }

    /// Appends and returns the entry's index.
    pub(crate) fn push(&self, entry: T) -> usize {
        self.push_with(|_| entry)
    }

    /// Appends an entry that knows its own index.
    pub(crate) fn push_with(&self, entry: impl FnOnce(usize) -> T) -> usize {
        let mut kept = lock(&self.kept);
        let index = kept.before + kept.entries.len();
        kept.entries.push(entry(index));
        drop(kept);
        self.changed.send_replace(());
        index
    }

    /// Changes an entry that is still there.
    pub(crate) fn amend(&self, index: usize, change: impl FnOnce(&mut T)) {
        let mut kept = lock(&self.kept);
        let place = index.checked_sub(kept.before);
        if let Some(entry) = place.and_then(|place| kept.entries.get_mut(place)) {
            change(entry);
        }
        drop(kept);
        self.changed.send_replace(());
    }
}

/// A lock that a panicking test thread cannot poison for the others.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
