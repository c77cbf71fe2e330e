//! How long a connection may take over what it is doing.
//!
//! hyper has one limit for the head of a request and for the time between two requests, and none before it has seen
//! whether a connection speaks HTTP/1 or HTTP/2. So what a connection is doing is kept here: its stream says when bytes
//! come or cannot go, its requests say when they begin and end, and whoever serves it asks for the deadline.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use super::{Limits, bare::Bare};

const NEVER: u64 = u64::MAX;

/// What one connection is doing, and until when it may.
pub(super) struct Progress {
    opened: Instant,
    limits: Limits,
    /// Milliseconds since `opened`, or [`NEVER`].
    deadline: AtomicU64,
    /// The same for a write that does not go through.
    stalled: AtomicU64,
    in_flight: AtomicU32,
    idle: AtomicBool,
    /// HTTP/2 sends frames that are no requests.
    multiplexed: AtomicBool,
}

impl Progress {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let progress = Self {
            opened: Instant::now(),
            deadline: AtomicU64::new(millis(limits.head)),
            stalled: AtomicU64::new(NEVER),
            in_flight: AtomicU32::new(0),
            idle: AtomicBool::new(false),
            multiplexed: AtomicBool::new(false),
            limits,
        };
        Arc::new(progress)
    }

    /// A request has been read up to the end of its head; it ends when the answer is dropped.
    pub(super) fn request(self: &Arc<Self>, version: http::Version) -> InFlight {
        if version == http::Version::HTTP_2 {
            self.multiplexed.store(true, Ordering::Relaxed);
        }
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.idle.store(false, Ordering::Relaxed);
        self.deadline.store(NEVER, Ordering::Relaxed);
        InFlight(self.clone())
    }

    /// Whether nothing is asked and nothing is on the way.
    pub(super) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    fn ended(&self) {
        if self.in_flight.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.idle.store(true, Ordering::Relaxed);
            self.deadline.store(self.after(self.limits.idle), Ordering::Relaxed);
        }
    }

    fn read(&self) {
        if !self.multiplexed.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::Relaxed) {
            self.deadline.store(self.after(self.limits.head), Ordering::Relaxed);
        }
    }

    fn wrote(&self, went: bool) {
        if went {
            self.stalled.store(NEVER, Ordering::Relaxed);
        } else if self.stalled.load(Ordering::Relaxed) == NEVER {
            self.stalled.store(self.after(self.limits.write), Ordering::Relaxed);
        }
    }

    fn after(&self, span: Duration) -> u64 {
        millis(self.opened.elapsed() + span)
    }

    fn until(&self) -> u64 {
        self.deadline.load(Ordering::Relaxed).min(self.stalled.load(Ordering::Relaxed))
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(NEVER)
}

/// Ready when the deadline has passed. To be polled after the connection, so that it sees what that has changed.
pub(super) struct Expiry {
    progress: Arc<Progress>,
    armed: u64,
    sleep: Pin<Box<Sleep>>,
}

impl Expiry {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        let armed = progress.until();
        let sleep = Box::pin(tokio::time::sleep_until(progress.opened + Duration::from_millis(armed)));
        Self { progress, armed, sleep }
    }
}

impl Future for Expiry {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let until = self.progress.until();
        if until == NEVER {
            return Poll::Pending;
        }
        if until != self.armed {
            self.armed = until;
            let at = self.progress.opened + Duration::from_millis(until);
            self.sleep.as_mut().reset(at);
        }
        self.sleep.as_mut().poll(context)
    }
}

/// One request on the way; dropping it says that it is over.
pub(super) struct InFlight(Arc<Progress>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.ended();
    }
}

/// A stream that reports when bytes come and when they cannot go.
pub(super) struct Watched<S> {
    stream: S,
    progress: Arc<Progress>,
    bare: Bare,
    /// Of an answer that was dressed: what is not sent yet.
    owed: Vec<u8>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, progress: Arc<Progress>, bare: Bare) -> Self {
        Self { stream, progress, bare, owed: Vec::new() }
    }

    /// hyper answers by itself, and past every layer, what it cannot parse.
    fn dressed(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.progress.in_flight.load(Ordering::Relaxed) > 0
            || self.progress.multiplexed.load(Ordering::Relaxed)
        {
            return None;
        }
        self.bare.dressed(bytes)
    }

    fn report<T>(&self, polled: Poll<T>) -> Poll<T> {
        self.progress.wrote(polled.is_ready());
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.progress.read();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn poll_owed(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.owed.is_empty() {
            let polled = Pin::new(&mut self.stream).poll_write(context, &self.owed);
            let sent = ready!(self.report(polled))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.owed.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_owed(context))?;
        if let Some(dressed) = self.dressed(bytes) {
            self.owed = dressed;
            // What does not go now goes with the flush that follows every answer.
            if let Poll::Ready(Err(error)) = self.poll_owed(context) {
                return Poll::Ready(Err(error));
            }
            return Poll::Ready(Ok(bytes.len()));
        }
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.report(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices {
            return self.poll_write(context, only);
        }
        ready!(self.poll_owed(context))?;
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.report(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_owed(context))?;
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.report(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_owed(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// An answer's body that keeps its request on the way until it is sent.
pub(super) struct Answering<B> {
    pub(super) body: B,
    pub(super) _request: InFlight,
}

impl<B: Body + Unpin> Body for Answering<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A request's body that must be complete in time.
pub(super) struct InTime<B> {
    body: B,
    until: Pin<Box<Sleep>>,
}

impl<B> InTime<B> {
    pub(super) fn new(body: B, span: Duration) -> Self {
        Self { body, until: Box::pin(tokio::time::sleep_until(Instant::now() + span)) }
    }
}

/// The body was not complete in time.
#[derive(Debug, thiserror::Error)]
#[error("the request's body was not complete in time")]
pub struct TooSlow;

impl<B> Body for InTime<B>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = B::Data;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.until.as_mut().poll(context));
        Poll::Ready(Some(Err(TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
