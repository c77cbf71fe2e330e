//! Turning a [`Reply`] into what a browser gets, and reading what both fakes' routes read alike.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use crate::oauth::{Refused, Reply};
use crate::pages;
use crate::parameters::Parameters;

/// 303 to the client, or the page that posts to it.
pub(crate) fn reply(party: &str, reply: &Reply) -> Response {
    match reply {
        Reply::Redirect(location) => redirect(location),
        Reply::FormPost(form) => pages::form_post(party, form),
    }
}

fn redirect(location: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(location) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

pub(crate) fn refused(party: &str, refused: &Refused) -> Response {
    pages::refusal(party, refused.status(), &refused.error, &refused.description)
}

pub(crate) fn set_cookie(mut response: Response, cookie: Option<String>) -> Response {
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// The parameters of an authorize request: the query of a GET, the form of a POST (OpenID Connect Core 3.1.2.1).
pub(crate) fn authorize_parameters(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Parameters, Refused> {
    if method == Method::POST {
        return Parameters::form(headers, body)
            .map_err(|error| Refused::new("invalid_request", error.to_string()));
    }
    Ok(Parameters::parse(uri.query().unwrap_or_default().as_bytes()))
}

/// The parameters of an authorize URL, which must be one of this server.
pub(crate) fn url_parameters(issuer: &str, url: &str) -> Result<Parameters, Refused> {
    let rest = url
        .strip_prefix(issuer)
        .and_then(|rest| rest.strip_prefix("/authorize"))
        .ok_or_else(|| Refused::new("invalid_request", "this is no authorize URL of this server"))?;
    let query = rest.strip_prefix('?').unwrap_or_default();
    let query = query.split('#').next().unwrap_or_default();
    Ok(Parameters::parse(query.as_bytes()))
}

/// The bearer token of a request; only the header counts.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// RFC 6750 section 3: 401 or 403 with the reason in the challenge.
pub(crate) fn challenge(status: StatusCode, error: Option<&str>, more: &str) -> Response {
    let value = match error {
        None => format!("Bearer realm=\"api\"{more}"),
        Some(error) => format!("Bearer realm=\"api\", error=\"{error}\"{more}"),
    };
    let body = serde_json::json!({ "error": error.unwrap_or("unauthorized") });
    let mut response = (status, axum::Json(body)).into_response();
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(http::header::WWW_AUTHENTICATE, value);
    }
    response
}
