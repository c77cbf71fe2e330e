//! The links of an answer, and the answer for the MCP client that is made of them.

use axum::{http::StatusCode, response::Response};
use consentry_elicitation::{Ask, Outcome, Reply, Turn, choose};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    connect,
    elicitation::{Elicitation, State},
};

use super::{
    answer::json,
    problem::Problem,
    question::Question,
    view::{AskedView, ReplySchema},
};

/// The user must open a link, or did not connect.
#[derive(Serialize, ToSchema)]
#[schema(as = ActionRequired)]
pub(super) struct ActionAnswer<'a> {
    /// `action_required` or `refused`.
    status: &'static str,
    /// How it ended: `declined`, `cancelled`, `expired` or `failed`; with `refused` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    outcome: Option<Outcome>,
    #[serde(flatten)]
    asked: AskedViews<'a>,
    /// What to hand to the MCP client.
    #[schema(value_type = ReplySchema)]
    reply: &'a Reply,
}

/// One elicitation, or with `requests` all that are needed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AskedElicitations)]
pub(super) enum AskedViews<'a> {
    Elicitation(AskedView<'a>),
    Elicitations(Vec<AskedView<'a>>),
}

impl<'a> AskedViews<'a> {
    pub(super) fn new(
        app: &App,
        question: &Question,
        elicitations: &'a [Elicitation],
    ) -> Result<Self, Problem> {
        let mut views = elicitations.iter().map(|one| AskedView::new(app, one));
        if question.several {
            return Ok(Self::Elicitations(views.collect()));
        }
        views.next().map(Self::Elicitation).ok_or_else(Problem::internal)
    }
}

/// The links as the choice of the reply sees them, in the same order.
pub(super) fn asks(
    app: &App,
    elicitations: &[Elicitation],
    message: Option<&str>,
) -> Result<Vec<Ask>, Problem> {
    let ask = |one| connect::as_ask(app, one, message).map_err(|_| Problem::internal());
    elicitations.iter().map(ask).collect()
}

/// How an elicitation ended without a connection.
pub(super) fn outcome(state: State) -> Option<Outcome> {
    match state {
        State::Pending | State::Authorizing | State::Completed => None,
        State::Declined => Some(Outcome::Declined),
        State::Cancelled => Some(Outcome::Cancelled),
        State::Expired => Some(Outcome::Expired),
        State::Failed => Some(Outcome::Failed),
    }
}

/// The links are to be opened, now or still.
pub(super) fn action_required(
    app: &App,
    question: &Question,
    elicitations: &[Elicitation],
    turn: Turn<'_>,
) -> Result<Response, Problem> {
    let asks = asks(app, elicitations, question.message.as_deref())?;
    answer_with(app, question, elicitations, &choose(&question.client, &asks, turn))
}

/// The same with another reply.
pub(super) fn answer_with(
    app: &App,
    question: &Question,
    elicitations: &[Elicitation],
    reply: &Reply,
) -> Result<Response, Problem> {
    let asked = AskedViews::new(app, question, elicitations)?;
    json(StatusCode::OK, &ActionAnswer { status: "action_required", outcome: None, asked, reply })
}

/// It is over, and there is no connection.
pub(super) fn refused(
    app: &App,
    question: &Question,
    elicitations: &[Elicitation],
    outcome: Outcome,
) -> Result<Response, Problem> {
    let ended: Vec<Elicitation> =
        elicitations.iter().filter(|one| one.state(app.clock.now()) != State::Completed).cloned().collect();
    let asks = asks(app, &ended, question.message.as_deref())?;
    let reply = choose(&question.client, &asks, Turn::Refused(outcome));
    let asked = AskedViews::new(app, question, elicitations)?;
    json(StatusCode::OK, &ActionAnswer { status: "refused", outcome: Some(outcome), asked, reply: &reply })
}
