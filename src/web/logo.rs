//! A logo of the operator's, as an answer: an image under a path of its own, and nothing else.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use crate::config::Logo;

use super::assets::CACHE_CONTROL;

/// Tighter than that of a page, for whoever opens the file by itself: no script, no form, nothing loaded, an origin of its
/// own. Style within the file is let be, since drawing programs write it; in a sandbox it reaches nothing.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; object-src 'none'; \
    form-action 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox";

/// The file, to be kept for ever.
pub(super) fn answer(logo: &Logo) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(logo.kind.media_type())),
        (header::CACHE_CONTROL, HeaderValue::from_static(CACHE_CONTROL)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
    ];
    (headers, Body::from(axum::body::Bytes::from_owner(logo.bytes.clone()))).into_response()
}
