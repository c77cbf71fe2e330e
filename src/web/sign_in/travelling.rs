//! The cookies of sign-ins on their way: one for each, so that two tabs do not overwrite each other, and few of them
//! (R36).

use axum::{http::header, response::Response};
use uuid::Uuid;

use crate::web::{
    cookies::{self, SameSite},
    here::Here,
};

/// How their names begin. The time stands next, so that the oldest comes first.
const SIGN_IN: &str = "consentry-sign-in-";
/// Sign-ins that a browser may have under way; the oldest is dropped.
const SIGN_INS_MAX: usize = 4;

impl Here {
    /// Name and value of the cookie of one sign-in.
    pub(super) fn travelling(&self, key: &str) -> Option<(&str, &str)> {
        let mut fitting = self.cookies.starting_with(SIGN_IN).filter(|(name, _)| {
            name.strip_prefix(SIGN_IN)
                .and_then(|rest| rest.split_once('-'))
                .is_some_and(|(_, found)| found == key)
        });
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        }
    }

    /// Sets the cookie of a sign-in that was begun, and drops the oldest when there are too many.
    pub(super) fn keep_travelling(&self, response: &mut Response, key: &str, value: &str) {
        let settings = &self.app.settings;
        let name = format!("{SIGN_IN}{:010x}-{key}", self.app.clock.now().seconds());
        let life = Some(settings.lifetimes.sign_in);
        let cookie = cookies::set(&settings.public_url, &name, value, life, SameSite::Lax);
        response.headers_mut().append(header::SET_COOKIE, cookie);
        let others = self.cookies.starting_with(SIGN_IN).map(|(name, _)| (name, name));
        for name in cookies::oldest(others, SIGN_INS_MAX) {
            self.forget(response, &name);
        }
    }

    /// The lineage that other sign-ins of this browser on their way were begun in.
    pub(super) fn lineage(&self) -> Option<Uuid> {
        let life = self.app.settings.lifetimes.sign_in;
        let mut others = self.cookies.starting_with(SIGN_IN);
        others.find_map(|(_, cookie)| self.app.identity.browser_of(cookie, life))
    }
}
