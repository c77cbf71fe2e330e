//! Sending, trying again where that is safe, and reading no more than is reasonable.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::{Error, Problem};

/// Longest answer that is read, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// For an answer that the server need not wait for.
    pub(crate) timeout: Duration,
    /// How often a call is sent at most.
    pub(crate) attempts: u32,
    /// Before the second try; doubled before each further one.
    pub(crate) backoff: Duration,
    /// A longer wait than this is left to the caller.
    pub(crate) longest_wait: Duration,
}

pub(crate) struct Transport {
    pub(crate) http: reqwest::Client,
    pub(crate) base: Url,
    pub(crate) policy: Policy,
}

/// One call, which may be sent several times.
pub(crate) struct Call<'a> {
    method: Method,
    path: &'a [&'a str],
    query: Option<String>,
    body: Option<Vec<u8>>,
    idempotency_key: Option<&'a str>,
    /// How long the server may hold the answer by intent.
    wait: Duration,
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: None, body: None, idempotency_key: None, wait: Duration::ZERO }
    }

    pub(crate) fn query(mut self, query: String) -> Self {
        self.query = Some(query).filter(|query| !query.is_empty());
        self
    }

    pub(crate) fn body(mut self, body: &impl Serialize) -> Result<Self, Error> {
        self.body = Some(serde_json::to_vec(body).map_err(|_| Error::Unreadable("the request"))?);
        Ok(self)
    }

    pub(crate) fn idempotency_key(mut self, key: Option<&'a str>) -> Self {
        self.idempotency_key = key;
        self
    }

    pub(crate) fn wait(mut self, seconds: u8) -> Self {
        self.wait = Duration::from_secs(seconds.into());
        self
    }

    /// Sending it twice does nothing that sending it once does not.
    fn repeatable(&self) -> bool {
        self.method == Method::GET || self.idempotency_key.is_some()
    }
}

impl Transport {
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        // Only URLs that cannot be a base have no segments; the builder refuses those.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Error> {
        let body = self.send(call).await?;
        // A message of the reader could quote a token.
        serde_json::from_slice(&body).map_err(|_| Error::Unreadable("not of the expected form"))
    }

    /// Sends, and returns the body of a success.
    pub(crate) async fn send(&self, call: &Call<'_>) -> Result<Vec<u8>, Error> {
        let mut attempt = 1;
        loop {
            let failure = match self.once(call).await {
                Ok(body) => return Ok(body),
                Err(failure) => failure,
            };
            let wait =
                if attempt < self.policy.attempts { self.wait_before(attempt, call, &failure) } else { None };
            let Some(wait) = wait else { return Err(failure) };
            pause(wait).await;
            attempt += 1;
        }
    }

    async fn once(&self, call: &Call<'_>) -> Result<Vec<u8>, Error> {
        let mut url = self.url(call.path);
        url.set_query(call.query.as_deref());
        let mut request =
            self.http.request(call.method.clone(), url).timeout(self.policy.timeout + call.wait);
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(key) = call.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        let response = accepted(request).await?;
        read(response).await
    }

    /// How long to wait before trying again, or `None` when that is not safe or not worth it.
    fn wait_before(&self, attempt: u32, call: &Call<'_>, failure: &Error) -> Option<Duration> {
        let asked = match failure {
            Error::Transport(error) if error.is_connect() || call.repeatable() => None,
            Error::Problem(problem) => match (problem.status, problem.retry_after) {
                (503, Some(after)) => Some(after),
                (429 | 502 | 503 | 504, after) if call.repeatable() => after,
                _ => return None,
            },
            Error::Status { status: 502..=504 } if call.repeatable() => None,
            _ => return None,
        };
        let wait = asked.unwrap_or_else(|| self.policy.backoff.saturating_mul(1 << (attempt - 1).min(16)));
        (wait <= self.policy.longest_wait).then_some(wait)
    }
}

/// Sends once; whatever is not a success is an error.
pub(crate) async fn accepted(request: RequestBuilder) -> Result<Response, Error> {
    let response = request.send().await?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let problem = serde_json::from_slice::<Problem>(&read(response).await?).ok();
    Err(problem
        .map_or(Error::Status { status: status.as_u16() }, |problem| stated(problem, status, retry_after)))
}

fn stated(mut problem: Problem, status: StatusCode, retry_after: Option<Duration>) -> Error {
    problem.status = status.as_u16();
    problem.retry_after = retry_after;
    Error::Problem(Box::new(problem))
}

async fn read(mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > LONGEST {
            return Err(Error::Unreadable("too long"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[expect(clippy::disallowed_methods, reason = "a library in another process has no clock of the server's")]
pub(crate) async fn pause(wait: Duration) {
    tokio::time::sleep(wait).await;
}
