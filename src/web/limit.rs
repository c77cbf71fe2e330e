//! How many requests one address may make, and how many codes it may ask for (R49, R53).
//!
//! The address is the rightmost hop that no trusted proxy vouches for, so that no header resets a limit. Counting is
//! for each address by itself: nobody is refused because of others.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};

use uuid::Uuid;

use crate::{
    app::App, clock::Millis, elicitation::ElicitationId, identity::SessionLife, pace::Pace, secret::Hash,
    store::Visit,
};

use super::{client_ip::ClientIp, here::Here, pages};

/// Codes that one address may ask for, for one elicitation, in a minute; a person needs one.
const CODES_PER_MINUTE: u32 = 30;

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
    here.too_many(wait)
}

/// The count of codes, by address and elicitation.
#[derive(Clone)]
pub struct Codes {
    pace: Arc<Pace<(IpAddr, ElicitationId)>>,
    browsers: Arc<Pace<Uuid>>,
}

impl Codes {
    /// A fresh count.
    pub fn new(app: &App) -> Self {
        let pace = Arc::new(Pace::per_minute(CODES_PER_MINUTE, app.clock.clone()));
        let browsers = Arc::new(Pace::per_minute(CODES_PER_MINUTE, app.clock.clone()));
        Self { pace, browsers }
    }

    /// Counts one. A browser that shows a code already has a count of its own, so that it is not refused because of
    /// others behind the same address: for another code it gives back the one that it has.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check(&self, client: ClientIp, visit: &Visit, now: Millis) -> Result<(), Duration> {
        let Err(wait) = self.pace.check(&(client.counted(), visit.elicitation.id)) else { return Ok(()) };
        match visit.code.as_ref().filter(|code| code.waits(now)) {
            Some(code) => self.browsers.check(&code.browser),
            None => Err(wait),
        }
    }
}

impl Here {
    /// The page for what is too much, with the time to wait.
    pub fn too_many(&self, wait: Duration) -> Response {
        let seconds = wait.as_secs().saturating_add(1);
        let mut response = self.show(&pages::TooManyRequests { frame: self.frame(), retry_after: seconds });
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        response
    }
}
