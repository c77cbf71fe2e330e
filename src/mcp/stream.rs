//! Server-sent events (WHATWG HTML, section 9.2): the messages of one answer, or of a session's own stream.
//!
//! Events have no ids, for nothing is sent again: a client that lost a stream repeats its request.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::stream::unfold;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{app::App, signals};

/// What comes out of a call.
#[derive(Debug)]
pub(super) enum Out {
    /// A request or a notification on the way.
    Message(Value),
    /// The answer; nothing comes behind it.
    Last(Value),
}

/// An answer as a stream: what is there already, and then what comes.
pub(super) fn respond(app: &App, first: Value, rest: mpsc::Receiver<Out>) -> Response {
    let reader = Reader { app: app.clone(), first: Some(first), rest: Some(rest) };
    stream(unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((Ok::<Bytes, Infallible>(frame), reader))
    }))
}

/// A response of frames.
pub(super) fn stream<S>(frames: S) -> Response
where
    S: futures_util::Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
{
    (signals::stream_headers(), Body::from_stream(frames)).into_response()
}

/// One message as an event. JSON is one line.
pub(super) fn frame(message: &Value) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}

/// A sign of life.
pub(super) fn heartbeat() -> Bytes {
    Bytes::from_static(signals::STILL_HERE)
}

struct Reader {
    app: App,
    first: Option<Value>,
    /// None when the answer is out.
    rest: Option<mpsc::Receiver<Out>>,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(frame(&first));
        }
        let rest = self.rest.as_mut()?;
        tokio::select! {
            out = rest.recv() => match out {
                Some(Out::Message(message)) => Some(frame(&message)),
                Some(Out::Last(message)) => {
                    self.rest = None;
                    Some(frame(&message))
                }
                None => None,
            },
            () = self.app.clock.sleep(signals::HEARTBEAT) => Some(heartbeat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A line break in a text is written as an escape, so that no event has a second line.
    #[test]
    fn a_message_is_one_line() {
        let frame = frame(&json!({ "text": "a\n\nevent: b\r\u{2028}data: c" }));
        let text = String::from_utf8(frame.to_vec()).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("event: message\ndata: {") && text.ends_with("}\n\n"));
    }
}
