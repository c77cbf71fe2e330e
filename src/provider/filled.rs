//! Addresses and headers with known values in them.
//!
//! A value is put into an address as one piece of it: percent-encoded, so that it can end no path and no host. Only one
//! that is a whole https URL, and was held against its list of hosts when it came, may stand for the beginning. What must
//! never be here: a secret; an address ends up in logs.

use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use crate::{provider::error::ProviderError, values::Values};

/// The address that `template` names. Whether it may be called is asked when it is.
///
/// # Errors
/// [`ProviderError::Misconfigured`] when a value is not known or does not fit.
pub(super) fn address(template: &str, client_id: &str, values: &Values) -> Result<Url, ProviderError> {
    let refused = || ProviderError::misconfigured("address_value");
    let (mut whole, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(refused)?;
        whole.push_str(before);
        let value = if name == "client_id" { client_id } else { values.get(name).ok_or_else(refused)? };
        match value.starts_with("https://") || value.starts_with("http://") {
            true if whole.is_empty() => whole.push_str(value.trim_end_matches('/')),
            _ => whole.push_str(&piece(value).ok_or_else(refused)?),
        }
        rest = after;
    }
    whole.push_str(rest);
    Url::parse(&whole).map_err(|_| refused())
}

/// A header's value with what `known` gives for each name in braces; where it gives nothing, the braces stay.
pub(super) fn header<'a>(template: &str, known: impl Fn(&str) -> Option<&'a str>) -> Zeroizing<String> {
    let (mut whole, mut rest) = (Zeroizing::new(String::new()), template);
    while let Some((before, after)) = rest.split_once('{') {
        let found = after.split_once('}').and_then(|(name, after)| Some((known(name)?, after)));
        whole.push_str(before);
        match found {
            Some((value, after)) => {
                whole.push_str(value);
                rest = after;
            }
            None => {
                whole.push('{');
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    whole
}

/// None for what would be another place: nothing, this one, the one above.
fn piece(value: &str) -> Option<String> {
    if matches!(value, "" | "." | "..") {
        return None;
    }
    // In a path a space is not a plus.
    Some(form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, value: &str) -> Option<String> {
        let mut values = Values::default();
        let _ = values.insert("v", value);
        address(template, "c d", &values).ok().map(String::from)
    }

    #[test]
    fn a_header_is_filled_once() {
        let known = |name: &str| (name == "a").then_some("{b}").or((name == "b").then_some("x"));
        assert_eq!(*header("{a} {b} {c} {", known), "{b} x {c} {");
    }

    /// R73: a value stays the piece of the address that it stands for.
    #[test]
    fn r73_a_value_is_one_piece_of_an_address() {
        for (template, value, expected) in [
            ("https://a.example/{v}/me", "42", Some("https://a.example/42/me")),
            ("https://a.example/{v}/me", "../x?y#z", Some("https://a.example/..%2Fx%3Fy%23z/me")),
            ("https://a.example/{v}/me", "..", None),
            ("https://a.example/{v}/me", "", None),
            ("https://{v}.example/me", "evil.org/", None),
            ("https://{v}.example/me", "evil.org@x", None),
            ("{v}/me", "https://x.a.example/", Some("https://x.a.example/me")),
            (
                "https://a.example/{v}",
                "https://x.a.example",
                Some("https://a.example/https%3A%2F%2Fx.a.example"),
            ),
            ("https://a.example/{client_id}", "x", Some("https://a.example/c%20d")),
            ("https://a.example/{other}", "x", None),
            ("https://a.example/{v", "x", None),
        ] {
            assert_eq!(filled(template, value).as_deref(), expected, "{template} {value}");
        }
    }
}
