//! `/callback/{server}/{provider}`: the third party sends the browser back here. Never renders: every answer is a
//! redirect to a clean address, so that no code stays in a history (R44).

use axum::{extract::RawQuery, response::Response};

use crate::{
    connect::{self, Arrival, Arriving, Browser, Refusal},
    elicitation::{AttemptId, ElicitationId, ProviderId, ServerId},
};

use super::{
    here::{Here, done_path, resume_path, see_other},
    pages::Bad,
    parameters::{self, Parameters},
    segments::{Body, Segments},
};

/// The path's server and provider. What cannot be read is redirected too: the code must not stay in the address.
type Ids = Segments<(String, String)>;

/// `GET /callback/{server}/{provider}`.
pub async fn arrive(here: Here, path: Result<Ids, Response>, RawQuery(query): RawQuery) -> Response {
    let Ok(Segments(path)) = path else { return see_other("/stopped/not-found") };
    let pairs = Parameters::pairs(query.as_deref().unwrap_or_default());
    take(&here, &path, &pairs).await
}

/// `POST /callback/{server}/{provider}`, only for providers that answer by form_post. The session cookie does not
/// come with a cross-site post, so the response is parked and taken up by a GET of our own (R69).
pub async fn arrive_by_form(
    here: Here,
    path: Result<Ids, Response>,
    RawQuery(query): RawQuery,
    body: Result<Body, Response>,
) -> Response {
    let Ok(Segments(path)) = path else { return see_other("/stopped/not-found") };
    let provider = path.1.parse().ok().and_then(|id: ProviderId| here.app.providers.get(&id));
    if !provider.is_some_and(|provider| provider.form_post) {
        return here.bad(Bad::Method);
    }
    // A query beside the body is a mix of two responses (R52).
    if query.is_some_and(|query| !query.is_empty()) || !parameters::is_form(&here.headers) {
        return see_other("/stopped/bad-request");
    }
    let Ok(Body(body)) = body else { return see_other("/stopped/bad-request") };
    let Ok(text) = std::str::from_utf8(&body) else { return see_other("/stopped/bad-request") };
    take(&here, &path, &Parameters::pairs(text)).await
}

/// `GET /connect/{id}/resume?attempt=`: the way on after a sign-in that was missing at the callback.
pub async fn resume(here: Here, Segments(id): Segments<String>, RawQuery(query): RawQuery) -> Response {
    let Ok(id) = id.parse::<ElicitationId>() else { return here.not_found() };
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let Some(attempt) = parameters.get("attempt").and_then(|id| id.parse::<AttemptId>().ok()) else {
        return here.not_found();
    };
    let session = here.session();
    let code = |id| here.code_cookie(id).map(|cookie| cookie.hash());
    let browser = Browser { session: session.as_ref(), code: &code };
    let cookie = |id| here.attempt_cookie(id).map(str::to_owned);
    match connect::resume(&here.app, id, attempt, browser, &cookie).await {
        Ok(arrival) => go(&arrival),
        Err(refusal) => {
            let visit = here.look(id).await;
            match (refusal, visit) {
                (Refusal::NotSignedIn, Ok(visit)) => here.way_in(&visit, Some(attempt)),
                (refusal, visit) => {
                    let visitor = visit.ok().and_then(|visit| visit.visitor);
                    here.refuse(refusal, id, visitor.as_ref())
                }
            }
        }
    }
}

async fn take(here: &Here, path: &(String, String), pairs: &[(String, String)]) -> Response {
    let (Ok(server), Ok(provider)) = (path.0.parse::<ServerId>(), path.1.parse::<ProviderId>()) else {
        return see_other("/stopped/not-found");
    };
    let session = here.session();
    let code = |id| here.code_cookie(id).map(|cookie| cookie.hash());
    let browser = Browser { session: session.as_ref(), code: &code };
    let cookie = |id| here.attempt_cookie(id).map(str::to_owned);
    let at = Arriving { server: &server, provider: &provider, browser, cookie: &cookie };
    match connect::arrive(&here.app, pairs, &at).await {
        Ok(arrival) => go(&arrival),
        Err(Refusal::Store(error)) => {
            tracing::error!(reference = here.reference, %error, "a callback could not be looked at");
            see_other("/stopped/unavailable")
        }
        Err(refusal) => {
            tracing::error!(reference = here.reference, error = %refusal, "a callback could not be taken");
            see_other("/stopped/server-error")
        }
    }
}

fn go(arrival: &Arrival) -> Response {
    match arrival {
        Arrival::Done(id, attempt) => see_other(&done_path(*id, Some(*attempt))),
        Arrival::Resume(id, attempt) => see_other(&resume_path(*id, *attempt)),
        Arrival::WrongAccount(id) => see_other(&format!("/stopped/wrong-account?elicitationId={id}")),
        Arrival::OtherBrowser => see_other("/stopped/other-browser"),
        Arrival::ProviderMismatch => see_other("/stopped/provider-mismatch"),
        Arrival::Bad(_) => see_other("/stopped/bad-request"),
    }
}
