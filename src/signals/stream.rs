//! A feed of one MCP server's signals, in their order, for as long as somebody reads it.
//!
//! It is pulled: what a slow reader has not taken yet stays in the store, and at most one page of it is in memory
//! (R116).

use std::{collections::VecDeque, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, header};
use tokio::sync::watch;

use crate::{
    app::App,
    clock::Millis,
    elicitation::ServerId,
    signal::Signal,
    store::{POLL, StoreError},
};

/// How long a silent feed stays without a sign of life.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// The sign of life of a stream of server-sent events, for proxies that end what is silent: a comment (WHATWG HTML,
/// section 9.2.6).
pub const STILL_HERE: &[u8] = b": still here\n\n";

/// The headers of a stream of server-sent events.
pub fn stream_headers() -> [(HeaderName, HeaderValue); 2] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // A proxy that collects an answer before it passes it on would hold everything back.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ]
}

/// A place in one MCP server's signals.
pub struct Feed {
    app: App,
    server: ServerId,
    after: i64,
    page: VecDeque<Arc<Signal>>,
    woken: watch::Receiver<u64>,
    quiet_since: Millis,
}

/// What a feed has to tell.
#[derive(Debug)]
pub enum Told {
    /// The next signal.
    Signal(Arc<Signal>),
    /// Nothing happened for [`HEARTBEAT`].
    Nothing,
    /// The process drains: come back later.
    Draining,
}

impl Feed {
    /// A feed of what comes after a number, or from now on. A number that was never given, after a restore say, is
    /// taken for the latest one, so that the reader is not left waiting for it.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn open(app: &App, server: &ServerId, after: Option<i64>) -> Result<Self, StoreError> {
        let woken = app.store.subscribe(server);
        let head = app.store.signal_head(server).await?;
        Ok(Self {
            app: app.clone(),
            server: server.clone(),
            after: after.map_or(head, |after| after.min(head)),
            page: VecDeque::new(),
            woken,
            quiet_since: app.clock.now(),
        })
    }

    /// The number of the last signal that was told, or the one that the feed began behind.
    pub fn after(&self) -> i64 {
        self.after
    }

    /// Waits for the next thing to tell. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the store is unavailable; the feed can go on afterwards.
    pub async fn next(&mut self) -> Result<Told, StoreError> {
        loop {
            if self.app.shutdown.is_cancelled() {
                return Ok(Told::Draining);
            }
            let now = self.app.clock.now();
            if self.page.is_empty() {
                self.page = self.app.store.news(&self.server, self.after, now).await?.into();
            }
            if let Some(signal) = self.page.pop_front() {
                self.after = signal.sequence;
                self.quiet_since = now;
                return Ok(Told::Signal(signal));
            }
            let heartbeat = self.quiet_since.plus(HEARTBEAT);
            if now >= heartbeat {
                self.quiet_since = now;
                return Ok(Told::Nothing);
            }
            let shutdown = self.app.shutdown.clone();
            tokio::select! {
                _ = self.woken.changed() => {}
                () = self.app.clock.sleep_until(heartbeat.min(now.plus(POLL))) => {}
                () = shutdown.cancelled() => {}
            }
        }
    }
}
