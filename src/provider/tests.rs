//! The fixtures of this room's tests.

use crate::{
    config::Provider,
    provider::catalogue::{Preset, Registration},
    secret::Secret,
};

/// A provider that is discovered from `issuer`.
pub(super) fn acme(issuer: &str) -> Provider {
    let registration = Registration {
        id: "acme".parse().unwrap(),
        client_id: "client".into(),
        client_secret: Some(Secret::new("the-client-secret")),
    };
    let preset = Preset { issuer: Some(issuer.into()), ..Preset::default() };
    preset.into_provider(registration).unwrap()
}

#[test]
fn the_challenge_is_that_of_rfc_7636_appendix_b() {
    let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(super::challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}
