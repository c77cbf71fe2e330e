//! `/connect/{id}/leaving`: names the third party's host, then goes there.
//!
//! A page of ours between the form and the provider, because Chrome and Safari apply `form-action` to the whole
//! redirect chain of a form's post (R42).

use axum::{extract::RawQuery, response::Response};

use crate::{
    connect::{self, Refusal},
    elicitation::{AttemptId, ElicitationId},
};

use super::{
    here::{Here, done_path, see_other},
    pages::{self, Away, Bad},
    parameters::Parameters,
    segments::Segments,
};

/// `GET /connect/{id}/leaving?attempt=`. Needs the session, the comparison and the attempt's cookie.
pub async fn show(here: Here, Segments(id): Segments<String>, RawQuery(query): RawQuery) -> Response {
    let Ok(id) = id.parse::<ElicitationId>() else { return here.not_found() };
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let Some(attempt) = parameters.get("attempt").and_then(|id| id.parse::<AttemptId>().ok()) else {
        return here.not_found();
    };
    let visit = match here.look(id).await {
        Ok(visit) => visit,
        Err(refusal) => return here.refuse(refusal, id, None),
    };
    let visitor = visit.visitor.clone();
    let opened = match connect::open(&here.app, visit) {
        Ok(opened) => opened,
        Err(refusal) => return here.refuse(refusal, id, visitor.as_ref()),
    };
    let cookie = here.attempt_cookie(attempt);
    let url = match opened.attempt(&here.app, attempt).await {
        Ok(found) => connect::leave(&here.app, &opened, &found, cookie).await,
        Err(refusal) => Err(refusal),
    };
    match url {
        Ok(url) => match Away::new(url) {
            Some(away) => {
                let asked = here.asked(opened.mine.elicitation());
                here.show(&pages::Leaving { frame: here.frame_of(&opened.visitor), asked, away })
            }
            None => {
                here.show(&pages::ProviderMisconfigured { frame: here.frame(), provider: None, ended: false })
            }
        },
        Err(Refusal::Moved) => see_other(&done_path(id, Some(attempt))),
        Err(Refusal::Provider(error)) => here.provider_failed(&error, &opened),
        Err(refusal) => here.refuse(refusal, id, Some(&opened.visitor)),
    }
}
