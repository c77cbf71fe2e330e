//! `GET /v1/events`: the MCP server's signals, as a stream that can be taken up again, or page by page.
//!
//! The key is taken from a header alone, never from the URL (R116). Everything told is the caller's own (R16).

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream::unfold;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    media_type::accepted,
    signals::{self, Event, Feed, Told},
};

use super::{
    Api,
    answer::json,
    auth::Caller,
    input::{Query, number, one},
    pace::OpenStream,
    problem::{Code, Problem, ProblemBody},
};

/// Events on a page, at most and when nobody says.
const PAGE_MAX: i64 = 200;
const PAGE: i64 = 100;
/// The shortest pause before a reader should connect again, in milliseconds; up to as much again is added, so that
/// not all come at once.
const RETRY_MS: u64 = 1_000;

/// A page of events.
#[derive(Serialize, ToSchema)]
#[schema(as = Events)]
struct Page {
    /// In the order of their sequence.
    events: Vec<Event>,
    /// What to pass as `after` for what comes next; the same as before when there was nothing.
    next: i64,
}

/// What happened to this MCP server's elicitations and connections, as server-sent events or as a page of JSON.
#[utoipa::path(
    get,
    path = "/v1/events",
    operation_id = "readEvents",
    tag = "events",
    params(
        ("Last-Event-ID" = Option<i64>, Header, description = "Goes on behind this event; from now on when left out"),
        ("after" = Option<i64>, Query, minimum = 0, description = "A page: events behind this sequence; 0 when left out"),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 200, description = "A page: at most so many; 100 when left out"),
    ),
    responses(
        (status = 200, description = "A page, or with `Accept: text/event-stream` the stream", content(
            (Page = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn events(caller: Caller, headers: HeaderMap, query: Query) -> Result<Response, Problem> {
    match wanted(&headers)? {
        Wanted::Page => page(&caller, &query.only(&["after", "limit"])?).await,
        Wanted::Stream => {
            let query = query.only(&["after"])?;
            let resumed = one(&headers, "last-event-id")?;
            let resumed = resumed.map(|id| number("last-event-id", id, 0, i64::MAX)).transpose()?;
            let after = resumed.or(query.number("after", 0, i64::MAX)?);
            stream(&caller, after).await
        }
    }
}

enum Wanted {
    Page,
    Stream,
}

/// What the reader accepts (RFC 9110, section 12.5.1); a stream is only sent to one that names it.
fn wanted(headers: &HeaderMap) -> Result<Wanted, Problem> {
    let mut named = false;
    for kind in accepted(headers) {
        match kind.as_str() {
            "text/event-stream" => return Ok(Wanted::Stream),
            "application/json" | "application/*" | "*/*" => named = true,
            _ => {}
        }
    }
    if named || !headers.get_all(header::ACCEPT).iter().any(|value| value.to_str().is_ok()) {
        return Ok(Wanted::Page);
    }
    Err(Problem::new(Code::NotAcceptable, "Accept `text/event-stream` or `application/json`."))
}

async fn page(caller: &Caller, query: &Query) -> Result<Response, Problem> {
    let after = query.number("after", 0, i64::MAX)?.unwrap_or(0);
    let limit = query.number("limit", 1, PAGE_MAX)?.unwrap_or(PAGE);
    let limit = u32::try_from(limit).map_err(|_| Problem::internal())?;
    let signals = caller.app.store.signals_after(&caller.server().id, after, limit).await?;
    let next = signals.last().map_or(after, |last| last.sequence);
    json(StatusCode::OK, &Page { events: signals.iter().map(Event::from).collect(), next })
}

async fn stream(caller: &Caller, after: Option<i64>) -> Result<Response, Problem> {
    let place = OpenStream::enter(&caller.api, caller.index)?;
    let feed = Feed::open(&caller.app, &caller.server().id, after).await?;
    let api = caller.api.clone();
    let reader = Reader { feed: Some(feed), begun: false, api, _place: place };
    let frames = unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(frame), reader))
    });
    Ok((signals::stream_headers(), Body::from_stream(frames)).into_response())
}

/// One open stream. It is asked for a frame only when the reader has taken the one before.
struct Reader {
    /// None when the last frame is out.
    feed: Option<Feed>,
    begun: bool,
    api: Api,
    _place: OpenStream,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        let feed = self.feed.as_mut()?;
        if !std::mem::replace(&mut self.begun, true) {
            // Something to read at once: it is connected, and this is where to go on, should it break off before an event.
            return Some(format!(": connected\nid: {}\n\n", feed.after()).into());
        }
        match feed.next().await {
            Ok(Told::Signal(signal)) => Some(frame(&Event::from(&*signal))),
            Ok(Told::Nothing) => Some(Bytes::from_static(signals::STILL_HERE)),
            Ok(Told::Draining) => Some(self.last_frame()),
            Err(error) => {
                self.api.app.metrics.store_error(&error);
                tracing::warn!(%error, "a stream ends because the store failed");
                Some(self.last_frame())
            }
        }
    }

    /// Says when to come back, and ends.
    fn last_frame(&mut self) -> Bytes {
        self.feed = None;
        let wait = RETRY_MS + self.api.app.random.below(RETRY_MS);
        format!("retry: {wait}\n\n").into()
    }
}

/// One event of the stream (WHATWG HTML, "Server-sent events"). JSON is one line.
fn frame(event: &Event) -> Bytes {
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: {}\ndata: {data}\n\n", event.data.sequence, event.kind).into()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::{
        clock::Millis,
        connection::ConnectionId,
        elicitation::ElicitationId,
        signal::{Kind, Signal, SignalId},
        subject::Subject,
    };

    /// A reader by the letter of WHATWG HTML, section 9.2.6: what it dispatches, and the last event id.
    fn read(stream: &[u8]) -> Vec<(String, String, String)> {
        let text = String::from_utf8(stream.to_vec()).unwrap();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n").replace('\r', "\n");
        let (mut events, mut data, mut kind, mut id) =
            (Vec::new(), String::new(), String::new(), String::new());
        for line in text.split('\n') {
            if line.is_empty() {
                if let Some(data) = std::mem::take(&mut data).strip_suffix('\n') {
                    events.push((id.clone(), std::mem::take(&mut kind), data.to_owned()));
                }
                kind.clear();
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut kind),
                "data" => data.push_str(&format!("{value}\n")),
                "id" if !value.contains('\0') => value.clone_into(&mut id),
                _ => {}
            }
        }
        events
    }

    proptest! {
        /// Z16: whatever an event carries, a reader gets that event and no field or event beside it.
        #[test]
        fn z16_nothing_in_an_event_can_add_a_field(
            texts in proptest::collection::vec(("[\\PC\r\n\0:\u{85}\u{2028}\u{feff}]{0,40}", any::<String>(), any::<String>()), 1..4),
            sequence in 1..i64::MAX / 2,
            kind in proptest::sample::select(&Kind::ALL),
        ) {
            let events: Vec<Event> = (sequence..).zip(&texts).map(|(sequence, (client_ref, sub, reason))| Event::from(&Signal {
                id: SignalId(Uuid::from_u128(1)),
                server: "files".parse().unwrap(),
                sequence,
                kind,
                elicitation: Some(ElicitationId(Uuid::from_u128(2))),
                connection: Some(ConnectionId(Uuid::from_u128(3))),
                provider: "github".parse().unwrap(),
                subject: Subject::new("https://id.example", sub.as_str())
                    .unwrap_or_else(|_| Subject::new("https://id.example", "alice").unwrap()),
                client_ref: client_ref.clone(),
                reason: Some(reason.clone()),
                legacy: true,
                at: Millis(sequence),
            })).collect();
            let sent: Vec<u8> = events.iter().flat_map(|event| frame(event).to_vec()).collect();
            let got = read(&sent);
            prop_assert_eq!(got.len(), events.len());
            for (event, (id, kind, data)) in events.iter().zip(got) {
                prop_assert_eq!(&id, &event.data.sequence.to_string());
                prop_assert_eq!(&kind, event.kind);
                let data: serde_json::Value = serde_json::from_str(&data).unwrap();
                prop_assert_eq!(data, serde_json::to_value(event).unwrap());
            }
        }
    }

    fn accepting(values: &[&'static str]) -> Result<Wanted, Problem> {
        wanted(&values.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value))).collect())
    }

    #[test]
    fn a_stream_goes_only_to_whoever_names_it() {
        for stream in
            [&["text/event-stream"][..], &["application/json, text/event-stream"], &["Text/Event-Stream;q=1"]]
        {
            assert!(matches!(accepting(stream), Ok(Wanted::Stream)), "{stream:?}");
        }
        for page in [&[][..], &["*/*"], &["application/json"], &["text/html, application/*;q=0.5"]] {
            assert!(matches!(accepting(page), Ok(Wanted::Page)), "{page:?}");
        }
        for none in [&["text/html"][..], &["application/json;q=0"]] {
            assert!(accepting(none).is_err(), "{none:?}");
        }
    }
}
