//! What an authorization server publishes of itself: OpenID Connect Discovery 1.0, then RFC 8414.
//!
//! The document must name the very issuer that it was asked for (R18, R92), and its endpoints are as untrusted as
//! it is (R91): each must keep the issuer's scheme, or a better one. What it must never do: build a URL from a
//! token's claims (R95).

use serde_json::{Map, Value};
use url::Url;

use super::{IdentityError, fetch};
use crate::{config::AuthorizationServer, outbound::Outbound};

/// An authorization server's metadata, checked.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Where the browser is sent.
    pub authorization_endpoint: Url,
    /// Where codes are exchanged.
    pub token_endpoint: Url,
    /// Its keys.
    pub jwks_uri: Url,
    /// RFC 7662.
    pub introspection_endpoint: Option<Url>,
    /// More about who has signed in (OpenID Connect Core 1.0, section 5.3).
    pub userinfo_endpoint: Option<Url>,
    /// RFC 9126.
    pub pushed_authorization_request_endpoint: Option<Url>,
    /// How clients may prove themselves; absent means `client_secret_basic` (RFC 8414, section 2).
    pub token_endpoint_auth_methods: Option<Vec<String>>,
    /// Whether every authorization response carries `iss` (RFC 9207, section 3).
    pub iss_always_sent: bool,
    /// The values of `prompt` that it knows; absent when it does not say.
    pub prompts: Option<Vec<String>>,
}

const NO_PKCE: IdentityError = IdentityError::Metadata("it does not promise PKCE with S256");

/// Asks the issuer for its metadata and checks it.
///
/// # Errors
/// `Unreachable` when neither document can be had, `Metadata` or `PairwiseOnly` when one is refused.
pub(super) async fn discover(
    outbound: &Outbound,
    server: &AuthorizationServer,
) -> Result<Metadata, IdentityError> {
    let issuer =
        Url::parse(&server.issuer).map_err(|_| IdentityError::Metadata("the issuer is not a URL"))?;
    let mut last = IdentityError::Metadata("it publishes no metadata");
    for url in locations(&issuer) {
        match fetch::json(outbound, &url).await {
            Ok(document) => {
                match check(server, &issuer, &document).and_then(|found| reachable(outbound, found)) {
                    // Some say in the one document alone what they support.
                    Err(NO_PKCE) => last = NO_PKCE,
                    checked => return checked,
                }
            }
            Err(error @ IdentityError::Unreachable(_)) => return Err(error),
            Err(error) if last != NO_PKCE => last = error,
            Err(_) => {}
        }
    }
    Err(last)
}

/// Refuses endpoints that would not be asked anyway, so that it shows at once.
fn reachable(outbound: &Outbound, metadata: Metadata) -> Result<Metadata, IdentityError> {
    let optional = [
        &metadata.introspection_endpoint,
        &metadata.userinfo_endpoint,
        &metadata.pushed_authorization_request_endpoint,
    ];
    let asked = [&metadata.token_endpoint, &metadata.jwks_uri].into_iter();
    let refused = asked.chain(optional.into_iter().flatten()).any(|url| outbound.check(url).is_err());
    if refused { Err(IdentityError::Metadata("it names an endpoint that is refused")) } else { Ok(metadata) }
}

/// Where the two standards put the document: behind the issuer's path, and before it.
fn locations(issuer: &Url) -> [Url; 2] {
    let path = issuer.path().trim_end_matches('/').to_owned();
    let at = |path: &str| {
        let mut url = issuer.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        url
    };
    [
        at(&format!("{path}/.well-known/openid-configuration")),
        at(&format!("/.well-known/oauth-authorization-server{path}")),
    ]
}

fn check(
    server: &AuthorizationServer,
    issuer: &Url,
    document: &Map<String, Value>,
) -> Result<Metadata, IdentityError> {
    if document.get("issuer").and_then(Value::as_str) != Some(&server.issuer) {
        return Err(IdentityError::Metadata("it names another issuer"));
    }
    let endpoint = |name: &str| endpoint(issuer, document, name);
    let needed = |name: &str, what: &'static str| endpoint(name)?.ok_or(IdentityError::Metadata(what));
    if texts(document, "subject_types_supported").is_some_and(|types| types.iter().all(|t| t == "pairwise"))
        && server.subject_claim == "sub"
    {
        return Err(IdentityError::PairwiseOnly);
    }
    // An MCP client must refuse a server that does not promise it, and so do we (R26).
    if !texts(document, "code_challenge_methods_supported")
        .is_some_and(|methods| methods.iter().any(|m| m == "S256"))
    {
        return Err(NO_PKCE);
    }
    Ok(Metadata {
        authorization_endpoint: needed("authorization_endpoint", "it names no authorization endpoint")?,
        token_endpoint: needed("token_endpoint", "it names no token endpoint")?,
        jwks_uri: needed("jwks_uri", "it names no keys")?,
        introspection_endpoint: endpoint("introspection_endpoint")?,
        userinfo_endpoint: endpoint("userinfo_endpoint")?,
        pushed_authorization_request_endpoint: endpoint("pushed_authorization_request_endpoint")?,
        token_endpoint_auth_methods: texts(document, "token_endpoint_auth_methods_supported"),
        iss_always_sent: document.get("authorization_response_iss_parameter_supported")
            == Some(&Value::Bool(true)),
        prompts: texts(document, "prompt_values_supported"),
    })
}

/// An endpoint: `https`, or `http` on a loopback host where the issuer itself is such; no userinfo, no fragment.
fn endpoint(issuer: &Url, document: &Map<String, Value>, name: &str) -> Result<Option<Url>, IdentityError> {
    const REFUSED: IdentityError = IdentityError::Metadata("it names an endpoint that is refused");
    let text = match document.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => return Err(REFUSED),
    };
    let url = Url::parse(text).map_err(|_| REFUSED)?;
    let scheme_fits = match url.scheme() {
        "https" => true,
        "http" => issuer.scheme() == "http" && is_loopback(&url),
        _ => false,
    };
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    if scheme_fits && plain { Ok(Some(url)) } else { Err(REFUSED) }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A list of strings; entries of other types do not count.
fn texts(document: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let list = document.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::server, *};

    fn document() -> Value {
        json!({
            "issuer": "https://id.example.com",
            "authorization_endpoint": "https://id.example.com/authorize",
            "token_endpoint": "https://token.example.com/token",
            "jwks_uri": "https://id.example.com/jwks",
            "code_challenge_methods_supported": ["plain", "S256"],
            "subject_types_supported": ["public", "pairwise"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    fn checked(document: &Value) -> Result<Metadata, IdentityError> {
        let server = server();
        check(&server, &Url::parse(&server.issuer).unwrap(), document.as_object().unwrap())
    }

    fn with(name: &str, value: Value) -> Value {
        let mut changed = document();
        changed[name] = value;
        changed
    }

    #[test]
    fn a_good_document_is_taken() {
        let metadata = checked(&document()).unwrap();
        assert_eq!(metadata.token_endpoint.as_str(), "https://token.example.com/token");
        assert!(metadata.iss_always_sent);
        assert!(metadata.introspection_endpoint.is_none());
    }

    /// R18, R92: the issuer is compared as it is, without any normalisation.
    #[test]
    fn r18_another_issuer_is_refused() {
        for other in [
            "https://id.example.com/",
            "https://ID.example.com",
            "https://id.example.com:443",
            "https://id.example.co%6D",
            "https://id.example.com.evil.example",
            "https://id.example.com@evil.example",
            "http://id.example.com",
            "",
        ] {
            let refused = checked(&with("issuer", json!(other))).unwrap_err();
            assert_eq!(refused, IdentityError::Metadata("it names another issuer"), "{other}");
        }
        assert!(checked(&with("issuer", json!(["https://id.example.com"]))).is_err());
    }

    /// R73, R91: an endpoint is as untrusted as the document.
    #[test]
    fn r91_hostile_endpoints_are_refused() {
        for hostile in [
            "http://id.example.com/token",
            "http://169.254.169.254/latest",
            "http://localhost/token",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://id.example.com/",
            "https://user:pass@id.example.com/token",
            "https://id.example.com/token#fragment",
            "//id.example.com/token",
            "/token",
            "",
            "\u{0}",
        ] {
            for name in ["authorization_endpoint", "token_endpoint", "jwks_uri", "introspection_endpoint"] {
                assert!(checked(&with(name, json!(hostile))).is_err(), "{name} {hostile}");
            }
        }
        for odd in [json!(1), json!(["https://id.example.com/token"]), json!({})] {
            assert!(checked(&with("token_endpoint", odd)).is_err());
        }
    }

    #[test]
    fn a_loopback_issuer_may_name_loopback_endpoints_alone() {
        let issuer = Url::parse("http://127.0.0.2:4000").unwrap();
        let named = |url: &str| {
            let document = json!({ "token_endpoint": url });
            endpoint(&issuer, document.as_object().unwrap(), "token_endpoint").is_ok()
        };
        assert!(named("http://127.0.0.2:4000/token") && named("http://[::1]/token"));
        assert!(named("https://id.example.com/token"));
        assert!(!named("http://10.0.0.1/token") && !named("http://id.example.com/token"));
    }

    /// R23: nothing can be compared where every client is told another name.
    #[test]
    fn r23_pairwise_subjects_alone_are_refused() {
        let only = with("subject_types_supported", json!(["pairwise"]));
        assert_eq!(checked(&only).unwrap_err(), IdentityError::PairwiseOnly);
        let mut server = server();
        server.subject_claim = "oid".to_owned();
        let issuer = Url::parse(&server.issuer).unwrap();
        assert!(check(&server, &issuer, only.as_object().unwrap()).is_ok());
        assert!(checked(&with("subject_types_supported", json!(["public"]))).is_ok());
    }

    /// R26: no PKCE, no sign-in.
    #[test]
    fn r26_a_server_without_s256_is_refused() {
        for methods in [json!(["plain"]), json!([]), json!("S256"), Value::Null] {
            assert!(checked(&with("code_challenge_methods_supported", methods)).is_err());
        }
    }

    #[test]
    fn both_standards_places_are_asked() {
        let at = |issuer: &str| locations(&Url::parse(issuer).unwrap()).map(String::from);
        assert_eq!(
            at("https://id.example.com"),
            [
                "https://id.example.com/.well-known/openid-configuration",
                "https://id.example.com/.well-known/oauth-authorization-server"
            ]
        );
        assert_eq!(
            at("https://id.example.com/tenant/"),
            [
                "https://id.example.com/tenant/.well-known/openid-configuration",
                "https://id.example.com/.well-known/oauth-authorization-server/tenant"
            ]
        );
    }
}
