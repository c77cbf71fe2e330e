//! A webhook receiver: records what it gets, answers 204 or as scripted.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use crate::clock::Clock;
use crate::log::{Log, Received};
use crate::observe::logged;
use crate::script::{Answer, Script};
use crate::serve::{Listen, Running, bind};

/// A running sink; dropping it stops it. Every path and method is taken.
#[derive(Debug)]
pub struct Sink {
    inner: Arc<Inner>,
    running: Running,
}

#[derive(Debug, Default)]
struct Inner {
    log: Log<Received>,
    clock: Clock,
    script: Script,
}

/// One script for all paths: a receiver is one endpoint.
const ANY: &str = "*";

impl Sink {
    /// Starts listening.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(listen: Listen) -> io::Result<Self> {
        let bound = bind(listen).await?;
        let inner = Arc::new(Inner::default());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&inner));
        let running = bound.serve(router);
        Ok(Self { inner, running })
    }

    /// `http://127.0.0.4:41234`.
    pub fn base_url(&self) -> &str {
        &self.running.base_url
    }

    /// What came, to be read or waited on.
    pub fn log(&self) -> &Log<Received> {
        &self.inner.log
    }

    /// Its clock, to be moved.
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Queues an answer; it is used once.
    pub fn next_answer(&self, answer: Answer) {
        self.inner.script.next(ANY, answer);
    }

    /// Sets the answer whenever nothing is queued.
    pub fn always_answer(&self, answer: Answer) {
        self.inner.script.always(ANY, answer);
    }

    /// Back to 204 for everything.
    pub fn answer_normally(&self) {
        self.inner.script.clear(ANY);
    }

    /// `false` closes the port (connecting is refused) and ends open connections; `true` opens it again. Returns when it
    /// is so.
    ///
    /// # Errors
    /// When somebody else has taken the port meanwhile.
    pub async fn accept_connections(&self, open: bool) -> io::Result<()> {
        self.running.accept(open).await
    }
}

async fn receive(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    if let Err(refusal) = logged(&inner.log, &inner.clock, request).await {
        return refusal;
    }
    let ordinary = async { StatusCode::NO_CONTENT.into_response() };
    match inner.script.take(ANY) {
        None => ordinary.await,
        Some(answer) => answer.give(ordinary).await,
    }
}
