//! `POST /v1/credentials/resolve`: the one call a tool needs.
//!
//! The way to `ready` is the hot one: one look-up, nothing written, the answer serialised straight to bytes.

use std::collections::BTreeMap;

use axum::{http::StatusCode, response::Response};
use consentry_elicitation::{Era, INPUT_METHODS, Turn};
use futures_util::future::try_join_all;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    clock::Millis,
    connect::{self, Prepared},
    connection::{Connection, ConnectionId},
    credential::{self, Credential, Resolved, Wanted},
    elicitation::Elicitation,
    scope::Scopes,
    secret::Secret,
    secret_form::Typed,
    subject::Subject,
    usage::Use,
    values::Values,
};

use super::{
    answer::{json, maybe_secret, maybe_time, scopes, secrets, text, typed},
    auth::Caller,
    beside::{SlotView, is_nothing, slots, values},
    code,
    input::{Body, NoQuery},
    links::{ActionAnswer, action_required, answer_with},
    problem::{Problem, ProblemBody},
    question::{Question, QuestionBody},
    request_state::{RequestState, binding},
    retry, variables,
    view::AccountView,
};

/// A credential, handed out.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Credential)]
enum CredentialView<'a> {
    Token(TokenView<'a>),
    Secret(SecretView<'a>),
    Redirect(RedirectView<'a>),
}

/// The kind of a credential that is an access token.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = TokenKind)]
enum TokenKind {
    #[serde(rename = "oauth2")]
    OAuth2,
}

/// The kind of a credential that a user has typed.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = SecretKind)]
enum SecretKind {
    #[serde(rename = "secret")]
    Secret,
}

/// The kind of what a user has done on a page of the MCP server's own.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = RedirectKind)]
enum RedirectKind {
    #[serde(rename = "redirect")]
    Redirect,
}

/// An access token.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenCredential)]
struct TokenView<'a> {
    #[schema(inline)]
    kind: TokenKind,
    /// The access token.
    #[schema(format = Password)]
    access_token: &'a str,
    /// How to present it, `Bearer` as a rule.
    token_type: &'a str,
    /// When it ends; null when it does not, or nobody said.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Millis>,
    /// What was granted.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    scopes: &'a Scopes,
    /// What was asked for, once, and not granted.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    missing_scopes: &'a Scopes,
    /// What is known of the account's place at the provider, such as the address of its API or its tenant; absent when
    /// there is nothing.
    #[serde(serialize_with = "values", skip_serializing_if = "is_nothing")]
    #[schema(value_type = HashMap<String, String>)]
    values: &'a Values,
    /// Further tokens of the same grant, by name; absent when there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = HashMap<String, SlotView<'a>>)]
    slots: BTreeMap<&'a str, SlotView<'a>>,
    /// How to use it.
    #[serde(rename = "use")]
    usage: UseView,
}

/// What a user has typed: an API key, or several values.
#[derive(Serialize, ToSchema)]
#[schema(as = SecretCredential)]
struct SecretView<'a> {
    #[schema(inline)]
    kind: SecretKind,
    /// The values by the names of the form's fields; a field that was left empty is not there.
    #[serde(serialize_with = "typed")]
    #[schema(value_type = HashMap<String, String>)]
    fields: &'a Typed,
    /// How to use them.
    #[serde(rename = "use")]
    usage: UseView,
}

/// What a user has done on a page of the MCP server's own. There is no credential: what counts is that it was done.
#[derive(Serialize, ToSchema)]
#[schema(as = RedirectCredential)]
struct RedirectView<'a> {
    #[schema(inline)]
    kind: RedirectKind,
    /// What the MCP server said of it.
    #[serde(serialize_with = "values")]
    #[schema(value_type = HashMap<String, String>)]
    values: &'a Values,
}

/// How to use a credential: what goes into each request to the provider's API, with every value in its place.
#[derive(Serialize, ToSchema)]
#[schema(as = Use)]
struct UseView {
    /// Where the API is; null where the settings do not say.
    #[serde(serialize_with = "maybe_secret")]
    #[schema(value_type = Option<String>)]
    base_url: Option<Secret>,
    /// Headers for each request.
    #[serde(serialize_with = "secrets")]
    #[schema(value_type = HashMap<String, String>)]
    headers: BTreeMap<String, Secret>,
    /// Query parameters for each request, to be encoded.
    #[serde(serialize_with = "secrets")]
    #[schema(value_type = HashMap<String, String>)]
    query: BTreeMap<String, Secret>,
}

impl From<Use> for UseView {
    fn from(used: Use) -> Self {
        Self { base_url: used.base_url, headers: used.headers, query: used.query }
    }
}

/// The connection that a credential is of.
#[derive(Serialize, ToSchema)]
#[schema(as = CredentialConnection)]
struct HeldView<'a> {
    /// Its id; with `generation` what a report names.
    #[serde(serialize_with = "text")]
    #[schema(value_type = String, format = Uuid)]
    id: ConnectionId,
    /// The provider's id.
    provider: &'a str,
    /// What is connected.
    account: AccountView<'a>,
    /// Which of the connection's tokens this is.
    generation: i64,
}

/// Everything that was asked for is connected.
#[derive(Serialize, ToSchema)]
#[schema(as = Ready)]
struct ReadyAnswer<'a> {
    /// `ready`.
    status: &'static str,
    credential: CredentialView<'a>,
    connection: HeldView<'a>,
}

/// The same for `requests`, in their order.
#[derive(Serialize, ToSchema)]
#[schema(as = AllReady)]
struct AllReadyAnswer<'a> {
    /// `ready`.
    status: &'static str,
    results: Vec<OneReady<'a>>,
}

/// One of several.
#[derive(Serialize, ToSchema)]
#[schema(as = OneReady)]
struct OneReady<'a> {
    /// The provider's id.
    provider: &'a str,
    credential: CredentialView<'a>,
    connection: HeldView<'a>,
}

/// One of the answers to `resolve`.
#[derive(ToSchema)]
#[schema(as = Resolution)]
#[expect(dead_code, reason = "describes the answers for the API's document")]
#[serde(untagged)]
enum Answers<'a> {
    Ready(ReadyAnswer<'a>),
    AllReady(AllReadyAnswer<'a>),
    Action(ActionAnswer<'a>),
}

/// A credential for a tool, or what the MCP client must be told first.
#[utoipa::path(
    post,
    path = "/v1/credentials/resolve",
    operation_id = "resolveCredential",
    tag = "credentials",
    request_body = QuestionBody,
    responses(
        (status = 200, description = "`ready`, `action_required` or `refused`", body = Answers<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn resolve(
    caller: Caller,
    _: NoQuery,
    body: Body<QuestionBody>,
) -> Result<Response, Problem> {
    let mut body = body.value;
    let (state, responses) = (body.request_state.take(), body.input_responses.take());
    let (question, who) = body.check(&caller)?;
    let owner = who.find(&caller).await?;
    match state {
        None => first_round(&caller, &question, &owner).await,
        Some(state) => retry::retry(&caller, &question, &owner, &state, &responses.unwrap_or_default()).await,
    }
}

/// Hands out what is there, or asks for what is not; a code that came along is for what was asked before.
async fn first_round(caller: &Caller, question: &Question, owner: &Subject) -> Result<Response, Problem> {
    let found = look_up(caller, question, owner).await?;
    if let Some(ready) = ready(caller, question, &found)? {
        return Ok(ready);
    }
    if question.code.is_some() {
        let open = code::open_of(caller, question, owner, &found).await?;
        if !open.is_empty() {
            return retry::typed(caller, question, owner, open).await;
        }
    }
    ask_missing(caller, question, owner, &found).await
}

/// What is there, or the question for what is not.
pub(super) async fn ask_anew(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
) -> Result<Response, Problem> {
    let found = look_up(caller, question, owner).await?;
    match ready(caller, question, &found)? {
        Some(ready) => Ok(ready),
        None => ask_missing(caller, question, owner, &found).await,
    }
}

async fn ask_missing(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    found: &[Resolved],
) -> Result<Response, Problem> {
    let mut missing = Vec::new();
    for (need, found) in question.needs.iter().zip(found) {
        if let Resolved::Missing(existing) = found {
            variables::require(caller, need, existing.as_deref())?;
            missing.push(prepare(caller, question, owner, need, existing.as_deref()));
        }
    }
    let (asked, all_were_open) = ask(caller, owner, missing).await?;
    let state = state(caller, question, owner, &asked);
    if let Some(reply) = code::first_reply(caller, question, &asked, all_were_open, state.as_deref()).await? {
        return answer_with(&caller.app, question, &asked, &reply);
    }
    action_required(&caller.app, question, &asked, Turn::Ask { request_state: state.as_deref() })
}

/// What there is for each need, in their order.
pub(super) async fn look_up(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
) -> Result<Vec<Resolved>, Problem> {
    let server = &caller.server().id;
    if let [only] = question.needs.as_slice() {
        return Ok(vec![credential::resolve(&caller.app, server, owner, only).await?]);
    }
    let each = question.needs.iter().map(|need| credential::resolve(&caller.app, server, owner, need));
    Ok(try_join_all(each).await?)
}

/// The answer, when nothing is missing; each credential in it is recorded as handed out (R111).
pub(super) fn ready(
    caller: &Caller,
    question: &Question,
    found: &[Resolved],
) -> Result<Option<Response>, Problem> {
    let mut views = Vec::with_capacity(found.len());
    for one in found {
        let Resolved::Ready { connection, credential, missing } = one else { return Ok(None) };
        views.push((connection, view(&caller.app, connection, credential, missing)));
    }
    let now = caller.app.clock.now();
    let mut views: Vec<_> = views
        .into_iter()
        .map(|(connection, view)| {
            caller.app.recorder.handed_out(connection, now);
            view
        })
        .collect();
    if question.several {
        let results = views.into_iter().map(|(credential, connection)| OneReady {
            provider: connection.provider,
            credential,
            connection,
        });
        return json(StatusCode::OK, &AllReadyAnswer { status: "ready", results: results.collect() })
            .map(Some);
    }
    let Some((credential, connection)) = views.pop() else { return Err(Problem::internal()) };
    json(StatusCode::OK, &ReadyAnswer { status: "ready", credential, connection }).map(Some)
}

fn view<'a>(
    app: &App,
    connection: &'a Connection,
    credential: &'a Credential,
    missing: &'a Scopes,
) -> (CredentialView<'a>, HeldView<'a>) {
    let usage = credential::usage(app, connection, credential).into();
    let credential = match credential {
        Credential::Token(access) => CredentialView::Token(TokenView {
            kind: TokenKind::OAuth2,
            access_token: access.token.expose(),
            token_type: &access.token_type,
            expires_at: access.main_expires_at(connection),
            scopes: &connection.granted,
            missing_scopes: missing,
            values: &connection.values,
            slots: slots(access),
            usage,
        }),
        Credential::Fields(fields) => {
            CredentialView::Secret(SecretView { kind: SecretKind::Secret, fields, usage })
        }
        Credential::Page => CredentialView::Redirect(RedirectView {
            kind: RedirectKind::Redirect,
            values: &connection.values,
        }),
    };
    let connection = HeldView {
        id: connection.id,
        provider: connection.provider.as_str(),
        account: connection.into(),
        generation: connection.generation,
    };
    (credential, connection)
}

/// One need as a question to the user.
pub(super) fn prepare(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    need: &Wanted,
    existing: Option<&Connection>,
) -> Prepared {
    let asked = connect::Question {
        server: caller.server().id.clone(),
        owner: owner.clone(),
        provider: need.provider.clone(),
        scopes: need.scopes.clone(),
        values: need.values.clone(),
        legacy: question.client.era() == consentry_elicitation::Era::Legacy,
        client_ref: question.client_ref.clone(),
        client_name: question.client_name.clone(),
        message: question.message.clone(),
    };
    asked.prepare(&caller.app, existing)
}

/// Asks the user; one call counts once against the user's pace, and only when it asks something new. Tells also whether
/// everything was asked before.
async fn ask(
    caller: &Caller,
    owner: &Subject,
    prepared: Vec<Prepared>,
) -> Result<(Vec<Elicitation>, bool), Problem> {
    let mut asked = Vec::with_capacity(prepared.len());
    let mut counted = false;
    for question in &prepared {
        if let Some(open) = connect::asked_before(&caller.app, question).await? {
            asked.push(open);
            continue;
        }
        if !std::mem::replace(&mut counted, true) {
            caller.pace.check(&caller.server().id, owner)?;
        }
        asked.push(connect::ask(&caller.app, question).await?.elicitation);
    }
    Ok((asked, !counted))
}

/// The sealed state of a first round, for a client that will send it back.
pub(super) fn state(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    asked: &[Elicitation],
) -> Option<String> {
    let state = fresh_state(caller, question, owner, asked)?;
    Some(state.seal(&caller.app.vault, &caller.server().id))
}

/// The same, not sealed yet.
pub(super) fn fresh_state(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    asked: &[Elicitation],
) -> Option<RequestState> {
    let client = &question.client;
    let by_form = code::is_used(caller)
        && client.era() == Era::Modern
        && client.elicitation.form()
        && INPUT_METHODS.contains(&client.method.as_str());
    if !client.may_be_asked_again() && !by_form {
        return None;
    }
    let expires_at = asked.iter().map(|one| one.expires_at).min()?;
    let ids = asked.iter().map(|one| one.id).collect();
    Some(RequestState {
        binding: binding(owner, question),
        waited: 0,
        expires_at,
        asked_until: Millis(0),
        ids,
    })
}
