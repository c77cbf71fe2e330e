//! MCP clients that live in a web page (the Inspector is one) fetch these endpoints across origins.
//!
//! Never the pages: nothing that shows or uses a cookie is opened.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_REQUEST_METHOD,
};
use http::{HeaderValue, Method, StatusCode};

const OPEN: [&str; 5] = ["/jwks", "/token", "/register", "/revoke", "/userinfo"];

pub(super) async fn open_endpoints(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !path.starts_with("/.well-known/") && !OPEN.contains(&path) {
        return next.run(request).await;
    }
    let preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response =
        if preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    if preflight {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        let allowed = "authorization, content-type, mcp-protocol-version";
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    }
    response
}
