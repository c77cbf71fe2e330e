//! Values worth keeping from what a provider says: its answers, its callback, the tenant that was chosen.
//!
//! None is secret, and each is held against its list of hosts before it is kept (R73): once kept, it chooses where tokens
//! are sent. What must never be done here: keep what does not fit, or show it.

use serde_json::Value;
use url::Url;

use crate::{
    config::{Capture, CaptureFrom, Provider},
    provider::{
        diagnosis::{Failed, Spot, Step},
        error::ProviderError,
        path,
    },
    values::Values,
};

/// What of a JSON answer is kept.
///
/// # Errors
/// [`ProviderError::Malformed`] when a value does not fit, or one that is required is not there.
pub(super) fn from_answer(provider: &Provider, from: CaptureFrom, answer: &Value) -> Result<Values, Failed> {
    captured(
        provider,
        from,
        |path| path::text_at(answer, path),
        |spot, key, path| spot.lost(key, path, answer, &Values::default()),
    )
}

/// What of the callback's parameters is kept.
///
/// # Errors
/// [`ProviderError::Malformed`] when a value does not fit, or one that is required is not there.
pub fn from_callback(
    provider: &Provider,
    parameter: impl Fn(&str) -> Option<String>,
) -> Result<Values, ProviderError> {
    captured(provider, CaptureFrom::Callback, parameter, |spot, key, _| spot.of(key))
        .map_err(|failed| failed.tell(provider))
}

fn captured(
    provider: &Provider,
    from: CaptureFrom,
    at: impl Fn(&str) -> Option<String>,
    lost: impl Fn(Spot, String, &str) -> Spot,
) -> Result<Values, Failed> {
    let mut values = Values::default();
    for (name, capture) in provider.reads.captures.iter().filter(|(_, capture)| capture.from == from) {
        let spot = || Spot::at(Step::Capture(name.clone()));
        let found = at(&capture.path).filter(|text| !text.is_empty());
        let Some(text) = found else {
            if capture.required {
                let spot = lost(spot(), format!("captures.{name}.path"), &capture.path);
                return Err(Failed::unusable("value_missing", spot));
            }
            continue;
        };
        let kept = fit(capture, &text).filter(|value| values.insert(name, value).is_ok());
        if kept.is_none() {
            let rule = if capture.url_suffixes.is_empty() { "path" } else { "url_suffixes" };
            return Err(Failed::unusable("value_refused", spot().of(format!("captures.{name}.{rule}"))));
        }
    }
    Ok(values)
}

/// What a refresh's answer says anew of what was kept of the first one. What it does not say, or says in a way that does
/// not fit, stays as it was: the tokens that came with it exist nowhere else, and are not lost for it. With the names of
/// what did not fit.
pub fn renewed<'a>(provider: &'a Provider, answer: &Value) -> (Values, Vec<&'a str>) {
    let (mut values, mut refused) = (Values::default(), Vec::new());
    let captures = provider.reads.captures.iter().filter(|(_, capture)| capture.from == CaptureFrom::Answer);
    for (name, capture) in captures {
        let Some(text) = path::text_at(answer, &capture.path) else { continue };
        let kept = fit(capture, &text).is_some_and(|value| values.insert(name, &value).is_ok());
        if !kept {
            refused.push(name.as_str());
        }
    }
    (values, refused)
}

/// Whether each host among values that were kept is within its list as the settings have it now: they may have been
/// made narrower since, and whoever can write a row is not to choose where a token is sent (R73).
pub fn still_fit(provider: &Provider, values: &Values) -> bool {
    let hosts = provider.reads.captures.iter().filter(|(_, capture)| !capture.url_suffixes.is_empty());
    hosts
        .filter_map(|(name, capture)| Some((capture, values.get(name)?)))
        .all(|(capture, value)| fit(capture, value).as_deref() == Some(value))
}

/// The value as it is kept, or none.
fn fit(capture: &Capture, text: &str) -> Option<String> {
    if capture.url_suffixes.is_empty() {
        return Some(text.to_owned());
    }
    if !text.contains("://") {
        let host = text.to_ascii_lowercase();
        // What a parser makes of it must be the same host, or it is something else than a host.
        let url = Url::parse(&format!("https://{host}/")).ok()?;
        let same = url.host_str() == Some(&host) && within(&host, &capture.url_suffixes);
        return same.then_some(host);
    }
    let mut url = Url::parse(text).ok()?;
    let plain = url.scheme() == "https"
        && url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && within(url.host_str()?, &capture.url_suffixes);
    if !plain {
        return None;
    }
    url.set_query(None);
    url.set_fragment(None);
    Some(url.as_str().trim_end_matches('/').to_owned())
}

/// One of the hosts, or a name below one of the domains.
fn within(host: &str, suffixes: &[String]) -> bool {
    suffixes.iter().any(|suffix| match suffix.strip_prefix('.') {
        Some(_) => host.strip_suffix(suffix.as_str()).is_some_and(|name| !name.is_empty()),
        None => host == suffix,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(suffixes: &[&str]) -> Capture {
        Capture {
            from: CaptureFrom::Answer,
            path: "x".into(),
            required: false,
            url_suffixes: suffixes.iter().map(|&suffix| suffix.to_owned()).collect(),
        }
    }

    /// R73: only a host of the list is kept, however it is written.
    #[test]
    fn r73_a_captured_host_is_within_its_list() {
        let files = capture(&[".files.example", "files.other"]);
        for (text, kept) in [
            ("https://eu.files.example", Some("https://eu.files.example")),
            ("https://eu.files.example/api/?a=b#c", Some("https://eu.files.example/api")),
            ("https://EU.Files.Example/", Some("https://eu.files.example")),
            ("https://files.other/x", Some("https://files.other/x")),
            ("eu.files.example", Some("eu.files.example")),
            ("EU.files.example", Some("eu.files.example")),
            ("https://files.example", None),
            ("https://evilfiles.example", None),
            ("https://eu.files.example.evil.org", None),
            ("https://eu.files.example@evil.org", None),
            ("https://evil.org#.files.example", None),
            ("https://evil.org/.files.example", None),
            ("https://evil.org\\.files.example", None),
            ("https://eu.files.example:8443", None),
            ("https://me:pw@eu.files.example", None),
            ("http://eu.files.example", None),
            ("javascript://eu.files.example", None),
            ("evil.org/.files.example", None),
            ("evil.org?.files.example", None),
            ("a@eu.files.example", None),
            ("eu.files.example:443", None),
            ("eu.files.example/", None),
            (".files.example", None),
            ("127.0.0.1", None),
        ] {
            assert_eq!(fit(&files, text).as_deref(), kept, "{text}");
        }
        assert_eq!(fit(&capture(&[]), "12 3").as_deref(), Some("12 3"));
    }

    proptest! {
        /// R73: whatever comes, the host of what is kept ends as it must, also when it is put into an address.
        #[test]
        fn r73_what_is_kept_leads_to_the_list(
            text in "(https://)?[a-zA-Z0-9.@:/?#\\\\%\u{130}-]{0,20}\\.files\\.example[a-z.@:/?#\\\\]{0,12}",
        ) {
            if let Some(kept) = fit(&capture(&[".files.example"]), &text) {
                prop_assert_eq!(fit(&capture(&[".files.example"]), &kept), Some(kept.clone()));
                let whole = if kept.contains("://") { kept } else { format!("https://{kept}/me") };
                let url = Url::parse(&whole).unwrap();
                prop_assert!(url.host_str().unwrap().ends_with(".files.example"), "{}", url);
                prop_assert_eq!(url.scheme(), "https");
            }
        }
    }
}
