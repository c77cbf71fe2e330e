//! Who waits in this process for an MCP server's signals, and the last of them, read once for all.
//!
//! A wake-up is only a hint: whoever waits also looks by itself, and nothing is lost when one goes missing. What
//! many streams of one MCP server want is read by the first and taken from memory by the others. What it must never
//! do: give a reader a number and not every smaller one after the reader's own.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;

use super::{Store, StoreError};
use crate::{clock::Millis, elicitation::ServerId, signal::Signal};

/// Signals of one MCP server that stay in memory for the streams behind the foremost.
const KEPT: usize = 256;
/// Signals that are read at once.
const PAGE: u32 = 100;
/// How long the foremost stream takes what was read for all there is, when nobody is woken.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// The waiting of one process. Cloning shares it.
#[derive(Clone, Default)]
pub(super) struct Wake(Arc<Mutex<HashMap<ServerId, Arc<Channel>>>>);

/// What waits for one MCP server.
struct Channel {
    /// Counts wake-ups.
    woken: watch::Sender<u64>,
    recent: tokio::sync::Mutex<Recent>,
    /// Counts readings that failed, so that those who waited for one fail with it and not each for itself.
    failed: AtomicU64,
}

/// Every signal with a number above `base` and up to `end`.
#[derive(Default)]
struct Recent {
    signals: VecDeque<Arc<Signal>>,
    base: i64,
    end: i64,
    /// Wake-ups that had come when it was last read, and when that was; none when there is more to read for sure.
    read: Option<(u64, Millis)>,
}

impl Wake {
    fn channel(&self, server: &ServerId) -> Arc<Channel> {
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(server) {
            return Arc::clone(channel);
        }
        let channel = Arc::new(Channel {
            woken: watch::channel(0).0,
            recent: tokio::sync::Mutex::default(),
            failed: AtomicU64::new(0),
        });
        channels.insert(server.clone(), Arc::clone(&channel));
        channel
    }

    /// Wakes whoever waits for this MCP server; nobody, when nobody ever did.
    pub(super) fn one(&self, server: &ServerId) {
        if let Some(channel) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server) {
            channel.wake();
        }
    }

    /// Wakes everybody.
    pub(super) fn all(&self) {
        for channel in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            channel.wake();
        }
    }
}

impl Channel {
    fn wake(&self) {
        self.woken.send_modify(|count| *count += 1);
    }
}

impl Recent {
    /// What a reader that has everything up to `after` has not; `None` when that is not here.
    fn behind(&self, after: i64) -> Option<Vec<Arc<Signal>>> {
        if !(self.base..self.end).contains(&after) {
            return None;
        }
        let from = self.signals.partition_point(|signal| signal.sequence <= after);
        Some(self.signals.range(from..).take(PAGE as usize).cloned().collect())
    }

    fn begin_at(&mut self, after: i64) {
        *self = Self { base: after, end: after, ..Self::default() };
    }

    fn extend(&mut self, page: &[Arc<Signal>]) {
        self.signals.extend(page.iter().cloned());
        self.end = page.last().map_or(self.end, |last| last.sequence);
        while self.signals.len() > KEPT {
            self.base = self.signals.pop_front().map_or(self.base, |first| first.sequence);
        }
    }
}

impl Store {
    /// Is told when a signal of this MCP server was committed, by this process or, on Postgres, by another.
    /// Subscribe before reading, or one is missed.
    pub fn subscribe(&self, server: &ServerId) -> watch::Receiver<u64> {
        if let Some(notices) = &self.notices {
            notices.listen(&self.wake);
        }
        self.wake.channel(server).woken.subscribe()
    }

    /// Wakes the readers of these MCP servers, after the commit.
    pub(super) fn announce(&self, servers: &[ServerId]) {
        for server in servers {
            self.wake.one(server);
        }
        if let Some(notices) = &self.notices {
            notices.send(servers);
        }
    }

    /// What a stream that has told everything up to `after` has to tell next; nothing when there is nothing. Asks the
    /// database for the foremost stream alone, and only after a wake-up or once in [`POLL`].
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn news(
        &self,
        server: &ServerId,
        after: i64,
        now: Millis,
    ) -> Result<Vec<Arc<Signal>>, StoreError> {
        let channel = self.wake.channel(server);
        let failed = channel.failed.load(Ordering::Acquire);
        let mut recent = channel.recent.lock().await;
        if after > recent.end.saturating_add(KEPT as i64) {
            recent.begin_at(after);
        }
        loop {
            if let Some(page) = recent.behind(after) {
                return Ok(page);
            }
            if after < recent.base {
                drop(recent);
                return self.page_of_news(server, after).await;
            }
            // Before the reading, so that what is committed meanwhile is read again.
            let woken = *channel.woken.borrow();
            let fresh = |(count, at): (u64, Millis)| count == woken && now < at.plus(POLL);
            if after == recent.end && recent.read.is_some_and(fresh) {
                return Ok(Vec::new());
            }
            if channel.failed.load(Ordering::Acquire) != failed {
                return Err(StoreError::Unavailable("it has just failed for another reader"));
            }
            let page = self.page_of_news(server, recent.end).await.inspect_err(|_| {
                channel.failed.fetch_add(1, Ordering::AcqRel);
            })?;
            let polled = recent.read.is_some_and(|(count, _)| count == woken);
            recent.read = (page.len() < PAGE as usize).then_some((woken, now));
            recent.extend(&page);
            if polled && !page.is_empty() {
                // Nobody was woken for it; the other streams take it from here.
                channel.wake();
            }
            if page.is_empty() && after > recent.end {
                // Deleted since, with the reader's own last one.
                recent.begin_at(after);
            }
        }
    }

    async fn page_of_news(&self, server: &ServerId, after: i64) -> Result<Vec<Arc<Signal>>, StoreError> {
        Ok(self.signals_after(server, after, PAGE).await?.into_iter().map(Arc::new).collect())
    }
}
