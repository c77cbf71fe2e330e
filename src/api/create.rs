//! `POST /v1/elicitations`: asks the user also where a connection exists; once per `Idempotency-Key`.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use consentry_elicitation::{Reply, Turn, choose};
use futures_util::future::try_join_all;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    connect::{self, Prepared},
    credential::home::seen_now,
    elicitation::Elicitation,
    secret::Hash,
    store::{Before, CreatedOnce, Idempotency},
    subject::Subject,
    vault::Purpose,
};

use super::{
    answer::json,
    auth::Caller,
    code,
    input::{Body, NoQuery, one},
    links::{AskedViews, asks},
    problem::{Code, Problem, ProblemBody},
    question::{Question, QuestionBody},
    resolve::{prepare, state},
    variables,
    view::ReplySchema,
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
    if question.code.is_some() {
        return Err(Problem::invalid_field("client.code", "A code is passed on by a call of `resolve`."));
    }
    let owner = who.find(&caller).await?;
    let made = make(&caller, &question, &owner, once.as_ref()).await?;
    let state = state(&caller, &question, &owner, &made.elicitations);
    let asks = asks(&caller.app, &made.elicitations, question.message.as_deref())?;
    let by_code = code::first_reply(&caller, &question, &made.elicitations, false, state.as_deref()).await?;
    let turn = Turn::Ask { request_state: state.as_deref() };
    let reply = by_code.unwrap_or_else(|| choose(&question.client, &asks, turn));
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
        let existing = existing.clone().map(|one| seen_now(app, one));
        variables::require(caller, need, existing.as_ref())?;
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
