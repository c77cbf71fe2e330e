//! What can go wrong. No error holds a body, a URL or a secret: subjects stand in queries, tokens in answers.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// A call that gave no answer.
///
/// ```
/// use consentry_client::{Client, Error};
///
/// let error = Client::new("ftp://127.0.0.1/", "key").unwrap_err();
/// assert!(matches!(error, Error::Setup(_)));
/// assert_eq!(error.to_string(), "the base URL is neither http nor https");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot be made with what it was given.
    #[error("{0}")]
    Setup(&'static str),
    /// The server was not reached, or the connection broke or took too long.
    #[error("the connection to Consentry failed")]
    Transport(#[source] reqwest::Error),
    /// The server refused, and said why.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// The server refused in words that are not its own: something stands between.
    #[error("an unexpected status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// The answer is not what it should be, or too long.
    #[error("an answer that cannot be read: {0}")]
    Unreadable(&'static str),
}

impl Error {
    /// The problem that the server stated, if it did.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        if let Self::Problem(problem) = self { Some(problem) } else { None }
    }

    /// The stable code of the problem, if the server stated one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.problem().map(|problem| problem.code.as_str())
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::Transport(error.without_url())
    }
}

/// `application/problem+json` (RFC 9457) as the server writes it.
///
/// ```
/// use consentry_client::Problem;
///
/// let problem: Problem = serde_json::from_str(
///     r#"{ "title": "Scope not allowed", "status": 400, "code": "scope_not_allowed", "request_id": "r-1" }"#,
/// )?;
/// assert_eq!(problem.to_string(), "Scope not allowed (scope_not_allowed, 400, request r-1)");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// Which problem, in a word that stays the same: `scope_not_allowed`, `provider_unavailable`, ...
    pub code: String,
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// The problem in a few words.
    #[serde(default)]
    pub title: String,
    /// This occurrence of it.
    pub detail: Option<String>,
    /// For finding it in the server's log.
    pub request_id: Option<String>,
    /// How long the server asks to wait before another try.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({}, {}", self.title, self.code, self.status)?;
        if let Some(id) = &self.request_id {
            write!(out, ", request {id}")?;
        }
        out.write_str(")")
    }
}

impl std::error::Error for Problem {}
