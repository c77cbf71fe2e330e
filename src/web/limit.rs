//! How many requests one address may make (R49, R53).
//!
//! The address is the rightmost hop that no trusted proxy vouches for, so that no header resets a limit. Counting is
//! for each address by itself: nobody is refused because of others.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};

use crate::{app::App, identity::SessionLife, pace::Pace, secret::Hash};

use super::{client_ip::ClientIp, here::Here, pages};

/// The count of requests by address.
#[derive(Clone)]
pub struct ByAddress {
    app: App,
    pace: Arc<Pace<IpAddr>>,
    sessions: Arc<Pace<Hash>>,
}

impl ByAddress {
    /// A fresh count, as the settings say.
    pub fn new(app: &App) -> Self {
        let per_minute = app.settings.limits.requests_per_minute;
        let pace = Arc::new(Pace::per_minute(per_minute, app.clock.clone()));
        let sessions = Arc::new(Pace::per_minute(per_minute, app.clock.clone()));
        Self { app: app.clone(), pace, sessions }
    }

    /// Somebody who is signed in is not refused because of others behind the same address: a live session has a
    /// count of its own.
    async fn lets_session(&self, here: &Here) -> bool {
        let Some(session) = here.session() else { return false };
        if self.sessions.check(&session).is_err() {
            return false;
        }
        let now = self.app.clock.now();
        let idle_since = SessionLife::of(&self.app.settings.lifetimes).idle_since(now);
        matches!(self.app.store.session(&session, now, idle_since).await, Ok(Some(_)))
    }
}

/// Refuses what is too much, with the time to wait. Health checks and static files are free.
pub async fn by_address(State(count): State<ByAddress>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_free = path == "/livez" || path.starts_with("/static/");
    let client = request.extensions().get::<ClientIp>().filter(|_| !is_free);
    let Some(Err(wait)) = client.map(|client| count.pace.check(&client.counted())) else {
        return next.run(request).await;
    };
    let here = Here::of(&count.app, request.headers(), request.extensions());
    if count.lets_session(&here).await {
        return next.run(request).await;
    }
    let seconds = wait.as_secs().saturating_add(1);
    let mut response = here.show(&pages::TooManyRequests { frame: here.frame(), retry_after: seconds });
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}
