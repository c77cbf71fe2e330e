//! `GET /client-metadata/{server}/{provider}`: what an authorization server reads of our client, whose id is this address
//! (OAuth Client ID Metadata Document, draft 02).
//!
//! Made of the settings alone. What it must never do: answer for a client that is registered in another way, or depend on
//! the request.

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{here::Here, segments::Segments};
use crate::{
    app::App,
    config::Registration,
    elicitation::{ProviderId, ServerId},
};

/// An authorization server may keep it for an hour; what is in it changes with the settings alone.
const CACHE: &str = "public, max-age=3600";

/// The document.
pub(super) async fn show(
    State(app): State<App>,
    here: Here,
    Segments((server, provider)): Segments<(String, String)>,
) -> Response {
    let (Ok(server), Ok(provider)) = (server.parse::<ServerId>(), provider.parse::<ProviderId>()) else {
        return here.not_found();
    };
    let offered = app.offers(&server, &provider);
    let mcp = offered.as_ref().and_then(|one| one.mcp.as_ref());
    let Some(mcp) = mcp.filter(|mcp| mcp.registration == Registration::ClientIdMetadataDocument) else {
        return here.not_found();
    };
    let document = json!({
        "client_id": mcp.document(server.as_str(), provider.as_str()),
        "client_name": app.server_name(&server),
        "redirect_uris": [app.redirect_uri(&server, &provider)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    ([(header::CACHE_CONTROL, CACHE)], Json(document)).into_response()
}
