//! Who this browser's person was, for each issuer, across sessions: a digest in a sealed cookie.
//!
//! Whoever gets hold of this browser's authorize URL can answer it with a code of his own, and the browser would be
//! signed in as him. So a change of person is asked about, and this is how a change is noticed. It proves nothing and
//! opens nothing.

use std::time::Duration;

use axum::{http::header, response::Response};

use crate::{
    secret::Hash,
    subject::Subject,
    vault::Purpose,
    web::{
        cookies::{self, SameSite},
        here::Here,
    },
};

const COOKIE: &str = "consentry-browser";
const LIFE: Duration = Duration::from_hours(24 * 400);
const TEXT_BYTES_MAX: usize = 1024;
const ISSUERS_MAX: usize = 8;
const ISSUER_BYTES: usize = 8;
const SUBJECT_BYTES: usize = 16;

/// The last person of each issuer, the most recent first.
#[derive(Default)]
pub(super) struct Remembered(Vec<([u8; ISSUER_BYTES], [u8; SUBJECT_BYTES])>);

impl Remembered {
    /// What the cookie says; nothing when there is none that opens.
    pub(super) fn read(here: &Here) -> Self {
        let text = here.cookies.get(COOKIE).filter(|text| text.len() <= TEXT_BYTES_MAX);
        let plain = text.and_then(|text| here.app.vault.open_text(Purpose::BrowserCookie, &[], text).ok());
        let Some(plain) = plain else { return Self::default() };
        let entries = plain.expose().chunks_exact(ISSUER_BYTES + SUBJECT_BYTES).take(ISSUERS_MAX);
        Self(
            entries
                .filter_map(|entry| {
                    let (issuer, subject) = entry.split_first_chunk()?;
                    Some((*issuer, subject.try_into().ok()?))
                })
                .collect(),
        )
    }

    /// Whether somebody else was here for the same issuer.
    pub(super) fn is_another(&self, subject: &Subject) -> bool {
        let (issuer, person) = digests(subject);
        self.0.iter().any(|(one, last)| *one == issuer && *last != person)
    }

    /// Writes down who is here now.
    pub(super) fn keep(self, here: &Here, subject: &Subject, response: &mut Response) {
        let now = digests(subject);
        let others = self.0.into_iter().filter(|(issuer, _)| *issuer != now.0);
        let entries = std::iter::once(now).chain(others).take(ISSUERS_MAX);
        let plain: Vec<u8> =
            entries.flat_map(|(issuer, person)| [&issuer[..], &person[..]].concat()).collect();
        let text = here.app.vault.seal_text(Purpose::BrowserCookie, &[], &plain);
        let url = &here.app.settings.public_url;
        let cookie = cookies::set(url, COOKIE, &text, Some(LIFE), SameSite::Lax);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Digests suffice under the seal, and they do not change with the ring's keys.
fn digests(subject: &Subject) -> ([u8; ISSUER_BYTES], [u8; SUBJECT_BYTES]) {
    let (mut issuer, mut person) = ([0; ISSUER_BYTES], [0; SUBJECT_BYTES]);
    issuer.copy_from_slice(&Hash::of(subject.issuer.as_bytes()).0[..ISSUER_BYTES]);
    person.copy_from_slice(&Hash::of(subject.sub.as_bytes()).0[..SUBJECT_BYTES]);
    (issuer, person)
}
