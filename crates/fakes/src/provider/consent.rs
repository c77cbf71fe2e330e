//! The consent page: who asks, for what, as which account; and what the person answered there.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::Inner;
use crate::answers::{authorize_parameters, refused, reply, set_cookie};
use crate::log::lock;
use crate::oauth::{Asked, Refused, Turned, Via};
use crate::pages::{escape, hidden, page};
use crate::parameters::Parameters;

/// `GET` or `POST /authorize`.
pub(super) async fn authorize(
    State(inner): State<Arc<Inner>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let core = &inner.core;
    let asked = authorize_parameters(&method, &uri, &headers, &body)
        .map_err(Turned::Here)
        .and_then(|sent| core.ask(sent, Via::Browser));
    match asked {
        Err(Turned::Here(refusal)) => refused(&core.party, &refusal),
        Err(Turned::Back(error)) => reply(&core.party, &error),
        Ok(asked) if asked.prompt.iter().any(|prompt| prompt == "none") => {
            reply(&core.party, &core.deny(&asked, "interaction_required"))
        }
        Ok(asked) => consent_page(&inner, asked, &headers),
    }
}

fn consent_page(inner: &Inner, asked: Asked, headers: &HeaderMap) -> Response {
    let client = escape(&asked.client.name);
    let scopes: String = asked.scopes.iter().map(|scope| checkbox(scope)).collect();
    let (handle, cookie) = inner.core.put_aside(asked, headers);
    let accounts: String = lock(&inner.accounts)
        .iter()
        .map(|account| {
            let login = escape(&account.login);
            format!("<button type=\"submit\" name=\"account\" value=\"{login}\">Allow as {login}</button>")
        })
        .collect();
    let body = format!(
        "<p><strong>{client}</strong> wants to use an account of yours.</p>\n\
         <form method=\"post\" action=\"/consent\">{}\n\
         <fieldset><legend>It may</legend>{scopes}</fieldset>\n<p>{accounts}</p>\n\
         <p><button type=\"submit\" name=\"deny\" value=\"1\">Deny</button></p></form>",
        hidden("request", &handle)
    );
    let title = format!("Allow access to {}?", inner.core.party);
    set_cookie(page(StatusCode::OK, &inner.core.party, &title, &body), cookie)
}

fn checkbox(scope: &str) -> String {
    let scope = escape(scope);
    format!("<label><input type=\"checkbox\" name=\"scope\" value=\"{scope}\" checked> {scope}</label>")
}

/// `POST /consent`: the form of that page.
pub(super) async fn answer(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    let core = &inner.core;
    match read_answer(&inner, &headers, &body) {
        Err(refusal) => refused(&core.party, &refusal),
        Ok((asked, None)) => reply(&core.party, &core.deny(&asked, "access_denied")),
        Ok((asked, Some((account, ticked)))) => {
            let now = core.clock.now_s();
            reply(&core.party, &core.approve(&asked, &account, &ticked, now))
        }
    }
}

type Choice = Option<(String, Vec<String>)>;

fn read_answer(inner: &Inner, headers: &HeaderMap, body: &Bytes) -> Result<(Asked, Choice), Refused> {
    let sent = Parameters::form(headers, body)
        .map_err(|error| Refused::new("invalid_request", error.to_string()))?;
    let handle = sent.get("request").unwrap_or_default();
    let account = sent.owned("account");
    if sent.get("deny").is_none() {
        inner.known(account.as_deref().unwrap_or_default())?;
    }
    let asked = inner.core.take_up(handle, headers)?;
    if sent.get("deny").is_some() {
        return Ok((asked, None));
    }
    let ticked = sent.all("scope").into_iter().filter(|scope| asked.scopes.contains(scope)).collect();
    Ok((asked, account.map(|account| (account, ticked))))
}

impl Inner {
    /// The account must exist.
    pub(super) fn known(&self, login: &str) -> Result<(), Refused> {
        if lock(&self.accounts).iter().any(|account| account.login == login) {
            return Ok(());
        }
        Err(Refused::new("invalid_request", format!("there is no account {login}")))
    }
}
