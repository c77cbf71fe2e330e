//! The API: who am I, which files do I have. A token counts only in the `Authorization` header.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::{Account, Inner};
use crate::answers::{bearer, challenge};
use crate::log::lock;

pub(super) async fn me(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    answer(&inner, &headers, None, Account::me)
}

pub(super) async fn userinfo(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    answer(&inner, &headers, None, Account::userinfo)
}

pub(super) async fn files(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    answer(&inner, &headers, Some("files.read"), Account::file_list)
}

/// The same as GitHub would list them, for what is written for GitHub.
pub(super) async fn repositories(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    answer(&inner, &headers, Some("files.read"), Account::repository_list)
}

fn answer(inner: &Inner, headers: &HeaderMap, scope: Option<&str>, view: fn(&Account) -> Value) -> Response {
    let Some(token) = bearer(headers) else { return challenge(StatusCode::UNAUTHORIZED, None, "") };
    let Some(access) = inner.core.living(token) else {
        return challenge(StatusCode::UNAUTHORIZED, Some("invalid_token"), "");
    };
    if let Some(scope) = scope.filter(|scope| !access.scopes.iter().any(|granted| granted == scope)) {
        let more = format!(", scope=\"{scope}\"");
        return challenge(StatusCode::FORBIDDEN, Some("insufficient_scope"), &more);
    }
    match lock(&inner.accounts).iter().find(|account| account.login == access.account) {
        Some(account) => ([("cache-control", "no-store")], Json(view(account))).into_response(),
        None => challenge(StatusCode::UNAUTHORIZED, Some("invalid_token"), ""),
    }
}
