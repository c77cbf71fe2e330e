//! The place that a credential is for (R63): a changed setting must not send what was stored to another one.

use url::Url;

use crate::{config::Provider, secret::Hash};

/// The digest of the issuer, the token and refresh endpoints and our client id as configured, and of the origin of whatever else is
/// sent a stored token, where that is another than the token endpoint's.
///
/// What is discovered is not in it: metadata is the issuer's own word. Nor is the path of a revocation, so that a
/// catalogue that learns of one ends nobody's connection.
pub fn fingerprint(provider: &Provider) -> Hash {
    let token = provider.token_endpoint.as_ref();
    let home = origin(token).or_else(|| {
        let issuer = provider.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok());
        origin(issuer.as_ref())
    });
    let mut others: Vec<_> = others(provider).filter(|other| Some(other) != home.as_ref()).collect();
    others.sort_unstable();
    others.dedup();
    let parts = [
        provider.issuer.as_deref().unwrap_or_default(),
        token.map(Url::as_str).unwrap_or_default(),
        &provider.client_id,
        provider.sending.refresh_endpoint.as_ref().filter(|url| Some(*url) != token).map_or("", Url::as_str),
    ];
    // Where endpoints are found out from the MCP server, what is sent is for that server alone.
    let mcp = provider
        .mcp
        .iter()
        .map(|mcp| mcp.url.as_str())
        .chain(provider.resource.iter().filter(|_| provider.mcp.is_some()).map(String::as_str));
    let mut text = b"place 1".to_vec();
    for part in parts.into_iter().chain(others.iter().map(String::as_str)).chain(mcp) {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part.as_bytes());
    }
    Hash::of(&text)
}

/// Where stored tokens go beside the token endpoint.
fn others(provider: &Provider) -> impl Iterator<Item = String> {
    let own = provider.revocation.as_ref().map(|own| &own.url);
    let standard = provider.revocation_endpoint.as_ref().filter(|_| own.is_none());
    let renewal = provider.sending.renewal.as_ref().map(|step| &step.url);
    [own, standard, renewal].into_iter().filter_map(origin)
}

fn origin(url: Option<&Url>) -> Option<String> {
    url.map(|url| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::tests::acme;

    fn with(change: impl FnOnce(&mut Provider)) -> Hash {
        let mut provider = acme("https://id.acme.example");
        provider.token_endpoint = Some(Url::parse("https://acme.example/token").unwrap());
        change(&mut provider);
        fingerprint(&provider)
    }

    fn url(text: &str) -> Option<Url> {
        Some(Url::parse(text).unwrap())
    }

    #[test]
    fn r63_another_place_is_another_fingerprint() {
        let before = with(|_| {});
        for (what, now) in [
            ("issuer", with(|one| one.issuer = Some("https://id.acme.example/b".into()))),
            ("token", with(|one| one.token_endpoint = url("https://acme.example/token2"))),
            ("token host", with(|one| one.token_endpoint = url("https://evil.example/token"))),
            ("client", with(|one| one.client_id = "another".into())),
            ("revocation", with(|one| one.revocation_endpoint = url("https://evil.example/revoke"))),
            ("no token", with(|one| one.token_endpoint = None)),
            ("refresh", with(|one| one.sending.refresh_endpoint = url("https://acme.example/refresh"))),
        ] {
            assert_ne!(now, before, "{what}");
        }
    }

    #[test]
    fn r63_what_sends_nothing_elsewhere_is_no_change() {
        let before = with(|_| {});
        for (what, now) in [
            ("its own revocation", with(|one| one.revocation_endpoint = url("https://acme.example/revoke"))),
            ("authorization", with(|one| one.authorization_endpoint = url("https://www.acme.example/"))),
            ("scopes and the like", with(|one| one.pkce = false)),
            ("secret", with(|one| one.client_secret = None)),
        ] {
            assert_eq!(now, before, "{what}");
        }
    }
}
