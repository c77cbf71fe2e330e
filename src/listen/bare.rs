//! Answers that hyper makes by itself to what it cannot parse: they get the headers that every answer of the listener
//! has.
//!
//! They pass no layer and no service, so that they are known by their bytes: a complete head that says an error and no
//! body, written while no request is under way, without any of the headers. HTTP/2 refuses by frames, except for a head
//! that is too big: that one is refused here, before the router, up to a size that is refused by the frames' own layer.

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version};

use super::Limits;

const END: &[u8] = b"\r\n\r\n";

/// The headers of such answers, as lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Bare {
    headers: Arc<[(HeaderName, HeaderValue)]>,
    lines: Arc<[u8]>,
    /// Whichever of them is there says that the answer is not bare.
    mark: Arc<str>,
}

impl Bare {
    pub(super) fn new(headers: &[(HeaderName, HeaderValue)]) -> Self {
        let mut lines = Vec::new();
        for (name, value) in headers {
            for part in [b"\r\n", name.as_str().as_bytes(), b": ", value.as_bytes()] {
                lines.extend_from_slice(part);
            }
        }
        let mark = headers.first().map_or(String::new(), |(name, _)| format!("\r\n{name}: "));
        Self { headers: headers.into(), lines: lines.into(), mark: mark.into() }
    }

    /// The answer to an HTTP/2 request whose head is beyond the limits; HTTP/1.1's are refused while they are read.
    pub(super) fn refusal<B>(&self, request: &Request<B>, limits: &Limits) -> Option<Response<Body>> {
        let fits = request.headers().len() <= limits.headers && head_bytes(request) <= limits.head_bytes;
        if fits || request.version() != Version::HTTP_2 {
            return None;
        }
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        for (name, value) in self.headers.iter() {
            answer.headers_mut().append(name, value.clone());
        }
        Some(answer)
    }

    /// The answer with the headers, when it is one of hyper's own.
    pub(super) fn dressed(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let head = answer.strip_suffix(END).filter(|_| !self.lines.is_empty())?;
        let head = std::str::from_utf8(head).ok().filter(|head| !head.contains("\r\n\r\n"))?;
        let is_own = (head.starts_with("HTTP/1.1 4") || head.starts_with("HTTP/1.0 4"))
            && head.contains("\r\ncontent-length: 0")
            && !head.contains(&*self.mark);
        is_own.then(|| [head.as_bytes(), &self.lines, END].concat())
    }
}

/// As HTTP/2 counts a head (RFC 9113, section 6.5.2): 32 bytes beside each name and value.
fn head_bytes<B>(request: &Request<B>) -> usize {
    let fields = |headers: &HeaderMap| -> usize {
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
    };
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let authority = request.uri().authority().map_or(0, |authority| authority.as_str().len());
    fields(request.headers()) + target + authority + 4 * 40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_is_complete_and_bare_is_dressed() {
        let bare = Bare::new(&[
            (http::header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
            (http::header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ]);
        let own = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        let dressed = bare.dressed(own).unwrap();
        let expected = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nx-frame-options: DENY\r\ncache-control: no-store\r\n\r\n";
        assert_eq!(String::from_utf8(dressed.clone()).unwrap(), expected);
        assert!(bare.dressed(&dressed).is_none());
        for other in [
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nab",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n",
            "\r\n\r\n",
        ] {
            assert!(bare.dressed(other.as_bytes()).is_none(), "{other:?}");
        }
        assert!(Bare::default().dressed(own).is_none());
    }
}
