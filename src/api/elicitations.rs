//! Elicitations: read and waited for, answered by the client, withdrawn.

use std::time::Duration;

use axum::{http::StatusCode, response::Response};
use consentry_elicitation::{ElicitAction, Reply, Turn, choose};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    connect,
    elicitation::{Elicitation, ElicitationId, State},
    signals,
};

use super::{
    answer::json,
    auth::Caller,
    code,
    input::{Body, Id, NoBody, NoQuery, Object, Query},
    links::{asks, outcome},
    problem::{Problem, ProblemBody},
    question::{ClientBody, WAIT_SECONDS_MAX},
    view::{ElicitationView, ReplySchema},
};

/// What the MCP client answered to `elicitation/create`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ClientResponse)]
pub(super) struct ResponseBody {
    /// The answer.
    action: Action,
    /// The client, for the words of the answer to `error`, and for the form after `accept` where the user types a code; a
    /// call of a tool when left out.
    #[schema(value_type = Option<ClientBody>)]
    client: Option<Object<ClientBody>>,
}

/// An answer of an MCP client.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ClientAction)]
enum Action {
    /// The user agreed to open the link; nothing is connected by that. With `identity = "code"` the answer holds the form
    /// that asks for the code.
    Accept,
    /// The user said no.
    Decline,
    /// The user closed the question.
    Cancel,
    /// The client failed the request.
    Error,
}

/// An elicitation after a call.
#[derive(Serialize, ToSchema)]
#[schema(as = Answered)]
struct AnsweredView<'a> {
    elicitation: ElicitationView<'a>,
    /// What to hand to the MCP client, where something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReplySchema>)]
    reply: Option<Reply>,
}

/// How an elicitation stands: at once when its state is final, otherwise after at most `wait_seconds`.
#[utoipa::path(
    get,
    path = "/v1/elicitations/{id}",
    operation_id = "readElicitation",
    tag = "elicitations",
    params(
        ("id" = String, Path, format = Uuid),
        ("wait_seconds" = Option<u8>, Query, maximum = 50, description = "How long the answer may be held"),
    ),
    responses(
        (status = 200, description = "The elicitation", body = ElicitationView<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn read(
    caller: Caller,
    Id(id): Id<ElicitationId>,
    query: Query,
) -> Result<Response, Problem> {
    let query = query.only(&["wait_seconds"])?;
    let wait = query.number("wait_seconds", 0, WAIT_SECONDS_MAX.into())?.unwrap_or(0);
    let patience = Duration::from_secs(u64::try_from(wait).unwrap_or(0));
    let is_final = |states: &[State]| states.iter().all(|state| !state.is_open());
    let found = signals::settled(&caller.app, &caller.server().id, &[id], patience, is_final).await?;
    let elicitation = found.first().ok_or_else(Problem::not_found)?;
    json(StatusCode::OK, &ElicitationView::new(&caller.app, elicitation))
}

/// Takes what the MCP client answered to `elicitation/create`.
#[utoipa::path(
    post,
    path = "/v1/elicitations/{id}/response",
    operation_id = "respondToElicitation",
    tag = "elicitations",
    params(("id" = String, Path, format = Uuid)),
    request_body = ResponseBody,
    responses(
        (status = 200, description = "The elicitation as it is now", body = AnsweredView<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn respond(
    caller: Caller,
    Id(id): Id<ElicitationId>,
    _: NoQuery,
    body: Body<ResponseBody>,
) -> Result<Response, Problem> {
    let ResponseBody { action, client } = body.value;
    let client = client.map(|client| client.0);
    if let Some(client) = &client {
        client.check_lengths()?;
        if client.has_code() {
            return Err(Problem::invalid_field("client.code", "A code is passed on by a call of `resolve`."));
        }
    }
    let app = &caller.app;
    let mut elicitation = connect::read(app, &caller.server().id, id).await?;
    let no = match action {
        Action::Accept | Action::Error => None,
        Action::Decline => Some(ElicitAction::Decline),
        Action::Cancel => Some(ElicitAction::Cancel),
    };
    if let Some(no) = no {
        connect::hear(app, &elicitation, no).await?;
        elicitation = connect::read(app, &caller.server().id, id).await?;
    }
    let reply = match action {
        Action::Error => Some(in_words(&caller, &elicitation, client)?),
        Action::Accept => for_code(&caller, &elicitation, client).await?,
        Action::Decline | Action::Cancel => None,
    };
    json(StatusCode::OK, &AnsweredView { elicitation: ElicitationView::new(app, &elicitation), reply })
}

/// The MCP server no longer wants it.
#[utoipa::path(
    post,
    path = "/v1/elicitations/{id}/cancel",
    operation_id = "cancelElicitation",
    tag = "elicitations",
    params(("id" = String, Path, format = Uuid)),
    responses(
        (status = 200, description = "The elicitation as it is now", body = AnsweredView<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn cancel(
    caller: Caller,
    Id(id): Id<ElicitationId>,
    _: NoQuery,
    _: NoBody,
) -> Result<Response, Problem> {
    let app = &caller.app;
    let found = connect::read(app, &caller.server().id, id).await?;
    connect::close(app, &found, State::Cancelled, "cancelled_by_server").await?;
    let elicitation = connect::read(app, &caller.server().id, id).await?;
    json(StatusCode::OK, &AnsweredView { elicitation: ElicitationView::new(app, &elicitation), reply: None })
}

/// Where nobody can sign in: the form that asks for the code which the page behind the link shows. For a legacy client,
/// which is asked within its call; a modern one retries.
async fn for_code(
    caller: &Caller,
    elicitation: &Elicitation,
    client: Option<ClientBody>,
) -> Result<Option<Reply>, Problem> {
    if !elicitation.legacy {
        return Ok(None);
    }
    let client = client.unwrap_or_else(ClientBody::to_be_asked).of_era(true).answered();
    let form = code::ask_or_again(caller, &client, std::slice::from_ref(elicitation)).await?;
    Ok(form.map(|form| choose(&client, &form, Turn::Ask { request_state: None })))
}

/// The text form of the reply, for a client that failed the request.
fn in_words(
    caller: &Caller,
    elicitation: &Elicitation,
    client: Option<ClientBody>,
) -> Result<Reply, Problem> {
    let client = client.unwrap_or_else(ClientBody::unknown).of_era(elicitation.legacy).in_words().answered();
    let asks = asks(&caller.app, std::slice::from_ref(elicitation), None)?;
    let turn = match outcome(elicitation.state(caller.app.clock.now())) {
        Some(outcome) => Turn::Refused(outcome),
        None => Turn::Ask { request_state: None },
    };
    Ok(choose(&client, &asks, turn))
}
