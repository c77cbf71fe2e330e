//! Identity from outside: forged tokens and a scripted authorization server on a loopback socket.

mod access_tokens;
mod forge;
mod peer;
mod sign_ins;
mod tokens;

use serde_json::{Value, json};

use self::{
    forge::{Forge, Kind},
    peer::ScriptedPeer,
};
use super::*;
use crate::{
    outbound::{AddressPolicy, OutboundSettings},
    vault::{Key, KeyId},
};

pub(super) fn server() -> AuthorizationServer {
    AuthorizationServer {
        id: "main".to_owned(),
        issuer: "https://id.example.com".to_owned(),
        name: None,
        client_id: "consentry".to_owned(),
        client_secret: Some(Secret::new("s:e%c&r+et")),
        client_authentication: None,
        subject_claim: "sub".to_owned(),
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        algorithms: ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec(),
        access_tokens: AccessTokens::Jwt,
        leeway: Duration::from_secs(30),
    }
}

pub(super) fn vault() -> Vault {
    Vault::new(vec![Key::generate(KeyId::new("2026-11").unwrap(), &Random).0], Random).unwrap()
}

/// An [`Identity`] over one scripted peer, and what both are made of.
struct Bench {
    identity: Identity,
    peer: ScriptedPeer,
    clock: Clock,
    forge: Forge,
}

impl Bench {
    async fn new() -> Self {
        Self::with(|_| ()).await
    }

    async fn with(change: impl FnOnce(&mut AuthorizationServer)) -> Self {
        let peer = ScriptedPeer::start().await;
        let forge = Forge::new(Kind::Es256, "k1");
        let mut settings = AuthorizationServer { issuer: peer.url(""), ..server() };
        change(&mut settings);
        peer.say("/.well-known/openid-configuration", 200, &metadata(&peer));
        peer.say("/jwks", 200, &forge.jwks());
        let clock = Clock::manual();
        let policy = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
        let outbound = OutboundSettings { policy, ..OutboundSettings::default() };
        let outbound = Outbound::new(outbound, clock.clone()).unwrap();
        let public_url = PublicUrl::new(Url::parse("http://localhost:8080").unwrap()).unwrap();
        let identity = Identity::new(vec![settings], outbound, vault(), clock.clone(), Random, public_url);
        Self { identity, peer, clock, forge }
    }

    fn seconds(&self) -> i64 {
        self.clock.now().seconds()
    }

    fn issuer(&self) -> String {
        self.peer.url("")
    }
}

fn metadata(peer: &ScriptedPeer) -> Value {
    json!({
        "issuer": peer.url(""),
        "authorization_endpoint": peer.url("/authorize"),
        "token_endpoint": peer.url("/token"),
        "jwks_uri": peer.url("/jwks"),
        "introspection_endpoint": peer.url("/introspect"),
        "code_challenge_methods_supported": ["S256"],
        "subject_types_supported": ["public"],
    })
}

#[tokio::test]
async fn a_server_is_found_by_id_and_by_issuer_alone() {
    let bench = Bench::new().await;
    assert!(bench.identity.server("main").is_some());
    assert!(bench.identity.server("Main").is_none());
    assert!(bench.identity.by_issuer(&bench.issuer()).is_some());
    assert!(bench.identity.by_issuer(&format!("{}/", bench.issuer())).is_none());
    assert_eq!(bench.identity.probe("other").await.unwrap_err(), IdentityError::UnknownServer);
}

#[tokio::test]
async fn what_a_server_publishes_is_probed() {
    let bench = Bench::new().await;
    assert!(bench.identity.probe("main").await.is_ok());
    let bench = Bench::new().await;
    bench.peer.say("/jwks", 200, &json!({ "keys": [] }));
    assert!(matches!(bench.identity.probe("main").await, Err(IdentityError::Metadata(_))));
    let bench = Bench::new().await;
    bench.peer.say("/.well-known/openid-configuration", 503, &json!({}));
    assert!(matches!(bench.identity.probe("main").await, Err(IdentityError::Unreachable(_))));
}

#[tokio::test]
async fn a_server_without_openid_configuration_is_read_by_rfc_8414() {
    let bench = Bench::new().await;
    bench.peer.say("/.well-known/openid-configuration", 404, &json!({}));
    assert!(matches!(bench.identity.probe("main").await, Err(IdentityError::Metadata(_))));
    bench.peer.say("/.well-known/oauth-authorization-server", 200, &metadata(&bench.peer));
    bench.clock.advance(Duration::from_secs(2));
    assert!(bench.identity.probe("main").await.is_ok());
}

/// R91: an endpoint that may not be asked is refused with the whole document.
#[tokio::test]
async fn r91_an_endpoint_inside_is_never_asked() {
    let bench = Bench::new().await;
    let mut hostile = metadata(&bench.peer);
    hostile["jwks_uri"] = json!("https://169.254.169.254/jwks");
    bench.peer.say("/.well-known/openid-configuration", 200, &hostile);
    assert!(matches!(bench.identity.probe("main").await, Err(IdentityError::Metadata(_))));
}
