//! `GET /v1/providers`: what this caller may ask for.

use axum::{http::StatusCode, response::Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{config::Provider, scope::Scopes};

use super::{
    answer::{json, scopes},
    auth::Caller,
    input::NoQuery,
    problem::{Problem, ProblemBody},
};

/// The providers that the caller may ask for.
#[derive(Serialize, ToSchema)]
#[schema(as = Providers)]
struct ProvidersAnswer<'a> {
    /// In the order of the MCP server's settings.
    providers: Vec<ProviderView<'a>>,
}

/// A provider.
#[derive(Serialize, ToSchema)]
#[schema(as = Provider)]
struct ProviderView<'a> {
    /// The id to ask by.
    id: &'a str,
    /// The name, for people.
    name: &'a str,
    /// What is asked for when a request names no scopes.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    scopes: &'a Scopes,
    /// The most that a request may name.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    allowed_scopes: &'a Scopes,
}

impl<'a> From<&'a Provider> for ProviderView<'a> {
    fn from(provider: &'a Provider) -> Self {
        Self {
            id: provider.id.as_str(),
            name: &provider.name,
            scopes: &provider.scopes,
            allowed_scopes: &provider.allowed_scopes,
        }
    }
}

/// What this MCP server may ask for.
#[utoipa::path(
    get,
    path = "/v1/providers",
    operation_id = "listProviders",
    tag = "providers",
    responses(
        (status = 200, description = "The providers", body = ProvidersAnswer<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(caller: Caller, _: NoQuery) -> Result<Response, Problem> {
    let known: Vec<_> =
        caller.server().providers.iter().filter_map(|id| caller.app.providers.get(id)).collect();
    let providers = known.iter().map(|provider| ProviderView::from(&**provider)).collect();
    json(StatusCode::OK, &ProvidersAnswer { providers })
}
