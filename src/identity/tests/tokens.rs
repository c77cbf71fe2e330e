//! R17 to R30 at the ID token and its keys.

use aws_lc_rs::hmac;
use consentry_jwt::{Jws, KeySet};

use crate::clock::Millis;

use super::{super::id_token, forge::encode, *};

const NOW: Millis = Millis(1_764_417_600_000);
const SECONDS: i64 = 1_764_417_600;
const NONCE: &str = "n-0S6_WzA2Mj";

fn keys(document: &Value) -> KeySet {
    KeySet::parse(document.as_object().unwrap()).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example.com", "sub": "alice", "aud": "consentry", "nonce": NONCE,
        "iat": SECONDS, "exp": SECONDS + 300, "preferred_username": "Alice",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut changed = claims();
    changed[name] = value;
    changed
}

fn without(name: &str) -> Value {
    let mut changed = claims();
    changed.as_object_mut().unwrap().remove(name);
    changed
}

/// All of it at once: the way a token goes in a sign-in.
fn judge(token: &str, keys: &KeySet) -> Result<id_token::Named, TokenRefusal> {
    let server = server();
    let allowed: Vec<_> =
        server.algorithms.iter().filter_map(|name| consentry_jwt::algorithm(name)).collect();
    let jws = Jws::parse(token, &allowed)?;
    id_token::check_type(&jws)?;
    let claims = jws.verify(keys)?;
    let (nonce, code, access) = (Secret::new(NONCE), Secret::new("a-code"), Secret::new("an-access-token"));
    let expected = id_token::Expected {
        server: &server,
        nonce: &nonce,
        code: &code,
        access_token: Some(&access),
        now: NOW,
    };
    id_token::check(claims, jws.algorithm, &expected)
}

fn judge_claims(claims: &Value) -> Result<id_token::Named, TokenRefusal> {
    let forge = Forge::new(Kind::Es256, "k1");
    judge(&forge.sign(claims), &keys(&forge.jwks()))
}

#[test]
fn a_good_token_of_each_kind_names_its_subject() {
    for kind in [Kind::Rs256, Kind::Es256, Kind::EdDsa] {
        let forge = Forge::new(kind, "k1");
        let named = judge(&forge.sign(&claims()), &keys(&forge.jwks())).unwrap();
        assert_eq!(named.subject, Subject::new("https://id.example.com", "alice").unwrap());
        assert_eq!(named.label.as_deref(), Some("Alice"));
    }
}

/// R17: no algorithm of the token's choosing.
#[test]
fn r17_algorithms_outside_the_list_are_refused() {
    let forge = Forge::new(Kind::Rs256, "k1");
    let known = keys(&forge.jwks());
    for alg in ["none", "None", "NONE", "", "HS256", "HS512", "RS384", "PS256", "ES384", "rs256"] {
        let token = forge.sign_with(&json!({ "alg": alg, "kid": "k1" }), &claims());
        assert_eq!(judge(&token, &known).unwrap_err(), TokenRefusal::Algorithm, "{alg}");
    }
    for alg in [json!(null), json!(1), json!(["RS256"])] {
        assert!(judge(&forge.sign_with(&json!({ "alg": alg, "kid": "k1" }), &claims()), &known).is_err());
    }
    // An allowed algorithm, but not one that this key can do.
    let token = forge.sign_with(&json!({ "alg": "ES256", "kid": "k1" }), &claims());
    assert_eq!(judge(&token, &known).unwrap_err(), TokenRefusal::Signature);
    // Unsigned.
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(claims().to_string()));
    assert!(judge(&unsigned, &known).is_err());
    // The public key as the secret of HMAC.
    let message = format!("{}.{}", encode(r#"{"alg":"HS256","kid":"k1"}"#), encode(claims().to_string()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &forge.public_bytes()), message.as_bytes());
    assert_eq!(judge(&format!("{message}.{}", encode(tag)), &known).unwrap_err(), TokenRefusal::Algorithm);
}

/// R17: a changed byte anywhere ends it.
#[test]
fn r17_a_changed_token_is_refused() {
    let forge = Forge::new(Kind::Es256, "k1");
    let known = keys(&forge.jwks());
    let token = forge.sign(&claims());
    for at in (0..token.len()).step_by(7) {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        assert!(judge(std::str::from_utf8(&changed).unwrap(), &known).is_err(), "{at}");
    }
    let (message, _) = token.rsplit_once('.').unwrap();
    for odd in [
        "",
        ".",
        "..",
        "...",
        "a.b",
        message,
        &format!("{token}.x"),
        &format!("{token}="),
        &"a".repeat(40_000),
    ] {
        assert!(judge(odd, &known).is_err());
    }
}

/// R29: a key that comes with the token, or that it points to, is never used.
#[test]
fn r29_headers_do_not_choose_keys() {
    let (ours, theirs) = (Forge::new(Kind::Es256, "k1"), Forge::new(Kind::Es256, "k1"));
    let known = keys(&ours.jwks());
    for header in [
        json!({ "alg": "ES256", "jwk": theirs.jwk() }),
        json!({ "alg": "ES256", "kid": "k1", "jwk": theirs.jwk() }),
        json!({ "alg": "ES256", "kid": "k1", "jku": "https://evil.example/jwks" }),
        json!({ "alg": "ES256", "kid": "k1", "x5u": "https://evil.example/cert" }),
        json!({ "alg": "ES256", "kid": "k1", "x5c": ["AAAA"] }),
    ] {
        assert_eq!(
            judge(&theirs.sign_with(&header, &claims()), &known).unwrap_err(),
            TokenRefusal::Signature
        );
    }
    for (name, value) in
        [("crit", json!(["exp"])), ("crit", json!([])), ("b64", json!(false)), ("b64", json!(true))]
    {
        let mut header = json!({ "alg": "ES256", "kid": "k1" });
        header[name] = value;
        assert_eq!(judge(&ours.sign_with(&header, &claims()), &known).unwrap_err(), TokenRefusal::Critical);
    }
}

/// R30: `kid` chooses among the issuer's keys; without one, each that fits is tried.
#[test]
fn r30_keys_are_chosen_by_kid_kind_and_algorithm() {
    let (one, other) = (Forge::new(Kind::Es256, "k1"), Forge::new(Kind::Es256, "k2"));
    let rsa = Forge::new(Kind::Rs256, "k1");
    let known = keys(&json!({ "keys": [rsa.jwk(), one.jwk(), other.jwk()] }));
    let bare = json!({ "alg": "ES256" });
    assert!(judge(&one.sign_with(&bare, &claims()), &known).is_ok());
    assert!(judge(&other.sign_with(&bare, &claims()), &known).is_ok());
    assert!(judge(&other.sign(&claims()), &known).is_ok());
    for kid in ["k1", "k3", ""] {
        let wrong = json!({ "alg": "ES256", "kid": kid });
        assert!(judge(&other.sign_with(&wrong, &claims()), &known).is_err());
    }
    assert!(judge(&other.sign_with(&json!({ "alg": "ES256", "kid": 2 }), &claims()), &known).is_err());
}

/// R94: what cannot be used is skipped, and what is weak cannot be used.
#[test]
fn r94_weak_and_odd_keys_are_skipped() {
    let forge = Forge::new(Kind::Rs256, "k1");
    let good = forge.jwk();
    let changed = |name: &str, value: Value| {
        let mut jwk = good.clone();
        jwk[name] = value;
        jwk
    };
    let number = |bytes: usize| json!(encode([&[0xff_u8][..], &vec![0x55; bytes - 2], &[1]].concat()));
    let odd = [
        changed("n", number(128)),
        changed("n", number(255)),
        changed("n", number(1025)),
        changed("n", number(2048)),
        changed("n", json!(encode([&[0x7f_u8][..], &[0xff; 255]].concat()))),
        changed("n", json!("not base64!")),
        changed("n", json!("")),
        changed("e", json!(encode([1]))),
        changed("e", json!(encode([0, 0, 1]))),
        changed("e", json!(encode([2]))),
        changed("e", json!(encode([0xff; 9]))),
        changed("e", json!("")),
        changed("use", json!("enc")),
        changed("use", json!(1)),
        changed("key_ops", json!(["sign"])),
        changed("key_ops", json!("verify")),
        changed("kid", json!(1)),
        changed("alg", json!("HS256")),
        changed("alg", json!("RS512")),
        changed("kty", json!("oct")),
        changed("kty", json!("AKP")),
        json!({ "kty": "oct", "k": "AAAA", "kid": "k1" }),
        json!({ "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA", "kid": "k1" }),
        json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "k1" }),
        json!({ "kty": "OKP", "crv": "Ed448", "x": "AA", "kid": "k1" }),
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "k1" }),
        json!("k1"),
        json!(null),
        json!([]),
        json!({}),
    ];
    let token = forge.sign(&claims());
    for key in &odd {
        let refused = judge(&token, &keys(&json!({ "keys": [key] }))).unwrap_err();
        assert_eq!(refused, TokenRefusal::Signature, "{key}");
    }
    // They are in nobody's way, and neither are thousands of keys behind.
    let mut all = odd.to_vec();
    all.push(good.clone());
    all.extend((0..10_000).map(|kid| changed("kid", json!(kid.to_string()))));
    assert!(judge(&token, &keys(&json!({ "keys": all }))).is_ok());
    for document in [json!({}), json!({ "keys": {} }), json!({ "keys": null })] {
        assert!(KeySet::parse(document.as_object().unwrap()).is_none());
    }
}

/// R18: `iss` as it is.
#[test]
fn r18_another_issuer_is_refused() {
    for iss in
        ["https://id.example.com/", "https://ID.example.com", "https://id.example.com:443", "", "alice"]
    {
        assert_eq!(judge_claims(&with("iss", json!(iss))).unwrap_err(), TokenRefusal::Issuer, "{iss}");
    }
    assert_eq!(judge_claims(&without("iss")).unwrap_err(), TokenRefusal::Issuer);
    assert_eq!(
        judge_claims(&with("iss", json!(["https://id.example.com"]))).unwrap_err(),
        TokenRefusal::Malformed
    );
}

/// R19: for us alone.
#[test]
fn r19_another_audience_is_refused() {
    assert!(judge_claims(&with("aud", json!(["consentry"]))).is_ok());
    for aud in [
        json!("other"),
        json!(["other"]),
        json!(["consentry", "other"]),
        json!([]),
        json!("consentry "),
        json!(""),
    ] {
        assert_eq!(judge_claims(&with("aud", aud)).unwrap_err(), TokenRefusal::Audience);
    }
    for aud in [json!(1), json!([1]), json!(["consentry", 1]), json!({}), json!(null)] {
        assert_eq!(judge_claims(&with("aud", aud)).unwrap_err(), TokenRefusal::Malformed);
    }
    assert_eq!(judge_claims(&without("aud")).unwrap_err(), TokenRefusal::Audience);
    assert!(judge_claims(&with("azp", json!("consentry"))).is_ok());
    assert_eq!(judge_claims(&with("azp", json!("other"))).unwrap_err(), TokenRefusal::AuthorizedParty);
    assert_eq!(judge_claims(&with("azp", json!(["consentry"]))).unwrap_err(), TokenRefusal::Malformed);
}

/// R20: `exp` and `iat` must be there.
#[test]
fn r20_a_token_has_a_beginning_and_an_end() {
    assert_eq!(judge_claims(&without("exp")).unwrap_err(), TokenRefusal::Expired);
    assert_eq!(judge_claims(&without("iat")).unwrap_err(), TokenRefusal::NotYet);
    assert_eq!(judge_claims(&with("exp", json!(SECONDS - 30))).unwrap_err(), TokenRefusal::Expired);
    assert_eq!(judge_claims(&with("iat", json!(SECONDS + 31))).unwrap_err(), TokenRefusal::NotYet);
    assert_eq!(judge_claims(&with("nbf", json!(SECONDS + 31))).unwrap_err(), TokenRefusal::NotYet);
}

/// R21: this sign-in's nonce and no other.
#[test]
fn r21_another_nonce_is_refused() {
    for nonce in [json!("other"), json!(""), json!("n-0S6_WzA2M"), json!("n-0S6_WzA2Mjx")] {
        assert_eq!(judge_claims(&with("nonce", nonce)).unwrap_err(), TokenRefusal::Nonce);
    }
    assert_eq!(judge_claims(&without("nonce")).unwrap_err(), TokenRefusal::Nonce);
    assert_eq!(judge_claims(&with("nonce", json!([NONCE]))).unwrap_err(), TokenRefusal::Malformed);
}

/// R28: hashes are checked when they are there, and malformed ones fail.
#[test]
fn r28_hashes_must_fit() {
    let half = |text: &str| encode(&Secret::new(text).hash().as_bytes()[..16]);
    assert!(judge_claims(&with("at_hash", json!(half("an-access-token")))).is_ok());
    assert!(judge_claims(&with("c_hash", json!(half("a-code")))).is_ok());
    for name in ["at_hash", "c_hash"] {
        for wrong in
            [half("other"), String::new(), "!".to_owned(), encode(Secret::new("a-code").hash().as_bytes())]
        {
            assert_eq!(judge_claims(&with(name, json!(wrong))).unwrap_err(), TokenRefusal::Hash);
        }
        assert!(judge_claims(&with(name, json!(null))).is_err());
        assert!(judge_claims(&with(name, json!(1))).is_err());
    }
}

/// R22: the subject claim, and a string.
#[test]
fn r22_a_subject_must_be_there() {
    for sub in [json!(7), json!(null), json!(""), json!(["alice"]), json!("a\u{0}"), json!("a".repeat(256))] {
        assert_eq!(judge_claims(&with("sub", sub)).unwrap_err(), TokenRefusal::Subject);
    }
    assert_eq!(judge_claims(&without("sub")).unwrap_err(), TokenRefusal::Subject);
}

/// R38: a token of another kind is no ID token, whoever signed it.
#[test]
fn r38_another_type_is_refused() {
    let forge = Forge::new(Kind::Es256, "k1");
    let known = keys(&forge.jwks());
    for typ in ["at+jwt", "application/at+jwt", "logout+jwt", "dpop+jwt", "secevent+jwt"] {
        let token = forge.sign_with(&json!({ "alg": "ES256", "kid": "k1", "typ": typ }), &claims());
        assert_eq!(judge(&token, &known).unwrap_err(), TokenRefusal::Type, "{typ}");
    }
    for typ in ["JWT", "jwt"] {
        let token = forge.sign_with(&json!({ "alg": "ES256", "kid": "k1", "typ": typ }), &claims());
        assert!(judge(&token, &known).is_ok());
    }
}
