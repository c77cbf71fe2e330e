//! The headers of every answer of the public listener, 404 and 405 included (R40-R47).

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

use crate::{app::App, config::PublicUrl};

/// No script, nothing from elsewhere, no frame. `form-action 'self'` suffices because a form's post is answered by a
/// redirect to a page of ours, and only a link leaves (R42).
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; object-src 'none'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const FIXED: [(HeaderName, HeaderValue); 8] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
    (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow")),
    (HeaderName::from_static("x-dns-prefetch-control"), HeaderValue::from_static("off")),
];

/// What a handler may say more exactly: what a picture of the operator's may do, how long an answer is kept, what a link
/// may tell.
const MORE_EXACTLY: [HeaderName; 3] =
    [header::CONTENT_SECURITY_POLICY, header::CACHE_CONTROL, header::REFERRER_POLICY];

/// All of them, as an answer carries them that says nothing more exactly.
pub fn every(public_url: &PublicUrl) -> Vec<(HeaderName, HeaderValue)> {
    let mut every = FIXED.to_vec();
    every.push((header::CACHE_CONTROL, HeaderValue::from_static("no-store")));
    every.push((header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")));
    if public_url.is_https() {
        every.push((
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000; includeSubDomains"),
        ));
    }
    every
}

/// Sets them, but for what a handler has said more exactly.
pub async fn secure(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in every(&app.settings.public_url) {
        if MORE_EXACTLY.contains(&name) {
            headers.entry(name).or_insert(value);
        } else {
            headers.insert(name, value);
        }
    }
    response
}
