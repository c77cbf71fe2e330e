//! How a credential is used, with its values in place: what an MCP server puts into its requests without knowing
//! anything of the provider.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use zeroize::Zeroizing;

use crate::{
    config::Usage,
    secret::Secret,
    template::{Template, Writing},
};

/// Base URL, headers and query parameters for each request to the provider's API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Where the API is.
    pub base_url: Option<Secret>,
    /// Headers of each request.
    pub headers: BTreeMap<String, Secret>,
    /// Query parameters of each request, not encoded yet.
    pub query: BTreeMap<String, Secret>,
}

impl Use {
    /// Fills a usage in. What has a place without a value is left out, as for a field that may stay empty.
    pub fn of<'a>(usage: &Usage, value: impl Fn(&str) -> Option<&'a str>) -> Self {
        let filled = |template: &Template, writing| template.fill(&value, writing);
        let each = |templates: &BTreeMap<String, Template>| {
            let one = |(name, template): (&String, &Template)| {
                Some((name.clone(), filled(template, Writing::Plain)?))
            };
            templates.iter().filter_map(one).collect()
        };
        let mut headers: BTreeMap<String, Secret> = each(&usage.headers);
        if let Some((username, password)) = &usage.basic {
            let both = filled(username, Writing::Plain).zip(filled(password, Writing::Plain));
            headers.extend(
                both.map(|(username, password)| (AUTHORIZATION.to_owned(), basic(&username, &password))),
            );
        }
        let base_url = usage.base_url.as_ref().and_then(|url| filled(url, Writing::Url));
        Self { base_url, headers, query: each(&usage.query) }
    }

    /// How a token is used where nobody says otherwise (RFC 6750, section 2.1).
    pub fn of_token(token_type: &str, token: &Secret) -> Self {
        // Its name is compared without regard to case (RFC 6749, section 5.1), and sent as everybody knows it.
        let scheme = if token_type.eq_ignore_ascii_case("bearer") { "Bearer" } else { token_type };
        let mut value = Zeroizing::new(String::with_capacity(scheme.len() + 1 + token.expose().len()));
        value.push_str(scheme);
        if !scheme.is_empty() {
            value.push(' ');
        }
        value.push_str(token.expose());
        let value = Secret::new(std::mem::take(&mut *value));
        Self { headers: BTreeMap::from([(AUTHORIZATION.to_owned(), value)]), ..Self::default() }
    }
}

const AUTHORIZATION: &str = "Authorization";

/// HTTP Basic (RFC 7617, section 2).
pub fn basic(username: &Secret, password: &Secret) -> Secret {
    let pair = Zeroizing::new(format!("{}:{}", username.expose(), password.expose()));
    let encoded = Zeroizing::new(BASE64_STANDARD.encode(pair.as_bytes()));
    Secret::new(format!("Basic {}", *encoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(one: Option<&Secret>) -> Option<&str> {
        one.map(Secret::expose)
    }

    #[test]
    fn what_has_no_value_is_left_out() {
        let usage = Usage {
            base_url: Some(Template::new("https://{site}/v1")),
            headers: [("X-Key", "{key}"), ("X-App", "{app}")]
                .map(|(name, text)| (name.to_owned(), Template::new(text)))
                .into(),
            query: [("k".to_owned(), Template::new("{key}"))].into(),
            basic: Some((Template::new("{key}"), Template::new(""))),
        };
        let value = |name: &str| match name {
            "site" => Some("a/../b"),
            "key" => Some("k:1&"),
            _ => None,
        };
        let used = Use::of(&usage, value);
        assert_eq!(text(used.base_url.as_ref()), Some("https://a%2F..%2Fb/v1"));
        assert_eq!(text(used.headers.get("X-Key")), Some("k:1&"));
        assert_eq!(text(used.headers.get("Authorization")), Some("Basic azoxJjo="));
        assert_eq!((used.headers.len(), text(used.query.get("k"))), (2, Some("k:1&")));
        assert!(!format!("{used:?}").contains("k:1"));
    }

    #[test]
    fn a_token_goes_into_the_header_of_its_type() {
        let header = |kind: &str| {
            let used = Use::of_token(kind, &Secret::new("t"));
            text(used.headers.get("Authorization")).unwrap().to_owned()
        };
        assert_eq!(
            [header("bearer"), header("Bearer"), header("token"), header("")],
            ["Bearer t", "Bearer t", "token t", "t"]
        );
    }
}
