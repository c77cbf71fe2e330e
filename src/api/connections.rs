//! The connections of an MCP server's users: listed, read, removed. Never a secret.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    connection::ConnectionId, credential, elicitation::ProviderId, store::ConnectionFilter, vault::Purpose,
};

use super::{
    answer::json,
    auth::Caller,
    input::{Id, NoBody, NoQuery, Query},
    problem::{Code, Problem, ProblemBody},
    subject::may_name,
    view::ConnectionView,
};

/// Connections on a page, at most and when nobody says.
const PAGE_MAX: i64 = 200;
const PAGE: i64 = 50;
/// Longest filter or cursor, in bytes.
const TEXT_BYTES_MAX: usize = 1024;

/// A page of connections.
#[derive(Serialize, ToSchema)]
#[schema(as = Connections)]
struct Page<'a> {
    /// In the order of their ids.
    connections: Vec<ConnectionView<'a>>,
    /// Gives the next page with the same filters; null on the last one.
    next_cursor: Option<String>,
}

/// The connections of this MCP server, page by page.
#[utoipa::path(
    get,
    path = "/v1/connections",
    operation_id = "listConnections",
    tag = "connections",
    params(
        ("issuer" = Option<String>, Query, description = "Only users of this issuer"),
        ("sub" = Option<String>, Query, description = "Only this user; of the MCP server's issuer when `issuer` is left out"),
        ("provider" = Option<String>, Query, description = "Only this provider"),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before"),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 200, description = "At most so many; 50 when left out"),
    ),
    responses(
        (status = 200, description = "A page", body = Page<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(caller: Caller, query: Query) -> Result<Response, Problem> {
    let query = query.only(&["issuer", "sub", "provider", "cursor", "limit"])?;
    for name in ["issuer", "sub", "provider", "cursor"] {
        let text = query.get(name).unwrap_or_default();
        if text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
            return Err(Problem::invalid_parameter(
                name,
                "The value is too long or holds a control character.",
            ));
        }
    }
    let limit = query.number("limit", 1, PAGE_MAX)?.unwrap_or(PAGE);
    let sub = query.get("sub");
    if sub.is_some() {
        may_name(&caller)?;
    }
    let issuer = match (query.get("issuer"), sub) {
        (None, Some(_)) => Some(caller.issuer()?),
        (given, _) => given,
    };
    let provider: Option<ProviderId> = query
        .get("provider")
        .map(str::parse)
        .transpose()
        .map_err(|_| Problem::invalid_parameter("provider", "The value is not spelled as ids are."))?;
    let server = &caller.server().id;
    let cursor =
        Cursor { caller: &caller, filters: [issuer, sub, provider.as_ref().map(ProviderId::as_str)] };
    let after = query.get("cursor").map(|text| cursor.open(text)).transpose()?;
    let filter = ConnectionFilter { server: Some(server), issuer, sub, provider: provider.as_ref(), after };
    let limit = usize::try_from(limit).map_err(|_| Problem::internal())?;
    // One more than is shown says whether there is a next page.
    let fetch = u32::try_from(limit + 1).map_err(|_| Problem::internal())?;
    let mut found = caller.app.store.connections(filter, fetch).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| more).map(|last| cursor.seal(last.id));
    let used = caller.app.store.last_uses(filter, fetch).await?;
    let connections = found.iter().map(|one| ConnectionView::new(one, used.get(&one.id).copied())).collect();
    json(StatusCode::OK, &Page { connections, next_cursor })
}

/// Where a page ended, for the same MCP server and filters alone.
struct Cursor<'a> {
    caller: &'a Caller,
    filters: [Option<&'a str>; 3],
}

impl Cursor<'_> {
    fn context(&self) -> [String; 4] {
        let [issuer, sub, provider] =
            self.filters.map(|filter| filter.map_or_else(String::new, |it| format!("={it}")));
        [self.caller.server().id.to_string(), issuer, sub, provider]
    }

    fn seal(&self, last: ConnectionId) -> String {
        let context = self.context();
        let context = context.each_ref().map(String::as_str);
        self.caller.app.vault.seal_text(Purpose::ApiCursor, &context, last.0.as_bytes())
    }

    fn open(&self, text: &str) -> Result<ConnectionId, Problem> {
        let context = self.context();
        let context = context.each_ref().map(String::as_str);
        let plain = self.caller.app.vault.open_text(Purpose::ApiCursor, &context, text).ok();
        let id = plain.and_then(|plain| Uuid::from_slice(plain.expose()).ok());
        id.map(ConnectionId).ok_or_else(|| {
            let detail = "Take `next_cursor` of the page before, with the same filters.";
            Problem::new(Code::InvalidCursor, detail).field("cursor")
        })
    }
}

/// One connection.
#[utoipa::path(
    get,
    path = "/v1/connections/{id}",
    operation_id = "readConnection",
    tag = "connections",
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "The connection", body = ConnectionView<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn read(caller: Caller, Id(id): Id<ConnectionId>, _: NoQuery) -> Result<Response, Problem> {
    let found = caller.app.store.connection(&caller.server().id, id).await?;
    let connection = found.ok_or_else(Problem::not_found)?;
    let last_used_at = caller.app.store.last_use(id).await?;
    json(StatusCode::OK, &ConnectionView::new(&connection, last_used_at))
}

/// Removes a connection, and revokes it at the provider behind the answer.
#[utoipa::path(
    delete,
    path = "/v1/connections/{id}",
    operation_id = "deleteConnection",
    tag = "connections",
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 204, description = "Removed; nothing hands it out any more"),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete(
    caller: Caller,
    Id(id): Id<ConnectionId>,
    _: NoQuery,
    _: NoBody,
) -> Result<Response, Problem> {
    let removed =
        credential::disconnect(&caller.app, &caller.server().id, id, "disconnected_by_server").await?;
    removed.ok_or_else(Problem::not_found)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
