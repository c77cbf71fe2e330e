//! `GET /mcp`: the stream of a session of the legacy era, on which it is told that a link which `-32042` gave it is done
//! with (E13). Links that were given within a call are told of on that call's stream and not here (M29).
//!
//! The stream is of one session: no other is told, of the same person or of another (E14). It ends with that session, by whichever
//! process, and with the token that opened it (P17).

use std::convert::Infallible;

use axum::{body::Bytes, http::HeaderMap, response::Response};
use consentry_elicitation::{COMPLETE_METHOD, ElicitationComplete, Prefer};
use futures_util::{future::select_all, stream::unfold};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Mcp,
    door::Caller,
    fault::Fault,
    headers, legacy,
    pace::Seat,
    stream::{frame, heartbeat, stream},
};
use crate::{
    clock::Millis,
    signal::{Kind, Signal},
    signals::{Feed, Told},
    store::StoreError,
    subject::Subject,
};

/// Opens it.
pub(super) async fn open(mcp: &Mcp, caller: &Caller, all: &HeaderMap) -> Result<Response, Fault> {
    if !headers::accepts(all, "text/event-stream") {
        return Err(Fault::not_acceptable("Accept `text/event-stream`."));
    }
    let version = headers::version(all)?;
    // The modern era has no such stream.
    if version.is_some_and(headers::is_modern) {
        return Err(Fault::method_not_allowed());
    }
    let session = legacy::session(mcp, caller, all, version).await?;
    let seat = mcp.seats.take(&caller.subject)?;
    let mut feeds = Vec::new();
    for server in mcp.servers() {
        feeds.push(Feed::open(&mcp.app, &server.id, None).await?);
    }
    let reader = Reader {
        mcp: mcp.clone(),
        owner: caller.subject.clone(),
        reference: session.reference(Prefer::Error),
        session: session.key,
        until: caller.until.map_or(session.expires_at(), |until| until.min(session.expires_at())),
        feeds,
        begun: false,
        _seat: seat,
    };
    Ok(stream(unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((Ok::<Bytes, Infallible>(frame), reader))
    })))
}

struct Reader {
    mcp: Mcp,
    owner: Subject,
    reference: String,
    session: Uuid,
    until: Millis,
    feeds: Vec<Feed>,
    begun: bool,
    _seat: Seat,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.begun, true) {
            // Something to read at once, so that the client knows that it is connected.
            return Some(heartbeat());
        }
        loop {
            let coming = select_all(self.feeds.iter_mut().map(|feed| Box::pin(feed.next())));
            let told = tokio::select! {
                (told, _, _) = coming => told,
                () = self.mcp.app.clock.sleep_until(self.until) => return None,
            };
            match told {
                Ok(Told::Signal(signal)) => match self.notification(&signal).await {
                    Ok(Some(message)) => return Some(frame(&message)),
                    Ok(None) => {}
                    Err(error) => return self.failed(&error),
                },
                Ok(Told::Nothing) => match self.mcp.app.store.mcp_session_ended(self.session).await {
                    Ok(false) => return Some(heartbeat()),
                    Ok(true) => return None,
                    Err(error) => return self.failed(&error),
                },
                Ok(Told::Draining) => return None,
                Err(error) => return self.failed(&error),
            }
        }
    }

    /// What this session is told of a signal.
    async fn notification(&self, signal: &Signal) -> Result<Option<Value>, StoreError> {
        if signal.kind != Kind::ElicitationCompleted || signal.subject != self.owner {
            return Ok(None);
        }
        let Some(id) = signal.elicitation else { return Ok(None) };
        let asked = self.mcp.app.store.elicitation_of(&signal.server, id).await?;
        let is_mine = asked.is_some_and(|asked| asked.client_ref == self.reference);
        let params = ElicitationComplete::new(id.to_string());
        Ok(is_mine.then(|| json!({ "jsonrpc": "2.0", "method": COMPLETE_METHOD, "params": params })))
    }

    fn failed(&self, error: &StoreError) -> Option<Bytes> {
        self.mcp.app.metrics.store_error(error);
        tracing::warn!(%error, "a stream of the MCP endpoint ends because the store failed");
        None
    }
}
