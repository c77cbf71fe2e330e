//! "Example ID": what an honest OpenID Connect client gets, checked by another library, and what is refused.

use std::time::Duration;

use consentry_fakes::{AuthorizationServer, Person, Verdict};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value, json};

use crate::client::*;

pub(crate) async fn jwks(id: &AuthorizationServer) -> JwkSet {
    let (_, keys) = get(&format!("{}/jwks", id.base_url()), None).await;
    serde_json::from_value(keys).unwrap()
}

/// Verifies by the published keys; the clock of the fake may be elsewhere, so times are not judged.
pub(crate) fn verified(token: &str, keys: &JwkSet, audience: &str) -> Option<Map<String, Value>> {
    let header = decode_header(token).ok()?;
    let key = DecodingKey::from_jwk(keys.find(header.kid.as_deref()?)?).ok()?;
    let mut validation = Validation::new(header.alg);
    validation.algorithms = vec![Algorithm::RS256, Algorithm::ES256];
    validation.algorithms.retain(|alg| *alg == header.alg);
    validation.validate_exp = false;
    validation.set_audience(&[audience]);
    decode::<Map<String, Value>>(token, &key, &validation).ok().map(|data| data.claims)
}

pub(crate) fn request(scope: &str, extra: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut parameters = honest(scope);
    parameters.extend(extra.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
    parameters
}

/// A whole flow of `person`; the token answer.
pub(crate) async fn sign_in(id: &AuthorizationServer, person: &str, extra: &[(&str, &str)]) -> Value {
    let url = authorize_url(id.base_url(), &request("openid profile email", extra));
    let code = query(&id.approve(&url, person).await.unwrap(), "code").unwrap();
    let (status, body) = token(id.base_url(), &code_form(&code)).await;
    assert_eq!(status, 200, "{body}");
    body
}

#[tokio::test]
async fn an_id_token_says_who_signed_in() {
    let id = authorization_server().await;
    let body = sign_in(&id, "alice", &[("nonce", "n-1")]).await;
    let id_token = body["id_token"].as_str().unwrap();
    let claims = verified(id_token, &jwks(&id).await, "consentry").unwrap();
    assert_eq!(claims["iss"], id.base_url());
    assert_eq!(claims["sub"], "alice");
    assert_eq!(claims["nonce"], "n-1");
    assert_eq!(claims["email_verified"], true);
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 600);
    assert!(claims["auth_time"].is_i64() && claims["at_hash"].is_string());
    let (_, userinfo) = get(&format!("{}/userinfo", id.base_url()), body["access_token"].as_str()).await;
    assert_eq!((&userinfo["sub"], &userinfo["name"]), (&json!("alice"), &json!("Alice")));
}

#[tokio::test]
async fn discovery_names_endpoints_that_are_there() {
    let id = authorization_server().await;
    let base = id.base_url();
    let (_, oidc) = get(&format!("{base}/.well-known/openid-configuration"), None).await;
    let (_, oauth) = get(&format!("{base}/.well-known/oauth-authorization-server"), None).await;
    assert_eq!(oidc, oauth);
    assert_eq!(oidc["issuer"], base);
    for (name, value) in oidc.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint")) {
        assert_ne!(get(value.as_str().unwrap(), None).await.0, 404, "{name}");
    }
    id.configure(|settings| {
        settings.metadata_changes.insert("issuer".to_owned(), json!("https://evil.test"));
        settings.metadata_changes.insert("jwks_uri".to_owned(), Value::Null);
    });
    let (_, changed) = get(&format!("{base}/.well-known/openid-configuration"), None).await;
    assert_eq!(changed["issuer"], "https://evil.test");
    assert!(changed.get("jwks_uri").is_none());
}

#[tokio::test]
async fn an_access_token_is_for_its_resource() {
    let id = authorization_server().await;
    let resource = "https://files.test/mcp";
    let keys = jwks(&id).await;
    let body = sign_in(&id, "bob", &[("resource", resource)]).await;
    for token in
        [body["access_token"].as_str().unwrap().to_owned(), id.access_token_for("bob", resource).unwrap()]
    {
        assert_eq!(decode_header(&token).unwrap().typ.as_deref(), Some("at+jwt"));
        let claims = verified(&token, &keys, resource).unwrap();
        assert_eq!((&claims["sub"], &claims["iss"]), (&json!("bob"), &json!(id.base_url())));
        assert!(claims["client_id"].is_string() && claims["jti"].is_string());
    }
    let url = authorize_url(id.base_url(), &request("openid", &[("resource", resource)]));
    let code = query(&id.approve(&url, "bob").await.unwrap(), "code").unwrap();
    let mut form = code_form(&code);
    form.push(("resource", "https://other.test/mcp"));
    assert_eq!(token(id.base_url(), &form).await.1["error"], "invalid_target");
    id.configure_identity(|identity| identity.resources = Some(Vec::new()));
    let back = id.approve(&url, "bob").await.unwrap();
    assert_eq!(query(&back, "error").as_deref(), Some("invalid_target"));
}

#[tokio::test]
async fn introspection_explains_a_token_to_a_confidential_client() {
    let id = authorization_server().await;
    id.configure_identity(|identity| identity.opaque_access_tokens = true);
    let token = id.access_token_for("alice", "https://files.test/mcp").unwrap();
    assert!(!token.contains('.'));
    let url = format!("{}/introspect", id.base_url());
    assert_eq!(post(&url, &[("token", &token)], None).await.0, 401);
    let us = Some(basic("consentry", SECRET));
    let (_, answer) = post(&url, &[("token", &token)], us.clone()).await;
    assert_eq!((&answer["active"], &answer["sub"]), (&json!(true), &json!("alice")));
    assert_eq!(answer["aud"], "https://files.test/mcp");
    id.clock().advance(Duration::from_secs(3600));
    let (_, answer) = post(&url, &[("token", &token)], us).await;
    assert_eq!(answer, json!({ "active": false }));
}

#[tokio::test]
async fn pairwise_subjects_differ_by_client_and_stay_the_same() {
    let id = authorization_server().await;
    id.configure_identity(|identity| identity.pairwise_subjects = true);
    let keys = jwks(&id).await;
    let sub = |token: &str| verified(token, &keys, "consentry").unwrap()["sub"].clone();
    let first = sub(sign_in(&id, "alice", &[]).await["id_token"].as_str().unwrap());
    let again = sub(sign_in(&id, "alice", &[]).await["id_token"].as_str().unwrap());
    assert_eq!(first, again);
    let resource = "https://files.test/mcp";
    let access = verified(&id.access_token_for("alice", resource).unwrap(), &keys, resource).unwrap();
    assert_ne!(first, access["sub"]);
    assert_ne!(first, "alice");
    let (_, metadata) = get(&format!("{}/.well-known/openid-configuration", id.base_url()), None).await;
    assert_eq!(metadata["subject_types_supported"], json!(["pairwise"]));
}

#[tokio::test]
async fn people_and_their_claims_can_be_added() {
    let id = authorization_server().await;
    id.add_person(Person::new("Alice", "Another Alice").claim("oid", "42"));
    let body = sign_in(&id, "Alice", &[]).await;
    let claims = verified(body["id_token"].as_str().unwrap(), &jwks(&id).await, "consentry").unwrap();
    assert_eq!((&claims["sub"], &claims["oid"]), (&json!("Alice"), &json!("42")));
}

#[tokio::test]
async fn its_authorize_endpoint_is_as_strict_as_the_providers() {
    let id = authorization_server().await;
    let url = |parameters: &[(String, String)]| authorize_url(id.base_url(), parameters);
    for (name, value) in [("client_id", "nobody"), ("redirect_uri", "http://127.0.0.1:9/elsewhere")] {
        assert!(id.approve(&url(&with("openid", name, value)), "alice").await.is_err());
        assert!(matches!(id.authorize_log().pop().unwrap().verdict, Verdict::RefusedHere(_)));
    }
    let back = id.approve(&url(&with("openid", "code_challenge", "")), "alice").await.unwrap();
    assert_eq!(query(&back, "error").as_deref(), Some("invalid_request"));
    assert_eq!(
        query(&id.deny(&url(&honest("openid"))).await.unwrap(), "error").as_deref(),
        Some("access_denied")
    );
    assert!(id.approve(&url(&honest("openid")), "nobody").await.is_err());

    let code = query(&id.approve(&url(&honest("openid")), "alice").await.unwrap(), "code").unwrap();
    let mut form = code_form(&code);
    form.retain(|(name, _)| *name != "code_verifier");
    assert_eq!(token(id.base_url(), &form).await.1["error"], "invalid_grant");
    assert!(!id.token_log()[0].accepted);
}
