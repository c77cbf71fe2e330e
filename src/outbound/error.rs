//! Why there is no answer, sorted by what it means for a request that must not be made twice.
//!
//! What it must never do: call a request unsent that may have arrived; hold a URL, a header or a body.

use std::{error::Error, io};

use super::policy::RefusedTarget;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// We do not send there, or not this.
    #[error("the request was refused here: {0}")]
    Refused(RefusedTarget),
    /// The request cannot be put on the wire, such as a token with a line break.
    #[error("the request cannot be written")]
    Unwritable,
    /// Nothing was sent; it is safe to try again.
    #[error("the request was not sent: {0}")]
    NotSent(NotSent),
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut {
        /// Whether the request may have arrived.
        sent: bool,
    },
    /// The connection ended before the answer was whole; the request may have arrived.
    #[error("the connection ended before the answer was whole")]
    Cut,
    /// The answer's head or body is beyond the limit; the request did arrive.
    #[error("the answer is too large")]
    TooLarge,
    /// What came back is not HTTP; the request may have arrived.
    #[error("the answer is not HTTP")]
    Garbled,
}

/// How far a request came that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The name has no address, or nobody to say so.
    #[error("the name cannot be resolved")]
    Dns,
    /// Nobody listens, or the proxy does not let us through.
    #[error("no connection")]
    Connect,
    /// A certificate that is not trusted, or no common version.
    #[error("TLS failed")]
    Tls,
}

impl OutboundError {
    /// Whether the other side may have acted on the request.
    pub fn maybe_sent(self) -> bool {
        match self {
            Self::Refused(_) | Self::Unwritable | Self::NotSent(_) | Self::TimedOut { sent: false } => false,
            Self::TimedOut { sent: true } | Self::Cut | Self::TooLarge | Self::Garbled => true,
        }
    }

    /// A stable name for logs and metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::Refused(_) => "outbound_refused",
            Self::Unwritable => "outbound_unwritable",
            Self::NotSent(NotSent::Dns) => "outbound_dns",
            Self::NotSent(NotSent::Connect) => "outbound_connect",
            Self::NotSent(NotSent::Tls) => "outbound_tls",
            Self::TimedOut { sent: false } => "outbound_connect_timeout",
            Self::TimedOut { sent: true } => "outbound_timeout",
            Self::Cut => "outbound_cut",
            Self::TooLarge => "outbound_too_large",
            Self::Garbled => "outbound_garbled",
        }
    }

    /// Sorts a failure of the HTTP library. What it does not know counts as sent.
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if let Some(refused) = find::<RefusedTarget>(error) {
            return Self::Refused(*refused);
        }
        if error.is_builder() {
            return Self::Unwritable;
        }
        if error.is_timeout() {
            return Self::TimedOut { sent: !error.is_connect() };
        }
        if error.is_connect() {
            return Self::NotSent(if error.is_dns() {
                NotSent::Dns
            } else if find::<rustls::Error>(error).is_some() {
                NotSent::Tls
            } else {
                NotSent::Connect
            });
        }
        match find::<hyper::Error>(error) {
            Some(hyper) if hyper.is_parse_too_large() => Self::TooLarge,
            Some(hyper) if hyper.is_parse() => Self::Garbled,
            Some(_) | None => Self::Cut,
        }
    }
}

/// The first error of one kind among the causes. An I/O error keeps what it wraps out of `source`.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}
