//! `POST /sign-out`: ends this browser's session on every replica, with its attempts and what they had parked (R37).

use axum::response::Response;

use crate::web::{
    cookies, csrf,
    here::{Here, see_other},
    pages::Bad,
    parameters::{ParameterError, Parameters},
    segments::Body,
};

/// Where one is told so.
const SIGNED_OUT: &str = "/stopped/signed-out";

/// Without a session there is nothing to end, and nothing to guard.
pub async fn leave(here: Here, Body(body): Body) -> Response {
    let form = match Parameters::form(&here.headers, &body) {
        Ok(form) => form,
        Err(ParameterError::MediaType) => return here.bad(Bad::MediaType),
        Err(ParameterError::Twice | ParameterError::Encoding) => return here.bad(Bad::Malformed),
    };
    let Some(session) = here.session() else { return see_other(SIGNED_OUT) };
    if csrf::check(&here.app, &here.headers, &session, form.get(csrf::FIELD)).is_err() {
        return here.bad(Bad::FromElsewhere);
    }
    if let Err(error) = here.app.store.sign_out(&session, here.app.clock.now()).await {
        return here.store_trouble(&error);
    }
    let mut response = see_other(SIGNED_OUT);
    here.forget(&mut response, cookies::SESSION);
    for (name, _) in here.cookies.starting_with(cookies::ATTEMPT) {
        here.forget(&mut response, name);
    }
    here.forget_waiting(&mut response);
    response
}
