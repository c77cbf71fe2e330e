//! Queries and forms, read strictly: bounded, UTF-8, and no name twice (R52).

use axum::{
    body::Bytes,
    http::{HeaderMap, header},
};

/// Names in one query or form.
const NAMES_MAX: usize = 64;

/// The parameters of a query or a form.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(String, String)>);

/// A query or form that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A name stands twice, or there are too many.
    #[error("a parameter is given twice")]
    Twice,
    /// Not a form.
    #[error("not a form")]
    MediaType,
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    Encoding,
}

impl Parameters {
    /// Every pair, in order, also a name that stands twice; for the callback, which refuses it itself.
    pub fn pairs(query: &str) -> Vec<(String, String)> {
        url::form_urlencoded::parse(query.as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect()
    }

    /// Reads a query.
    ///
    /// # Errors
    /// When a name stands twice.
    pub fn query(query: Option<&str>) -> Result<Self, ParameterError> {
        let pairs = Self::pairs(query.unwrap_or_default());
        let mut names = std::collections::HashSet::new();
        if pairs.len() > NAMES_MAX || !pairs.iter().all(|(name, _)| names.insert(name.as_str())) {
            return Err(ParameterError::Twice);
        }
        Ok(Self(pairs))
    }

    /// Reads a posted form.
    ///
    /// # Errors
    /// When it is no form, or a name stands twice.
    pub fn form(headers: &HeaderMap, body: &Bytes) -> Result<Self, ParameterError> {
        if !is_form(headers) {
            return Err(ParameterError::MediaType);
        }
        let text = std::str::from_utf8(body).map_err(|_| ParameterError::Encoding)?;
        Self::query(Some(text))
    }

    /// One value.
    pub fn get(&self, wanted: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }
}

/// Whether the body is `application/x-www-form-urlencoded`.
pub fn is_form(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}
