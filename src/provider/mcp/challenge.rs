//! The Bearer challenge of an MCP server that was called without a token (RFC 9110, section 11.6.1; RFC 9728, section 5.1).
//!
//! What it must never do: guess. A header that cannot be read says nothing.

use http::{HeaderMap, header};

use crate::scope::Scopes;

/// Bytes of one header that are read.
const LONGEST: usize = 8 * 1024;

/// What a Bearer challenge says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where the protected resource metadata stands.
    pub(super) resource_metadata: Option<String>,
    /// What a token would need.
    pub(super) scope: Option<Scopes>,
}

/// The first Bearer challenge of an answer.
pub(super) fn of(headers: &HeaderMap) -> Challenge {
    let values = headers.get_all(header::WWW_AUTHENTICATE).iter();
    let texts = values.filter_map(|value| value.to_str().ok()).filter(|text| text.len() <= LONGEST);
    let read = texts.filter_map(read).flatten().find(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"));
    let Some((_, parameters)) = read else { return Challenge::default() };
    let mut found = Challenge::default();
    for (name, value) in parameters {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => found.resource_metadata = Some(value),
            "scope" => {
                let scopes = Scopes::new(value.split(' ').filter(|scope| !scope.is_empty())).ok();
                found.scope = scopes.filter(|scopes| !scopes.is_empty());
            }
            _ => {}
        }
    }
    found
}

type Parameters = Vec<(String, String)>;

/// The challenges in one header; none when any of it cannot be read, or a parameter stands twice in one.
fn read(text: &str) -> Option<Vec<(String, Parameters)>> {
    let mut rest = text;
    let mut challenges: Vec<(String, Parameters)> = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return Some(challenges);
        }
        let (name, behind) = token(rest)?;
        let after = behind.trim_start_matches([' ', '\t']);
        match after.strip_prefix('=') {
            Some(value) if !challenges.is_empty() => {
                let (value, behind) = parameter(value.trim_start_matches([' ', '\t']))?;
                let (_, parameters) = challenges.last_mut()?;
                if parameters.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                    return None;
                }
                parameters.push((name.to_owned(), value));
                rest = behind.trim_start_matches([' ', '\t']);
                if !(rest.is_empty() || rest.starts_with(',')) {
                    return None;
                }
            }
            Some(_) => return None,
            None => {
                challenges.push((name.to_owned(), Vec::new()));
                rest = behind;
            }
        }
    }
}

/// A token (RFC 9110, section 5.6.2) and what stands behind it.
fn token(text: &str) -> Option<(&str, &str)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let length = text.bytes().take_while(|byte| is_part(*byte)).count();
    (length > 0).then(|| text.split_at(length))
}

/// A token or a quoted string, and what stands behind it.
fn parameter(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return token(text).map(|(value, behind)| (value.to_owned(), behind));
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, one) in quoted.char_indices() {
        match one {
            _ if escaped => {
                value.push(one);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((value, &quoted[at + 1..])),
            _ => value.push(one),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn challenge(values: &[&str]) -> Challenge {
        let header = |text: &&str| (header::WWW_AUTHENTICATE, HeaderValue::from_str(text).unwrap());
        of(&values.iter().map(header).collect())
    }

    #[test]
    fn a_bearer_challenge_is_found_among_others() {
        let full = challenge(&[
            "Basic realm=\"a, b\"",
            "Digest nonce=\"x\\\"y\", bearer resource_metadata=\"https://a.example/m\" , scope=\"a b\", error=invalid_token",
        ]);
        assert_eq!(full.resource_metadata.as_deref(), Some("https://a.example/m"));
        assert_eq!(full.scope, Some(Scopes::new(["a", "b"]).unwrap()));
        assert_eq!(challenge(&["Bearer"]), Challenge::default());
        assert_eq!(challenge(&["Bearer scope=\"\""]).scope, None);
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        for bad in [
            "",
            "Bearer resource_metadata=\"https://a.example/m",
            "Bearer resource_metadata=\"a\", resource_metadata=\"b\"",
            "Bearer resource_metadata=\"a\"b",
            "resource_metadata=\"a\"",
            "Bearer resource_metadata=",
            "Bearer (x)",
        ] {
            assert_eq!(challenge(&[bad]), Challenge::default(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(text in "[ -~]{0,80}|(Bearer|a=|\"|\\\\|,| ){0,20}") {
            let _ = challenge(&[&text]);
        }
    }
}
