//! The fixtures of this room's tests.

use std::collections::BTreeMap;

use crate::{config::Provider, scope::Scopes, secret::Secret};

/// A provider that is discovered from `issuer`.
pub(super) fn acme(issuer: &str) -> Provider {
    Provider {
        id: "acme".parse().unwrap(),
        name: "Acme".into(),
        issuer: Some(issuer.into()),
        issuer_always_sent: false,
        authorization_endpoint: None,
        token_endpoint: None,
        revocation_endpoint: None,
        userinfo_endpoint: None,
        client_id: "client".into(),
        client_secret: Some(Secret::new("the-client-secret")),
        client_authentication: None,
        scopes: Scopes::default(),
        allowed_scopes: Scopes::default(),
        scope_separator: ' ',
        scope_words: BTreeMap::new(),
        authorize_params: BTreeMap::new(),
        account_chooser_params: BTreeMap::new(),
        resource: Vec::new(),
        pkce: true,
        form_post: false,
        cancel_codes: Vec::new(),
        probe: None,
        manage_url: None,
        docs_url: None,
    }
}

#[test]
fn the_challenge_is_that_of_rfc_7636_appendix_b() {
    let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(super::challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}
