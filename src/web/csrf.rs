//! Whether a form was posted from a page of ours (R39).
//!
//! The session-bound token always, **and** `Sec-Fetch-Site: same-origin`, or exactly our `Origin`, or both absent.

use axum::http::{HeaderMap, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    app::App,
    audit::{About, Actor},
    config::PublicUrl,
    secret::Hash,
    telemetry::SecurityEvent,
    vault::Purpose,
};

/// The hidden field's name.
pub const FIELD: &str = "csrf";

/// A form that did not come from a page of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not posted from a page of ours")]
pub struct FromElsewhere;

/// The token for the forms of a session.
pub fn token(app: &App, session: &Hash) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(app.vault.mac(Purpose::Csrf, &[session.as_bytes()]))
}

/// Checks the headers and the token of a posted form.
///
/// # Errors
/// [`FromElsewhere`], which is a security event.
pub fn check(
    app: &App,
    headers: &HeaderMap,
    session: &Hash,
    token: Option<&str>,
) -> Result<(), FromElsewhere> {
    let tag = token.and_then(|token| BASE64_URL_SAFE_NO_PAD.decode(token).ok());
    let tag_fits = tag.is_some_and(|tag| app.vault.verify_mac(Purpose::Csrf, &[session.as_bytes()], &tag));
    if tag_fits && is_ours(headers, &app.settings.public_url) {
        return Ok(());
    }
    app.security_event(SecurityEvent::CsrfRefused, Actor::Unknown, About::default());
    Err(FromElsewhere)
}

/// What the browser says of where the post came from.
pub fn is_ours(headers: &HeaderMap, public_url: &PublicUrl) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    match (sites.next(), sites.next()) {
        (Some(site), None) => site == "same-origin",
        (Some(_), Some(_)) => false,
        (None, _) => {
            let mut origins = headers.get_all(header::ORIGIN).iter();
            match (origins.next(), origins.next()) {
                (None, _) => true,
                (Some(origin), None) => origin.as_bytes() == public_url.origin().as_bytes(),
                (Some(_), Some(_)) => false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    /// R39: a cross-site post is refused whatever else it says.
    #[test]
    fn the_browsers_word_decides() {
        let public_url = PublicUrl::new("https://connect.example".parse().unwrap()).unwrap();
        for (pairs, ours) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "null")], true),
            (&[("origin", "https://connect.example")], true),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "cross-site"), ("origin", "https://connect.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", "https://connect.example.evil")], false),
            (&[("origin", "https://connect.example:444")], false),
            (&[("origin", "http://connect.example")], false),
            (&[("origin", "https://connect.example"), ("origin", "https://evil.example")], false),
        ] {
            assert_eq!(is_ours(&headers(pairs), &public_url), ours, "{pairs:?}");
        }
    }
}
