//! Request parameters as they came: in order, duplicates kept, so that strictness is possible.

use bytes::Bytes;
use http::HeaderMap;
use url::form_urlencoded;

/// Decoded `application/x-www-form-urlencoded` pairs in the order received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(pub(crate) Vec<(String, String)>);

/// Why a token-style request body could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the body is not application/x-www-form-urlencoded")]
    ContentType,
}

impl Parameters {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// A form body; RFC 6749 section 3.2 wants its content type.
    pub(crate) fn form(headers: &HeaderMap, body: &Bytes) -> Result<Self, Unreadable> {
        let media =
            headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        if media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            Ok(Self::parse(body))
        } else {
            Err(Unreadable::ContentType)
        }
    }

    /// The first value of that name; one without a value counts as absent (RFC 6749 section 3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, value)| n == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0
            .iter()
            .filter(|(n, value)| n == name && !value.is_empty())
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// A name that was sent more than once though it may not be; `resource` (RFC 8707) may.
    pub(crate) fn duplicate(&self) -> Option<&str> {
        let mut seen = std::collections::HashSet::new();
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| *name != "resource" && !seen.insert(*name))
    }

    /// Space-separated words of one parameter.
    pub(crate) fn words(&self, name: &str) -> Vec<String> {
        self.get(name).map(words).unwrap_or_default()
    }
}

pub(crate) fn words(list: &str) -> Vec<String> {
    list.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
