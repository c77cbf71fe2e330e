//! Our cookies: their names, their attributes, and reading them back (R35).
//!
//! Over https every name has the `__Host-` prefix, so that no sibling domain can set one; over loopback http the
//! prefix and `Secure` are dropped, because browsers demand both together.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

use crate::{
    config::PublicUrl,
    elicitation::{AttemptId, ElicitationId},
    secret::Hash,
};

/// Bytes of all cookies together that are looked at; a browser of ours sends less than 4 KiB.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Attempts that a browser may have under way; the oldest is dropped (R36).
const ATTEMPTS_MAX: usize = 8;
/// Codes that a browser may show or have shown; the oldest is dropped.
const CODES_MAX: usize = 8;

/// The cookies of one request. A name that stands twice has no value.
#[derive(Clone, Debug, Default)]
pub struct Cookies {
    prefix: &'static str,
    pairs: Vec<(String, String)>,
}

impl Cookies {
    /// Reads the `Cookie` headers.
    pub fn read(headers: &HeaderMap, public_url: &PublicUrl) -> Self {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut left = HEADER_BYTES_MAX;
        let mut pairs = Vec::new();
        for pair in values.flat_map(|value| value.split(';')) {
            let Some(rest) = left.checked_sub(pair.len()) else { break };
            left = rest;
            if let Some((name, value)) = pair.trim().split_once('=') {
                pairs.push((name.to_owned(), value.to_owned()));
            }
        }
        Self { prefix: prefix(public_url), pairs }
    }

    /// The value of one of our cookies; `name` without the prefix.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self
            .pairs
            .iter()
            .filter(|(found, _)| found.strip_prefix(self.prefix).is_some_and(|found| found == name))
            .map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value),
            _ => None,
        }
    }

    /// Our cookies whose names begin so, without the prefix.
    pub fn starting_with<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.pairs.iter().filter_map(move |(name, value)| {
            let name = name.strip_prefix(self.prefix)?;
            name.starts_with(start).then_some((name, value.as_str()))
        })
    }

    /// The hash of the session cookie's value: all that the store knows of it.
    pub fn session(&self) -> Option<Hash> {
        self.get(SESSION)
            .filter(|value| (16..=128).contains(&value.len()))
            .map(|value| Hash::of(value.as_bytes()))
    }

    /// The attempts that must be dropped so that one more fits; row ids are ordered by time.
    pub fn attempts_to_drop(&self) -> Vec<String> {
        oldest(self.starting_with(ATTEMPT).map(|(name, _)| (name, name)), ATTEMPTS_MAX)
    }

    /// The codes that must be dropped so that `new` fits; their values begin with the time.
    pub fn codes_to_drop(&self, new: &str) -> Vec<String> {
        let others = self.starting_with(CODE).filter(|(name, _)| *name != new);
        oldest(others.map(|(name, value)| (value, name)), CODES_MAX)
    }
}

/// The names of those cookies that must be dropped so that one more makes at most `most`. Each comes with what is ordered
/// by its age.
pub fn oldest<'a>(by_age: impl Iterator<Item = (&'a str, &'a str)>, most: usize) -> Vec<String> {
    let mut by_age: Vec<(&str, &str)> = by_age.collect();
    by_age.sort_unstable();
    let too_many = (by_age.len() + 1).saturating_sub(most);
    by_age.into_iter().take(too_many).map(|(_, name)| name.to_owned()).collect()
}

/// The session's cookie, without the prefix.
pub const SESSION: &str = "consentry-session";
/// How the names of attempts' cookies begin.
pub const ATTEMPT: &str = "consentry-attempt-";

/// How the names of codes' cookies begin.
pub const CODE: &str = "consentry-code-";

/// The name of the cookie of this browser's code for one elicitation.
pub fn code(id: ElicitationId) -> String {
    format!("{CODE}{}", id.0.simple())
}

/// The name of one attempt's cookie, so that two tabs do not overwrite each other (R36).
pub fn attempt(id: AttemptId) -> String {
    format!("{ATTEMPT}{}", id.0.simple())
}

/// When a cookie is sent along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// With top-level navigation by GET.
    Lax,
    /// Always; only for the attempts of providers that answer by form_post (R69).
    None,
}

/// A `Set-Cookie` value. `name` is without the prefix; `value` is of the cookie alphabet, as base64url is.
pub fn set(
    public_url: &PublicUrl,
    name: &str,
    value: &str,
    life: Option<Duration>,
    same_site: SameSite,
) -> HeaderValue {
    let prefix = prefix(public_url);
    // Browsers take SameSite=None only with Secure.
    let (secure, same_site) = match (public_url.is_https(), same_site) {
        (true, SameSite::None) => ("; Secure", "None"),
        (true, SameSite::Lax) => ("; Secure", "Lax"),
        (false, _) => ("", "Lax"),
    };
    let life = life.map(|life| format!("; Max-Age={}", life.as_secs())).unwrap_or_default();
    let text = format!("{prefix}{name}={value}; Path=/; HttpOnly; SameSite={same_site}{secure}{life}");
    // Names and values are ours and of the cookie alphabet; anything else is no cookie at all.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// A `Set-Cookie` value that removes a cookie.
pub fn remove(public_url: &PublicUrl, name: &str) -> HeaderValue {
    set(public_url, name, "", Some(Duration::ZERO), SameSite::Lax)
}

fn prefix(public_url: &PublicUrl) -> &'static str {
    if public_url.is_https() { "__Host-" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> PublicUrl {
        PublicUrl::new(text.parse().unwrap()).unwrap()
    }

    fn read(cookie: &str, public_url: &PublicUrl) -> Cookies {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
        Cookies::read(&headers, public_url)
    }

    /// R35: prefix, Secure, HttpOnly, Path=/, no Domain, Lax.
    #[test]
    fn a_cookie_has_every_attribute() {
        let https = url("https://connect.example");
        assert_eq!(
            set(&https, SESSION, "v", Some(Duration::from_secs(60)), SameSite::Lax),
            "__Host-consentry-session=v; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=60"
        );
        let http = url("http://localhost:8080");
        assert_eq!(
            set(&http, SESSION, "v", None, SameSite::None),
            "consentry-session=v; Path=/; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn over_https_a_name_without_the_prefix_is_not_ours() {
        let https = url("https://connect.example");
        assert_eq!(read("consentry-session=planted", &https).get(SESSION), None);
        assert_eq!(read("a=b; __Host-consentry-session=real", &https).get(SESSION), Some("real"));
        assert_eq!(read("__Host-consentry-session=a; __Host-consentry-session=b", &https).get(SESSION), None);
    }

    /// R36: at most eight, the oldest dropped.
    #[test]
    fn the_oldest_attempts_are_dropped() {
        let http = url("http://localhost");
        let header: String = (0..9).map(|n| format!("{ATTEMPT}{n:032}=v; ")).collect();
        let dropped = read(&header, &http).attempts_to_drop();
        assert_eq!(dropped, [format!("{ATTEMPT}{:032}", 0), format!("{ATTEMPT}{:032}", 1)]);
        assert!(read("a=b", &http).attempts_to_drop().is_empty());
    }

    #[test]
    fn the_oldest_codes_are_dropped() {
        let http = url("http://localhost");
        let header: String = (0..9).map(|n| format!("{CODE}{n}={:013}.v; ", 100 - n)).collect();
        let cookies = read(&header, &http);
        assert_eq!(cookies.codes_to_drop(&format!("{CODE}new")), [format!("{CODE}8"), format!("{CODE}7")]);
        assert_eq!(cookies.codes_to_drop(&format!("{CODE}8")), [format!("{CODE}7")]);
        assert!(read("a=b", &http).codes_to_drop("new").is_empty());
    }
}
