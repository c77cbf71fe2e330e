//! What nobody read of a request's body, before it is answered.
//!
//! A body may be refused before it is here: it is too long, or it is not its turn. HTTP/1 has no way to say "stop" to whoever
//! sends it. If the answer went out and the connection were closed with bytes unread, the system would reset it, and the
//! client would see a broken pipe in place of the answer that says what to do (RFC 9112, section 9.6). So the rest is read
//! and thrown away first. What it must never do: keep any of it, read without a limit, or call for a body that the client
//! holds back until it is asked for (`Expect: 100-continue`, RFC 9110, section 10.1.1).

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use http::{Request, Version, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Buf, Frame, SizeHint};

/// The most that is thrown away. Who sends more than this beyond the limit may see a broken pipe.
const MOST: usize = 8 << 20;

/// Where a body comes back to when its reader drops it.
pub(super) struct Rest<B>(Option<Place<B>>);

type Place<B> = Arc<Mutex<Option<B>>>;

/// A body that comes back when it is dropped before its end.
pub(super) struct Lent<B: Body + Unpin> {
    body: Option<B>,
    place: Option<Place<B>>,
}

impl<B: Body + Unpin> Rest<B> {
    /// The request with its body lent to its reader. HTTP/2 ends a stream without the connection, so it lends nothing.
    pub(super) fn of(request: Request<B>) -> (Self, Request<Lent<B>>) {
        let held_back = request.headers().contains_key(header::EXPECT);
        let place = (request.version() <= Version::HTTP_11 && !held_back).then(Place::default);
        let request = request.map(|body| Lent { body: Some(body), place: place.clone() });
        (Self(place), request)
    }

    /// Reads what is left, within [`MOST`] and the body's own time.
    pub(super) async fn discard(self) {
        let Some(place) = self.0 else { return };
        let body = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut body) = body else { return };
        let mut left = MOST;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(still) = left.checked_sub(frame.data_ref().map_or(0, Buf::remaining)) else { return };
            left = still;
        }
    }
}

impl<B: Body + Unpin> Drop for Lent<B> {
    fn drop(&mut self) {
        if let (Some(body), Some(place)) = (self.body.take(), &self.place)
            && !body.is_end_stream()
        {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl<B: Body + Unpin> Body for Lent<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.body.as_mut() {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
