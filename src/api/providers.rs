//! `GET /v1/providers`: what this caller may ask for.

use axum::{http::StatusCode, response::Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::connectable::Connectable;

use super::{
    answer::json,
    auth::Caller,
    input::NoQuery,
    problem::{Problem, ProblemBody},
    variables::{self, VariableView},
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
    /// `oauth2`, `secret` for what a person connects by typing a key, or `redirect` for what they do on a page of the MCP
    /// server's own.
    kind: &'static str,
    /// The name, for people.
    name: &'a str,
    /// What is asked for when a request names no scopes.
    scopes: Vec<String>,
    /// The most that a request may name.
    allowed_scopes: Vec<String>,
    /// What stands in braces in its addresses and a request may give under `variables`.
    variables: Vec<VariableView>,
}

impl<'a> From<&'a Connectable> for ProviderView<'a> {
    fn from(one: &'a Connectable) -> Self {
        Self {
            id: one.id().as_str(),
            kind: one.kind(),
            name: one.name(),
            scopes: one.scopes().to_vec(),
            allowed_scopes: one.allowed_scopes().to_vec(),
            variables: variables::listed(one),
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
        caller.server().providers.iter().filter_map(|id| caller.app.connectable(id)).collect();
    let providers = known.iter().map(ProviderView::from).collect();
    json(StatusCode::OK, &ProvidersAnswer { providers })
}
