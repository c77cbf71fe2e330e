//! "You are now X. Continue?": a sign-in that changes this browser's person waits, sealed in a cookie of its own, for
//! a yes by POST. Nobody is signed in before.

use axum::{extract::RawQuery, http::header, response::Response};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    audit::{About, Actor},
    clock::Millis,
    identity::{Arrived, Target},
    secret::Hash,
    subject::Subject,
    telemetry::SecurityEvent,
    vault::Purpose,
    web::{
        cookies::{self, SameSite},
        csrf,
        here::{Here, see_other},
        pages::{self, Bad, Label, Post, SignInTrouble},
        parameters::{ParameterError, Parameters},
        segments::Body,
    },
};

/// How the names of these cookies begin.
const CONFIRM: &str = "consentry-confirm-";
/// The field, and the parameter, that says which one.
const WHICH: &str = "which";
const TEXT_BYTES_MAX: usize = 2048;

/// A sign-in that waits for the yes, as it stands in the seal.
#[derive(Serialize, Deserialize)]
struct Waiting {
    at: Millis,
    server: String,
    sub: String,
    label: Option<String>,
    browser: Uuid,
    target: Vec<u8>,
}

/// `GET /sign-in/confirm`: the question. Changes nothing.
pub async fn show(here: Here, RawQuery(query): RawQuery) -> Response {
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let which = parameters.get(WHICH).unwrap_or_default();
    let Some((cookie, arrived)) = here.waiting(which) else {
        return here.sign_in_failed(SignInTrouble::TooLate, None);
    };
    let person = arrived.label.as_deref().unwrap_or(&arrived.subject.sub);
    here.show(&pages::ConfirmIdentity {
        frame: here.frame(),
        person: Label::new(person),
        confirm: Post::new("/sign-in/confirm", here.confirm_token(cookie)).with(WHICH, which),
        switch: Some(super::again_path(&arrived.target, true)),
    })
}

/// `POST /sign-in/confirm`: the yes.
pub async fn agree(here: Here, Body(body): Body) -> Response {
    let form = match Parameters::form(&here.headers, &body) {
        Ok(form) => form,
        Err(ParameterError::MediaType) => return here.bad(Bad::MediaType),
        Err(ParameterError::Twice | ParameterError::Encoding) => return here.bad(Bad::Malformed),
    };
    let which = form.get(WHICH).unwrap_or_default();
    let Some((cookie, arrived)) = here.waiting(which) else {
        return here.sign_in_failed(SignInTrouble::TooLate, None);
    };
    if !here.is_confirmed_from(cookie, form.get(csrf::FIELD)) {
        here.app.security_event(SecurityEvent::CsrfRefused, Actor::Unknown, About::default());
        return here.bad(Bad::FromElsewhere);
    }
    match here.admit(&arrived).await {
        Ok(mut response) => {
            here.forget(&mut response, &format!("{CONFIRM}{which}"));
            response
        }
        Err(error) => here.store_trouble(&error),
    }
}

impl Here {
    /// Keeps a sign-in for the question, in place of any other that waits, and leads there.
    pub(super) fn ask_to_confirm(&self, server: &str, arrived: &Arrived) -> Response {
        let which: String = self.app.random.bytes::<8>().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut target = Vec::new();
        arrived.target.write(&mut target);
        let waiting = Waiting {
            at: self.app.clock.now(),
            server: server.to_owned(),
            sub: arrived.subject.sub.clone(),
            label: arrived.label.clone(),
            browser: arrived.browser,
            target,
        };
        let Ok(plain) = serde_json::to_vec(&waiting) else { return see_other("/stopped/server-error") };
        let settings = &self.app.settings;
        let text = self.app.vault.seal_text(Purpose::ConfirmSignIn, &[&which], &plain);
        let mut response = see_other(&format!("/sign-in/confirm?{WHICH}={which}"));
        let (name, life) = (format!("{CONFIRM}{which}"), Some(settings.lifetimes.sign_in));
        let cookie = cookies::set(&settings.public_url, &name, &text, life, SameSite::Lax);
        response.headers_mut().append(header::SET_COOKIE, cookie);
        self.forget_waiting(&mut response);
        response
    }

    /// Drops every sign-in that waits.
    pub(super) fn forget_waiting(&self, response: &mut Response) {
        for (name, _) in self.cookies.starting_with(CONFIRM) {
            self.forget(response, name);
        }
    }

    /// A sign-in that waits, if it is this browser's and not too old.
    fn waiting(&self, which: &str) -> Option<(&str, Arrived)> {
        let text =
            self.cookies.get(&format!("{CONFIRM}{which}")).filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        let plain = self.app.vault.open_text(Purpose::ConfirmSignIn, &[which], text).ok()?;
        let waiting: Waiting = serde_json::from_slice(plain.expose()).ok()?;
        if waiting.at.plus(self.app.settings.lifetimes.sign_in) <= self.app.clock.now() {
            return None;
        }
        let issuer = &self.app.identity.server(&waiting.server)?.issuer;
        let arrived = Arrived {
            subject: Subject::new(issuer, waiting.sub).ok()?,
            label: waiting.label,
            target: Target::read(&waiting.target)?,
            browser: waiting.browser,
        };
        Some((text, arrived))
    }

    /// There may be no session yet, so the form is bound to the cookie that waits.
    fn confirm_token(&self, cookie: &str) -> String {
        let tag = self.app.vault.mac(Purpose::Csrf, &[b"confirm", Hash::of(cookie.as_bytes()).as_bytes()]);
        BASE64_URL_SAFE_NO_PAD.encode(tag)
    }

    fn is_confirmed_from(&self, cookie: &str, token: Option<&str>) -> bool {
        let Some(tag) = token.and_then(|token| BASE64_URL_SAFE_NO_PAD.decode(token).ok()) else {
            return false;
        };
        let waiting = Hash::of(cookie.as_bytes());
        let parts: [&[u8]; 2] = [b"confirm", waiting.as_bytes()];
        self.app.vault.verify_mac(Purpose::Csrf, &parts, &tag)
            && csrf::is_ours(&self.headers, &self.app.settings.public_url)
    }
}
