//! Forged ID tokens: each is wrong in exactly the way it says, and the next one is honest again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use consentry_fakes::{AuthorizationServer, Forge, Signature};
use jsonwebtoken::decode_header;
use serde_json::{Map, Value, json};

use crate::authorization_server::{jwks, sign_in, verified};
use crate::client::*;

async fn id_token(id: &AuthorizationServer, forge: Forge) -> String {
    id.forge_next_id_token(forge);
    sign_in(id, "alice", &[("nonce", "n-1")]).await["id_token"].as_str().unwrap().to_owned()
}

fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn claims_can_be_changed_and_left_out() {
    let id = authorization_server().await;
    let forge =
        Forge::new().claim("aud", json!(["consentry", "other"])).claim("azp", "other").without("nonce");
    let token = id_token(&id, forge).await;
    let claims = verified(&token, &jwks(&id).await, "consentry").unwrap();
    assert_eq!(claims["azp"], "other");
    assert!(claims.get("nonce").is_none());
    let honest = sign_in(&id, "alice", &[("nonce", "n-2")]).await;
    assert_eq!(part(honest["id_token"].as_str().unwrap(), 1)["nonce"], "n-2");
}

#[tokio::test]
async fn payloads_can_be_any_text() {
    let id = authorization_server().await;
    let token = id_token(&id, Forge::new().payload(r#"{"exp":1e300}"#)).await;
    assert_eq!(part(&token, 1)["exp"], 1e300);
}

#[tokio::test]
async fn signatures_can_be_wrong_in_every_usual_way() {
    let id = authorization_server().await;
    let keys = jwks(&id).await;
    for signature in [
        Signature::Nothing,
        Signature::PublicKeyAsSecret,
        Signature::Stranger,
        Signature::EmbeddedKey,
        Signature::Broken,
    ] {
        let token = id_token(&id, Forge::new().signed(signature)).await;
        assert!(verified(&token, &keys, "consentry").is_none(), "{signature:?}");
    }
    let es256 = id_token(&id, Forge::new().signed(Signature::Es256)).await;
    assert!(verified(&es256, &keys, "consentry").is_some());
    assert!(decode_header(&es256).unwrap().kid.unwrap().starts_with("ec-"));
}

#[tokio::test]
async fn headers_say_what_the_forge_says() {
    let id = authorization_server().await;
    let none = id_token(&id, Forge::new().signed(Signature::Nothing)).await;
    assert_eq!(part(&none, 0)["alg"], "none");
    assert!(none.ends_with('.'));
    let embedded = id_token(&id, Forge::new().signed(Signature::EmbeddedKey)).await;
    assert_eq!(part(&embedded, 0)["jwk"]["kty"], "RSA");
    let unknown = id_token(&id, Forge::new().unknown_kid()).await;
    assert!(verified(&unknown, &jwks(&id).await, "consentry").is_none());
    let crit =
        id_token(&id, Forge::new().header("crit", json!(["x"])).header("jku", "http://127.0.0.9/")).await;
    assert_eq!(part(&crit, 0)["crit"], json!(["x"]));
    let without = id_token(&id, Forge::new().without_header("kid")).await;
    assert!(part(&without, 0).get("kid").is_none());
}

/// The secret of the HS256 forgery is the PEM that the published key gives, as a confused verifier would use it.
#[tokio::test]
async fn the_public_key_as_secret_is_the_real_public_key() {
    let id = authorization_server().await;
    let token = id_token(&id, Forge::new().signed(Signature::PublicKeyAsSecret)).await;
    let key = &get(&format!("{}/jwks", id.base_url()), None).await.1["keys"][0];
    let n = URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap();
    assert_eq!(n.len(), 256);
    assert!(n[0] & 0x80 != 0, "a whole modulus, no sign byte");
    // SubjectPublicKeyInfo (RFC 5280) around a 2048-bit RSA key with exponent 65537.
    let mut der = vec![0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09];
    der.extend([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]);
    der.extend([0x03, 0x82, 0x01, 0x0f, 0x00, 0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01, 0x00]);
    der.extend(n);
    der.extend([0x02, 0x03, 0x01, 0x00, 0x01]);
    let encoded = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
    let (message, signature) = token.rsplit_once('.').unwrap();
    let hmac = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, pem.as_bytes());
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert!(aws_lc_rs::hmac::verify(&hmac, message.as_bytes(), &signature).is_ok());
}

#[tokio::test]
async fn rotation_replaces_the_published_keys() {
    let id = authorization_server().await;
    let old = sign_in(&id, "alice", &[]).await["id_token"].as_str().unwrap().to_owned();
    id.rotate_key_and_publish_former().unwrap();
    assert!(verified(&old, &jwks(&id).await, "consentry").is_some());
    id.rotate_key().unwrap();
    assert!(verified(&old, &jwks(&id).await, "consentry").is_none());
    let new = sign_in(&id, "alice", &[]).await;
    assert!(verified(new["id_token"].as_str().unwrap(), &jwks(&id).await, "consentry").is_some());
}

#[tokio::test]
async fn access_tokens_and_any_claims_can_be_forged() {
    let id = authorization_server().await;
    let resource = "https://files.test/mcp";
    let forge = Forge::new().claim("iss", "https://evil.test").header("typ", "JWT");
    let token = id.forged_access_token("alice", resource, &forge).unwrap();
    assert_eq!(
        (&part(&token, 0)["typ"], &part(&token, 1)["iss"]),
        (&json!("JWT"), &json!("https://evil.test"))
    );
    let claims = Map::from_iter([("sub".to_owned(), json!("alice"))]);
    let token = id.sign("logout+jwt", claims, &Forge::new()).unwrap();
    assert_eq!(part(&token, 0)["typ"], "logout+jwt");
    assert_eq!(part(&token, 1), json!({ "sub": "alice" }));
}

#[tokio::test]
async fn issuers_that_live_at_once_have_different_keys() {
    let (one, two) = tokio::join!(authorization_server(), authorization_server());
    let token = sign_in(&one, "alice", &[]).await["id_token"].as_str().unwrap().to_owned();
    let (own, others) = (jwks(&one).await, jwks(&two).await);
    assert!(verified(&token, &own, "consentry").is_some());
    for key in &others.keys {
        assert!(!own.keys.contains(key));
    }
    let moduli =
        |keys: &jsonwebtoken::jwk::JwkSet| serde_json::to_value(keys).unwrap()["keys"][0]["n"].clone();
    assert_ne!(moduli(&own), moduli(&others));
    two.rotate_key().unwrap();
    assert_ne!(moduli(&others), moduli(&jwks(&two).await));
    assert_ne!(moduli(&own), moduli(&jwks(&two).await));
}
