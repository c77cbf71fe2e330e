//! `/connect/{id}/code`: a code for this browser, where nobody can sign in. A GET shows what this browser has already and
//! mints nothing (R8).

use axum::{
    http::{HeaderValue, header},
    response::Response,
};

use crate::{
    audit::{About, Actor},
    connect::{self, CodeCookie, Refusal},
    elicitation::{AttemptId, ElicitationId},
    store::Visit,
    telemetry::SecurityEvent,
};

use super::{
    cookies::{self, SameSite},
    csrf,
    here::{Here, connect_path, resume_path, see_other},
    pages::{self, Bad, Shown},
    parameters::{ParameterError, Parameters},
    segments::{Body, Segments},
};

/// `POST /connect/{id}/code`: the browser asks for a code. There is no session before it that a token could be bound to:
/// what the browser says of where the post came from decides, and all that another site could reach is a code that it
/// cannot read.
pub async fn mint(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let Ok(id) = id.parse::<ElicitationId>() else { return here.not_found() };
    match Parameters::form(&here.headers, &body) {
        Ok(_) => {}
        Err(ParameterError::MediaType) => return here.bad(Bad::MediaType),
        Err(ParameterError::Twice | ParameterError::Encoding) => return here.bad(Bad::Malformed),
    }
    if !csrf::is_ours(&here.headers, &here.app.settings.public_url) {
        let about = About { elicitation: Some(id), ..About::default() };
        here.app.security_event(SecurityEvent::CsrfRefused, Actor::Unknown, about);
        return here.bad(Bad::FromElsewhere);
    }
    let minted = match here.look(id).await {
        Ok(visit) => connect::mint(&here.app, &visit).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = see_other(&connect_path(id));
    match minted {
        Ok(Some(minted)) => {
            for cookie in here.code_cookies(id, &minted) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
        // Its page says how it stands.
        Ok(None) | Err(Refusal::Moved) => response,
        Err(refusal) => here.refuse(refusal, id, None),
    }
}

impl Here {
    /// What this browser holds of a code for this elicitation.
    pub fn code_cookie(&self, id: ElicitationId) -> Option<CodeCookie> {
        let (_, sealed) = self.cookies.get(&cookies::code(id))?.split_once('.')?;
        CodeCookie::open(&self.app.vault, id, sealed)
    }

    fn code_cookies(&self, id: ElicitationId, minted: &connect::Minted) -> Vec<HeaderValue> {
        let url = &self.app.settings.public_url;
        let name = cookies::code(id);
        // The time stands before it, so that a browser that has too many knows the oldest.
        let value = format!("{:013}.{}", self.app.clock.now().0, minted.cookie);
        let mut set = vec![cookies::set(url, &name, &value, Some(minted.life), SameSite::Lax)];
        set.extend(self.cookies.codes_to_drop(&name).iter().map(|name| cookies::remove(url, name)));
        set
    }

    /// What a browser sees that is not proven to be the owner's: where to sign in, or its code.
    pub fn way_in(&self, visit: &Visit, attempt: Option<AttemptId>) -> Response {
        let asked = &visit.elicitation;
        if !connect::is_by_code(&self.app, asked) {
            return self.show(&self.sign_in(asked, attempt));
        }
        let now = self.app.clock.now();
        if !asked.state(now).is_open() || asked.expires_at <= now {
            return self.show(&pages::Closed { frame: self.frame() });
        }
        let held = self.code_cookie(asked.id);
        let shown = match (held, visit.code.as_ref().is_some_and(|code| code.waits(now))) {
            (Some(cookie), true) => Shown::Code(cookie.shown()),
            (Some(_), false) => Shown::TooOld,
            (None, _) => Shown::Nothing,
        };
        self.show(&pages::Code {
            frame: self.frame(),
            // The client's name and the message are the owner's business.
            asked: pages::Asked { client: None, ..self.asked(asked) },
            shown,
            mint: self.post_of(asked, "code"),
            on: attempt.map_or_else(|| connect_path(asked.id), |attempt| resume_path(asked.id, attempt)),
        })
    }
}
