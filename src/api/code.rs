//! Where nobody can sign in: when the user is asked for the code on the page, by which form, and what came of it.
//!
//! The form goes to the client of the user whom the MCP server knows, and never holds the code. It is asked for only once
//! the link is out, for the page behind the link is what shows it.

use consentry_elicitation::{
    Client, ElicitValue, Era, FormAsk, FormRequest, INPUT_METHODS, InputResponses, Prefer, Reply, Turn,
    choose,
    form::{Form, Text},
};
use futures_util::future::try_join_all;

use crate::{
    app::App,
    clock::Millis,
    config::BrowserIdentity,
    connect::{self, Refusal, TriesLeft},
    credential::Resolved,
    elicitation::{Elicitation, ElicitationId},
    secret::Secret,
    subject::Subject,
};

use super::{auth::Caller, problem::Problem, question::Question};

/// The form's only field.
const FIELD: &str = "code";

/// Whether this MCP server's users type codes.
pub(super) fn is_used(caller: &Caller) -> bool {
    caller.server().identity == BrowserIdentity::Code
}

/// Whether what this client answers to the form is heard: it declared forms, and so can have been asked by one.
pub(super) fn may_answer(caller: &Caller, question: &Question) -> bool {
    is_used(caller) && question.client.elicitation.form()
}

/// The key of an elicitation's form in a modern round.
pub(super) fn key(asked: &Elicitation) -> String {
    format!("code-{}", asked.provider)
}

/// The reply of a first round: the links; or the form, for a client that was given them before and is not sent them
/// within its calls; or words, for a client that cannot be asked for a code at all.
pub(super) async fn first_reply(
    caller: &Caller,
    question: &Question,
    asked: &[Elicitation],
    all_were_open: bool,
    state: Option<&str>,
) -> Result<Option<Reply>, Problem> {
    let client = &question.client;
    if !is_used(caller) {
        return Ok(None);
    }
    let turn = Turn::Ask { request_state: state };
    if !client.elicitation.form() {
        let Some(first) = asked.first() else { return Ok(None) };
        let server = &caller.server().name;
        let message = format!(
            "{server} must ask for a code before {} can be connected.",
            caller.app.provider_name(&first.provider)
        );
        return Ok(Some(choose(client, &form(first, message)?, turn)));
    }
    let by_link = client.elicitation.url()
        && match client.era() {
            Era::Modern => INPUT_METHODS.contains(&client.method.as_str()),
            Era::Legacy => client.prefer == Prefer::Request && asked.len() == 1,
        };
    if by_link || !all_were_open {
        return Ok(None);
    }
    let form = ask_or_again(caller, client, asked).await?;
    Ok(form.map(|form| choose(client, &form, turn)))
}

/// The form for the first of these that is open and has no proven browser yet; `left` are the tries after a wrong code.
pub(super) async fn ask(
    caller: &Caller,
    asked: &[Elicitation],
    left: &TriesLeft,
) -> Result<Option<FormAsk>, Problem> {
    let unproven = unproven(caller, asked).await?;
    let Some(first) = unproven.first() else { return Ok(None) };
    let host = caller.app.settings.public_url.authority();
    let message = match left_of(left, first.id) {
        None => format!(
            "Type the code that the page at {host} shows you, to connect {}. So {} knows that the browser with that page \
             is yours. If somebody else gave you a code, do not type it.",
            caller.app.provider_name(&first.provider),
            caller.server().name,
        ),
        Some(left) => format!(
            "No page that is open now shows that code. Type the one that your own page at {host} shows you, to connect \
             {}. Tries left: {left}.",
            caller.app.provider_name(&first.provider),
        ),
    };
    form(first, message).map(Some)
}

/// The form once more, for the first of these that has its browser and of which another browser shows a code since then:
/// the owner may have lost the one. Asked for codes minted after `since` alone, or after a wrong code. Gives when the code
/// was minted. A client without forms is asked for nothing.
///
/// A stranger with the link can show codes, too. So this may only ever add a form to an answer that is due anyway: nothing
/// is answered sooner for it, and a "no" to it ends nothing.
pub(super) async fn ask_again(
    caller: &Caller,
    client: &Client,
    asked: &[Elicitation],
    left: &TriesLeft,
    since: Millis,
) -> Result<Option<(FormAsk, Millis)>, Problem> {
    if !client.elicitation.form() {
        return Ok(None);
    }
    let (app, now) = (&caller.app, caller.app.clock.now());
    let mut newer = Vec::new();
    for one in by_code(app, asked, now) {
        let minted = app.store.code_since_proof(one.id, now).await?;
        let may_be_asked = |minted: &Millis| match left_of(left, one.id) {
            None => *minted > since,
            Some(left) => left > 0,
        };
        newer.extend(minted.filter(may_be_asked).map(|minted| (minted, one)));
    }
    // In their order, so that each is newer than those that were asked for.
    let Some((minted, first)) = newer.into_iter().min_by_key(|(minted, _)| *minted) else { return Ok(None) };
    let host = app.settings.public_url.authority();
    let tries = left_of(left, first.id).map(|left| format!(" Tries left: {left}.")).unwrap_or_default();
    let message = format!(
        "Another page at {host} shows a code by now. If you opened that page yourself, type its code to connect {} there \
         instead of where you began. Otherwise type nothing: somebody else may have your link.{tries}",
        app.provider_name(&first.provider),
    );
    Ok(Some((form(first, message)?, minted)))
}

/// Either form, where no round counts how often it was asked.
pub(super) async fn ask_or_again(
    caller: &Caller,
    client: &Client,
    asked: &[Elicitation],
) -> Result<Option<FormAsk>, Problem> {
    let none = TriesLeft::new();
    if let Some(form) = ask(caller, asked, &none).await? {
        return Ok(Some(form));
    }
    Ok(ask_again(caller, client, asked, &none, Millis(0)).await?.map(|(form, _)| form))
}

fn left_of(left: &TriesLeft, id: ElicitationId) -> Option<i64> {
    left.iter().filter(|of| of.0 == id).map(|of| of.1).min()
}

/// Those that are open and whose user types codes.
fn by_code<'a>(app: &App, asked: &'a [Elicitation], now: Millis) -> impl Iterator<Item = &'a Elicitation> {
    asked.iter().filter(move |one| one.state(now).is_open() && connect::is_by_code(app, one))
}

/// Those that are open and have no proven browser yet.
pub(super) async fn unproven<'a>(
    caller: &Caller,
    asked: &'a [Elicitation],
) -> Result<Vec<&'a Elicitation>, Refusal> {
    let (app, now) = (&caller.app, caller.app.clock.now());
    let looked = by_code(app, asked, now).map(async |one| {
        let proven = app.store.has_proven_browser(one.id, now).await?;
        Ok::<_, Refusal>((!proven).then_some(one))
    });
    Ok(try_join_all(looked).await?.into_iter().flatten().collect())
}

/// Takes the codes that came with a call: from the answer to each elicitation's form, or the one that the MCP server
/// passes on, which may be for any of them. A client that did not declare forms has answered none. Gives the tries that
/// are left where one was wrong.
pub(super) async fn take(
    caller: &Caller,
    question: &Question,
    asked: &[Elicitation],
    responses: &InputResponses,
) -> Result<TriesLeft, Refusal> {
    let app = &caller.app;
    let open: Vec<Elicitation> = by_code(app, asked, app.clock.now()).cloned().collect();
    let heard = may_answer(caller, question);
    let answers =
        open.iter().filter_map(|one| Some((std::slice::from_ref(one), answered(responses, &key(one))?)));
    let mut codes: Vec<(&[Elicitation], Secret)> = answers.filter(|_| heard).collect();
    if let Some(code) = question.code.as_ref().filter(|_| codes.is_empty() && !open.is_empty()) {
        codes.push((&open, code.clone()));
    }
    let mut left = TriesLeft::new();
    for (of, code) in codes {
        left.extend(connect::prove(app, of, &question.client_ref, &code).await?);
    }
    Ok(left)
}

fn answered(responses: &InputResponses, key: &str) -> Option<Secret> {
    match responses.elicited(key)?.content?.remove(FIELD)? {
        ElicitValue::Text(code) => Some(Secret::new(code)),
        ElicitValue::Number(_) | ElicitValue::Bool(_) | ElicitValue::Many(_) => None,
    }
}

/// What a code without a `request_state` may be for: what is open for the same user, needs and client.
pub(super) async fn open_of(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    found: &[Resolved],
) -> Result<Vec<Elicitation>, Problem> {
    let missing = question.needs.iter().zip(found).filter(|(_, found)| matches!(found, Resolved::Missing(_)));
    let (app, server) = (&caller.app, &caller.server().id);
    let now = app.clock.now();
    let each =
        missing.map(|(need, _)| app.store.open_of(server, owner, &need.provider, &question.client_ref, now));
    Ok(try_join_all(each).await?.into_iter().flatten().collect())
}

/// Of what a code may have been for, one for each provider: the one whose browser is proven now, else the newest.
pub(super) async fn pick(caller: &Caller, open: Vec<Elicitation>) -> Result<Vec<Elicitation>, Problem> {
    let waiting: Vec<_> = unproven(caller, &open).await?.into_iter().map(|one| one.id).collect();
    let mut picked: Vec<Elicitation> = Vec::new();
    for one in open {
        let same = picked.iter_mut().find(|other| other.provider == one.provider);
        match same {
            None => picked.push(one),
            Some(other) if waiting.contains(&other.id) && !waiting.contains(&one.id) => *other = one,
            Some(_) => {}
        }
    }
    Ok(picked)
}

fn form(asked: &Elicitation, message: String) -> Result<FormAsk, Problem> {
    let field =
        Text::new().title("Code on the page").description("Eight letters, such as WDJB-MJHT.").length(8, 16);
    let form = Form::builder().required(FIELD, field).build().map_err(|_| Problem::internal())?;
    let request = FormRequest::new(message, form).map_err(|error| {
        // The only part of it that is not ours are names from the settings.
        tracing::error!(%error, "the form for a code cannot be asked; rename the MCP server or the provider");
        Problem::internal()
    })?;
    Ok(FormAsk::new(key(asked), request))
}
