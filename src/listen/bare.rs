//! Answers that hyper makes by itself to what it cannot parse: they get the headers that every answer of the listener
//! has.
//!
//! They pass no layer and no service, so that they are known by their bytes: a complete head that says an error and no
//! body, written while no request is under way, without any of the headers. (What HTTP/2 refuses it refuses by frames.)

use std::sync::Arc;

use http::{HeaderName, HeaderValue};

const END: &[u8] = b"\r\n\r\n";

/// The headers of such answers, as lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Bare {
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
        Self { lines: lines.into(), mark: mark.into() }
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
