//! `POST /v1/credentials/report`: the resource server refused a token.

use axum::{http::StatusCode, response::Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{connect::Refusal, connection::ConnectionId, credential};

use super::{
    answer::json,
    auth::Caller,
    input::{Body, NoQuery},
    problem::{Problem, ProblemBody},
    view::ConnectionView,
};

/// What was refused.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Report)]
pub(super) struct ReportBody {
    /// The connection's id.
    connection: String,
    /// Which of its tokens, as `resolve` said.
    generation: i64,
    /// What happened.
    problem: Reported,
}

/// What a resource server can do with a token.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReportedProblem)]
enum Reported {
    /// It answered 401.
    Unauthorized,
}

/// The connection after a report.
#[derive(Serialize, ToSchema)]
#[schema(as = Reported)]
struct ReportedAnswer<'a> {
    connection: ConnectionView<'a>,
}

/// Says that the resource server refused a token: it is not handed out again. A report of an older token changes
/// nothing.
#[utoipa::path(
    post,
    path = "/v1/credentials/report",
    operation_id = "reportCredential",
    tag = "credentials",
    request_body = ReportBody,
    responses(
        (status = 200, description = "The connection as it is now", body = ReportedAnswer<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn report(caller: Caller, _: NoQuery, body: Body<ReportBody>) -> Result<Response, Problem> {
    let ReportBody { connection, generation, problem: Reported::Unauthorized } = body.value;
    let id: ConnectionId = connection.parse().map_err(|_| Problem::not_found())?;
    let connection = credential::report(&caller.app, &caller.server().id, id, generation).await?;
    let connection = connection.ok_or(Refusal::NotFound)?;
    let last_used_at = caller.app.store.last_use(id).await?;
    json(StatusCode::OK, &ReportedAnswer { connection: ConnectionView::new(&connection, last_used_at) })
}
