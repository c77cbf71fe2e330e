//! The issuer's keys: found by its metadata, kept for a while, renewed when a token names one that is not among them,
//! and never asked for more often than the pauses here allow.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use consentry_jwt::{Jws, KeySet, Refused};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};
use url::Url;

use crate::{Refusal, settings};

/// How long keys are used without asking; as long, a key that was withdrawn still counts.
const FRESH: Duration = Duration::from_mins(5);
/// How long they are used while the issuer does not answer.
const STALE: Duration = Duration::from_hours(1);
/// After a failure nobody is asked for this long.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);
/// Keys are looked for out of turn (for a token whose key is unknown) at most once in this span.
const FORCED_PAUSE: Duration = Duration::from_mins(1);
/// How long a document may take, and how large it may be, in bytes.
const PATIENCE: Duration = Duration::from_secs(10);
const BYTES_MAX: usize = 1024 * 1024;

pub(crate) struct Keys {
    issuer: Url,
    issuer_id: String,
    jwks: Option<Url>,
    http: reqwest::Client,
    state: Mutex<State>,
    /// Held while fetching, so that many requests at once fetch once.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, Instant)>,
    failed: Option<Instant>,
    forced: Option<Instant>,
}

impl Keys {
    pub(crate) fn new(issuer: Url, issuer_id: String, jwks: Option<Url>) -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "another process's client, with limits of its own")]
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .timeout(PATIENCE)
            .build()
            .ok()?;
        Some(Self {
            issuer,
            issuer_id,
            jwks,
            http,
            state: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// The claims of a token that one of the issuer's keys has signed.
    pub(crate) async fn verified(&self, jws: &Jws<'_>) -> Result<Map<String, Value>, Refusal> {
        let known = self.current().await?;
        match jws.verify(&known) {
            Err(Refused::Signature) => {}
            decided => return Ok(decided?),
        }
        match self.out_of_turn().await {
            Some(keys) => Ok(jws.verify(&keys)?),
            None => Err(Refused::Signature.into()),
        }
    }

    async fn current(&self) -> Result<Arc<KeySet>, Refusal> {
        if let Some(keys) = self.known(FRESH) {
            return Ok(keys);
        }
        let _turn = match (self.fetching.try_lock(), self.known(STALE)) {
            (Ok(turn), _) => turn,
            // Somebody is asking already: what is a little old serves until they have the answer.
            (Err(_), Some(stale)) => return Ok(stale),
            (Err(_), None) => self.fetching.lock().await,
        };
        if self.known(FRESH).is_none() && !self.has_just_failed() {
            self.fetch().await;
        }
        self.known(STALE).ok_or(Refusal::Unavailable)
    }

    async fn out_of_turn(&self) -> Option<Arc<KeySet>> {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.forced.is_some_and(|at| at.elapsed() < FORCED_PAUSE) {
                return None;
            }
            state.forced = Some(Instant::now());
        }
        let _turn = self.fetching.lock().await;
        self.fetch().await
    }

    fn known(&self, age: Duration) -> Option<Arc<KeySet>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let usable = state.keys.as_ref().filter(|(_, at)| at.elapsed() < age);
        usable.map(|(keys, _)| Arc::clone(keys))
    }

    fn has_just_failed(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed.is_some_and(|at| at.elapsed() < FAILURE_PAUSE)
    }

    async fn fetch(&self) -> Option<Arc<KeySet>> {
        let fetched = timeout(PATIENCE, self.fetch_all()).await.ok().flatten().map(Arc::new);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &fetched {
            Some(keys) => {
                state.keys = Some((Arc::clone(keys), Instant::now()));
                state.failed = None;
            }
            None => {
                tracing::warn!(issuer = %self.issuer_id, "the authorization server's keys cannot be had");
                state.failed = Some(Instant::now());
            }
        }
        fetched
    }

    async fn fetch_all(&self) -> Option<KeySet> {
        let jwks = match &self.jwks {
            Some(jwks) => jwks.clone(),
            None => self.discover().await?,
        };
        KeySet::parse(&self.document(jwks).await?).filter(|keys| !keys.is_empty())
    }

    /// OpenID Connect Discovery behind the issuer's path, RFC 8414 before it. The document must name the very issuer.
    async fn discover(&self) -> Option<Url> {
        let path = self.issuer.path().trim_end_matches('/');
        let locations = [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ];
        for location in locations {
            let mut url = self.issuer.clone();
            url.set_path(&location);
            let Some(document) = self.document(url).await else { continue };
            if document.get("issuer").and_then(Value::as_str) != Some(&self.issuer_id) {
                return None;
            }
            let jwks = document.get("jwks_uri").and_then(Value::as_str).and_then(settings::url);
            // Plain http is a loopback issuer's alone.
            return jwks.filter(|jwks| jwks.scheme() == "https" || self.issuer.scheme() == "http");
        }
        None
    }

    async fn document(&self, url: Url) -> Option<Map<String, Value>> {
        let mut response = self.http.get(url).send().await.ok()?;
        if response.status() != reqwest::StatusCode::OK {
            return None;
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            if body.len() + chunk.len() > BYTES_MAX {
                return None;
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).ok()
    }
}
