//! Elicitations: made also where a connection exists, read and waited for, answered by the client, withdrawn.

use std::time::Duration;

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use consentry_elicitation::{Reply, Turn, choose};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    connect::{self, Prepared, Refusal},
    elicitation::{Elicitation, ElicitationId, State},
    secret::Hash,
    signals,
    store::{Before, CreatedOnce, Idempotency},
    subject::Subject,
    vault::Purpose,
};

use super::{
    answer::json,
    auth::Caller,
    input::{Body, Id, NoBody, NoQuery, Object, Query, one},
    links::{AskedViews, asks},
    problem::{Code, Problem, ProblemBody},
    question::{ClientBody, Question, QuestionBody, WAIT_SECONDS_MAX},
    resolve::{prepare, state},
    view::{ElicitationView, ReplySchema},
};

/// Longest `Idempotency-Key`, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// Elicitations that were made, or open ones used again.
#[derive(Serialize, ToSchema)]
#[schema(as = Created)]
struct CreatedAnswer<'a> {
    #[serde(flatten)]
    asked: AskedViews<'a>,
    /// What to hand to the MCP client.
    #[schema(value_type = ReplySchema)]
    reply: &'a Reply,
}

/// What the MCP client answered to `elicitation/create`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ClientResponse)]
pub(super) struct ResponseBody {
    /// The answer.
    action: Action,
    /// The client, for the words of the answer to `error`; a call of a tool when left out.
    #[schema(value_type = Option<ClientBody>)]
    client: Option<Object<ClientBody>>,
}

/// An answer of an MCP client.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ClientAction)]
enum Action {
    /// The user agreed to open the link; nothing is connected by that.
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

/// Asks the user to connect, also where a connection exists already.
#[utoipa::path(
    post,
    path = "/v1/elicitations",
    operation_id = "createElicitation",
    tag = "elicitations",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible characters")),
    request_body = QuestionBody,
    responses(
        (status = 201, description = "Made", body = CreatedAnswer<'static>),
        (status = 200, description = "Open ones for the same question are used again", body = CreatedAnswer<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    caller: Caller,
    _: NoQuery,
    headers: HeaderMap,
    body: Body<QuestionBody>,
) -> Result<Response, Problem> {
    let once = Once::of(&caller, &headers, &body.bytes)?;
    if body.value.request_state.is_some() || body.value.input_responses.is_some() {
        return Err(Problem::invalid_field("request_state", "A retry is a call of `resolve`."));
    }
    let (question, who) = body.value.check(&caller)?;
    let owner = who.find(&caller).await?;
    let made = make(&caller, &question, &owner, once.as_ref()).await?;
    let state = state(&caller, &question, &owner, &made.elicitations);
    let asks = asks(&caller.app, &made.elicitations, question.message.as_deref())?;
    let reply = choose(&question.client, &asks, Turn::Ask { request_state: state.as_deref() });
    let asked = AskedViews::new(&caller.app, &question, &made.elicitations)?;
    let status = if made.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = json(status, &CreatedAnswer { asked, reply: &reply })?;
    if made.is_replayed {
        let name = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(name, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// What came of a creation.
struct Made {
    elicitations: Vec<Elicitation>,
    /// Whether any of them is, or was at the first call with the key.
    is_new: bool,
    /// Whether an earlier call with the key made all of them.
    is_replayed: bool,
}

async fn make(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    once: Option<&Once<'_>>,
) -> Result<Made, Problem> {
    let (app, server) = (&caller.app, &caller.server().id);
    let known = match once {
        Some(once) => app.store.recall(server, &once.key(0)).await?,
        None => None,
    };
    if let (Some(once), Some(before)) = (once, &known) {
        once.check(caller, before)?;
    }
    let existing = question.needs.iter().map(|need| app.store.connection_for(server, owner, &need.provider));
    let existing = try_join_all(existing).await?;
    let mut made = Made { elicitations: Vec::new(), is_new: false, is_replayed: true };
    let mut counted = known.is_some();
    for (index, (need, existing)) in question.needs.iter().zip(&existing).enumerate() {
        let prepared = prepare(caller, question, owner, need, existing.as_ref());
        if once.is_none()
            && let Some(open) = connect::asked_before(app, &prepared).await?
        {
            made.take(open, false, false);
            continue;
        }
        if !std::mem::replace(&mut counted, true) {
            caller.pace.check(server, owner)?;
        }
        match once {
            None => {
                let created = connect::ask(app, &prepared).await?;
                made.take(created.elicitation, created.is_new, false);
            }
            Some(once) => once.make(caller, index, &prepared, &mut made).await?,
        }
    }
    Ok(made)
}

impl Made {
    fn take(&mut self, elicitation: Elicitation, is_new: bool, is_replayed: bool) {
        self.elicitations.push(elicitation);
        self.is_new |= is_new;
        self.is_replayed &= is_replayed;
    }
}

/// A request with an `Idempotency-Key`: of any number with the same key and body one makes something (R112).
struct Once<'a> {
    key: &'a str,
    body: &'a [u8],
    digest: Hash,
}

impl<'a> Once<'a> {
    fn of(caller: &Caller, headers: &'a HeaderMap, body: &'a [u8]) -> Result<Option<Self>, Problem> {
        const NAME: &str = "idempotency-key";
        let Some(key) = one(headers, NAME)? else { return Ok(None) };
        let fits =
            (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(Problem::invalid_parameter(NAME, "The key is 1 to 255 visible ASCII characters."));
        }
        let digest = Hash(caller.app.vault.mac(Purpose::IdempotentRequest, &[body]));
        Ok(Some(Self { key, body, digest }))
    }

    /// The digest of the key for one of the call's needs.
    fn key(&self, index: usize) -> Hash {
        if index == 0 {
            Hash::of(self.key.as_bytes())
        } else {
            Hash::of(format!("{} {index}", self.key).as_bytes())
        }
    }

    fn check(&self, caller: &Caller, before: &Before) -> Result<(), Problem> {
        let digest = before.body.as_bytes();
        if caller.app.vault.verify_mac(Purpose::IdempotentRequest, &[self.body], digest) {
            return Ok(());
        }
        let detail = "This key came with another body before; take a new key for a new request.";
        Err(Problem::new(Code::IdempotencyKeyReused, detail).field("idempotency-key"))
    }

    async fn make(
        &self,
        caller: &Caller,
        index: usize,
        prepared: &Prepared,
        made: &mut Made,
    ) -> Result<(), Problem> {
        let idempotency = Idempotency { key: self.key(index), body: self.digest };
        match connect::ask_once(&caller.app, prepared, idempotency).await? {
            CreatedOnce::Now(created) => made.take(created.elicitation, created.is_new, false),
            CreatedOnce::Before(before) => {
                self.check(caller, &before)?;
                let elicitation = connect::read(&caller.app, &caller.server().id, before.id).await?;
                let was_new = elicitation.created_at == before.at;
                made.take(elicitation, was_new, true);
            }
        }
        Ok(())
    }
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
    }
    let app = &caller.app;
    let mut elicitation = connect::read(app, &caller.server().id, id).await?;
    let end = match action {
        Action::Accept | Action::Error => None,
        Action::Decline => Some((State::Declined, "declined_by_client")),
        Action::Cancel => Some((State::Cancelled, "cancelled_by_client")),
    };
    if let Some((end, reason)) = end {
        close(&caller, &elicitation, end, reason).await?;
        elicitation = connect::read(app, &caller.server().id, id).await?;
    }
    let reply = match action {
        Action::Error => Some(in_words(&caller, &elicitation, client)?),
        Action::Accept | Action::Decline | Action::Cancel => None,
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
    close(&caller, &found, State::Cancelled, "cancelled_by_server").await?;
    let elicitation = connect::read(app, &caller.server().id, id).await?;
    json(StatusCode::OK, &AnsweredView { elicitation: ElicitationView::new(app, &elicitation), reply: None })
}

/// Ends an open elicitation; one that is over stays as it is.
pub(super) async fn close(
    caller: &Caller,
    elicitation: &Elicitation,
    end: State,
    reason: &str,
) -> Result<(), Refusal> {
    let app = &caller.app;
    if elicitation.stored.is_open() && app.store.close(elicitation, end, reason, app.clock.now()).await? {
        app.metrics.elicitations_ended(end, 1);
    }
    Ok(())
}

/// The text form of the reply, for a client that failed the request.
fn in_words(
    caller: &Caller,
    elicitation: &Elicitation,
    client: Option<ClientBody>,
) -> Result<Reply, Problem> {
    let client = client.unwrap_or_else(ClientBody::unknown).of_era(elicitation.legacy).in_words().answered();
    let asks = asks(&caller.app, std::slice::from_ref(elicitation), None)?;
    let turn = match super::links::outcome(elicitation.state(caller.app.clock.now())) {
        Some(outcome) => Turn::Refused(outcome),
        None => Turn::Ask { request_state: None },
    };
    Ok(choose(&client, &asks, turn))
}
