//! R2: whose access token an MCP server has passed on.

use super::*;
use crate::clock::Millis;

const RESOURCE: &str = "https://files.example.com/mcp";

fn claims(bench: &Bench) -> Value {
    json!({
        "iss": bench.issuer(), "sub": "alice", "aud": RESOURCE, "client_id": "some-client",
        "iat": bench.seconds(), "exp": bench.seconds() + 300,
    })
}

fn at_jwt(bench: &Bench, claims: &Value) -> String {
    bench.forge.sign_with(&json!({ "alg": "ES256", "typ": "at+jwt", "kid": "k1" }), claims)
}

async fn asked(bench: &Bench, token: &str) -> Result<Subject, IdentityError> {
    bench.identity.subject_of("main", &Secret::new(token), RESOURCE).await
}

#[tokio::test]
async fn an_access_token_names_its_user() {
    let bench = Bench::new().await;
    let alice = Subject::new(bench.issuer(), "alice").unwrap();
    assert_eq!(asked(&bench, &at_jwt(&bench, &claims(&bench))).await.unwrap(), alice);
    assert_eq!(asked(&bench, &bench.forge.sign(&claims(&bench))).await.unwrap(), alice);
    let mut several = claims(&bench);
    several["aud"] = json!(["account", RESOURCE]);
    assert_eq!(asked(&bench, &at_jwt(&bench, &several)).await.unwrap(), alice);
}

/// R2: forged, expired, another's, or meant for somebody else.
#[tokio::test]
async fn r2_a_token_that_proves_nothing_is_refused() {
    let bench = Bench::new().await;
    let refused = async |name: &str, value: Value| {
        let mut changed = claims(&bench);
        changed[name] = value;
        asked(&bench, &at_jwt(&bench, &changed)).await.unwrap_err()
    };
    let token = |refusal| IdentityError::Token(refusal);
    assert_eq!(refused("aud", json!("https://mail.example.com/mcp")).await, token(TokenRefusal::Audience));
    assert_eq!(refused("aud", json!(format!("{RESOURCE}/"))).await, token(TokenRefusal::Audience));
    assert_eq!(refused("aud", json!([])).await, token(TokenRefusal::Audience));
    assert_eq!(refused("iss", json!("https://evil.example")).await, token(TokenRefusal::Issuer));
    assert_eq!(refused("exp", json!(bench.seconds() - 60)).await, token(TokenRefusal::Expired));
    assert_eq!(refused("exp", json!(null)).await, token(TokenRefusal::Malformed));
    assert_eq!(refused("nbf", json!(bench.seconds() + 60)).await, token(TokenRefusal::NotYet));
    assert_eq!(refused("sub", json!(7)).await, token(TokenRefusal::Subject));
    let forged = Forge::new(Kind::Es256, "k1").sign(&claims(&bench));
    assert_eq!(asked(&bench, &forged).await.unwrap_err(), token(TokenRefusal::Signature));
    for odd in ["", "opaque", "a.b.c", &"x".repeat(100_000)] {
        assert!(matches!(asked(&bench, odd).await, Err(IdentityError::Token(_))));
    }
}

/// R38: an ID token that was made for a client speaks for nobody here.
#[tokio::test]
async fn r38_an_id_token_is_no_access_token() {
    let bench = Bench::new().await;
    for name in ["nonce", "at_hash", "c_hash"] {
        let mut id_token = claims(&bench);
        id_token[name] = json!("x");
        let refused = asked(&bench, &bench.forge.sign(&id_token)).await.unwrap_err();
        assert_eq!(refused, IdentityError::Token(TokenRefusal::Type));
    }
    for typ in ["logout+jwt", "dpop+jwt"] {
        let token =
            bench.forge.sign_with(&json!({ "alg": "ES256", "typ": typ, "kid": "k1" }), &claims(&bench));
        assert!(asked(&bench, &token).await.is_err());
    }
}

/// R30, R94: a thousand unknown keys are one question, and a new key is found.
#[tokio::test]
async fn r30_a_new_key_is_found_and_unknown_ones_are_throttled() {
    let mut bench = Bench::new().await;
    asked(&bench, &at_jwt(&bench, &claims(&bench))).await.unwrap();
    assert_eq!(bench.peer.asked("/jwks").len(), 1);
    bench.forge = Forge::new(Kind::Es256, "k2");
    bench.peer.say("/jwks", 200, &bench.forge.jwks());
    asked(&bench, &bench.forge.sign(&claims(&bench))).await.unwrap();
    assert_eq!(bench.peer.asked("/jwks").len(), 2);
    let stranger = Forge::new(Kind::Es256, "k1");
    for kid in 0..1000 {
        let header = json!({ "alg": "ES256", "kid": kid.to_string() });
        assert!(asked(&bench, &stranger.sign_with(&header, &claims(&bench))).await.is_err());
    }
    assert_eq!(bench.peer.asked("/jwks").len(), 2);
    bench.clock.advance(Duration::from_mins(1));
    assert!(asked(&bench, &stranger.sign(&claims(&bench))).await.is_err());
    assert_eq!(bench.peer.asked("/jwks").len(), 3);
}

/// R30: a key that was withdrawn does not verify for long.
#[tokio::test]
async fn r30_a_withdrawn_key_ends() {
    let bench = Bench::new().await;
    asked(&bench, &at_jwt(&bench, &claims(&bench))).await.unwrap();
    bench.peer.say("/jwks", 200, &Forge::new(Kind::Es256, "k2").jwks());
    bench.clock.advance(KEYS_LIFE.fresh);
    assert!(asked(&bench, &at_jwt(&bench, &claims(&bench))).await.is_err());
}

#[tokio::test]
async fn an_issuer_that_is_down_is_not_a_bad_token() {
    let bench = Bench::new().await;
    bench.peer.say("/jwks", 503, &json!({}));
    let down = asked(&bench, &at_jwt(&bench, &claims(&bench))).await.unwrap_err();
    assert!(matches!(down, IdentityError::Unreachable(_)));
}

/// R95: nothing in a token is asked for.
#[tokio::test]
async fn r95_a_token_names_no_url() {
    let bench = Bench::new().await;
    let mut hostile = claims(&bench);
    hostile["iss"] = json!(bench.peer.url("/evil"));
    hostile["jku"] = json!(bench.peer.url("/evil/jwks"));
    let header = json!({ "alg": "ES256", "kid": "x", "jku": bench.peer.url("/evil/jwks") });
    assert!(asked(&bench, &bench.forge.sign_with(&header, &hostile)).await.is_err());
    assert!(bench.peer.asked("/evil/jwks").is_empty());
    assert!(bench.peer.asked("/evil/.well-known/openid-configuration").is_empty());
}

#[tokio::test]
async fn an_issuers_yes_is_believed_for_half_a_minute() {
    let bench = Bench::with(|server| server.access_tokens = AccessTokens::Introspection).await;
    let yes = json!({ "active": true, "sub": "alice", "aud": RESOURCE, "exp": bench.seconds() + 300 });
    bench.peer.say("/introspect", 200, &yes);
    for _ in 0..3 {
        assert_eq!(asked(&bench, "opaque").await.unwrap().sub, "alice");
    }
    let questions = bench.peer.asked("/introspect");
    assert_eq!(questions.len(), 1);
    assert!(questions[0].body.starts_with("token=opaque&token_type_hint=access_token"));
    assert!(questions[0].head.to_ascii_lowercase().contains("authorization: basic "));
    bench.peer.say("/introspect", 200, &json!({ "active": false }));
    bench.clock.advance(Duration::from_secs(30));
    for _ in 0..2 {
        assert_eq!(asked(&bench, "opaque").await.unwrap_err(), IdentityError::Token(TokenRefusal::Inactive));
    }
    assert_eq!(bench.peer.asked("/introspect").len(), 3, "a refusal is not remembered");
}

async fn opaque() -> Bench {
    Bench::with(|server| server.access_tokens = AccessTokens::Introspection).await
}

async fn from_outside(bench: &Bench, token: &str) -> Result<Bearer, IdentityError> {
    bench.identity.bearer_from_outside("main", &Secret::new(token), RESOURCE).await
}

#[tokio::test]
async fn an_end_is_known_where_the_issuer_tells_one() {
    let bench = Bench::new().await;
    let token = at_jwt(&bench, &claims(&bench));
    let ends = Some(Millis::from_seconds(bench.seconds() + 300 + 30));
    assert_eq!(from_outside(&bench, &token).await.unwrap().expires_at, ends, "with the leeway");
    let bench = opaque().await;
    let mut yes = json!({ "active": true, "sub": "alice", "aud": RESOURCE });
    bench.peer.say("/introspect", 200, &yes);
    assert_eq!(from_outside(&bench, "endless").await.unwrap().expires_at, None);
    let ends = Some(Millis::from_seconds(bench.seconds() + 300 + 30));
    yes["exp"] = json!(bench.seconds() + 300);
    bench.peer.say("/introspect", 200, &yes);
    assert_eq!(from_outside(&bench, "opaque").await.unwrap().expires_at, ends);
}

/// Whoever may present tokens does not make us ask of the same one again and again; who is down has said nothing.
#[tokio::test]
async fn a_no_is_believed_for_ten_seconds_where_strangers_come() {
    let bench = opaque().await;
    bench.peer.say("/introspect", 503, &json!({}));
    for _ in 0..2 {
        assert!(matches!(from_outside(&bench, "opaque").await, Err(IdentityError::Unreachable(_))));
    }
    assert_eq!(bench.peer.asked("/introspect").len(), 2, "an outage is not remembered");
    bench.peer.say("/introspect", 200, &json!({ "active": false }));
    for _ in 0..5 {
        let refused = from_outside(&bench, "opaque").await.unwrap_err();
        assert_eq!(refused, IdentityError::Token(TokenRefusal::Inactive));
    }
    assert_eq!(bench.peer.asked("/introspect").len(), 3);
    // An MCP server's question is answered by the issuer, as ever.
    assert_eq!(asked(&bench, "opaque").await.unwrap_err(), IdentityError::Token(TokenRefusal::Inactive));
    assert_eq!(bench.peer.asked("/introspect").len(), 4);
    bench.peer.say("/introspect", 200, &json!({ "active": true, "sub": "alice", "aud": RESOURCE }));
    assert!(from_outside(&bench, "opaque").await.is_err());
    bench.clock.advance(Duration::from_secs(10));
    assert_eq!(from_outside(&bench, "opaque").await.unwrap().subject.sub, "alice");
    assert_eq!(bench.peer.asked("/introspect").len(), 5);
}

/// Made-up tokens are so many questions a minute, and do not lock out whose token was good a moment ago.
#[tokio::test]
async fn strangers_have_a_pace_that_holds_nobody_else_back() {
    let bench = opaque().await;
    bench.peer.say("/introspect", 200, &json!({ "active": true, "sub": "alice", "aud": RESOURCE }));
    from_outside(&bench, "alices").await.unwrap();
    bench.clock.advance(Duration::from_mins(2));
    bench.peer.say("/introspect", 200, &json!({ "active": false }));
    for at in 0..600 {
        let refused = from_outside(&bench, &at.to_string()).await.unwrap_err();
        assert_eq!(refused, IdentityError::Token(TokenRefusal::Inactive), "{at}");
    }
    let busy = from_outside(&bench, "one more").await.unwrap_err();
    assert!(matches!(busy, IdentityError::Busy(wait) if wait <= Duration::from_secs(1)), "{busy}");
    assert!(
        matches!(asked(&bench, "one more").await, Err(IdentityError::Token(_))),
        "an MCP server has none"
    );
    assert_eq!(bench.peer.asked("/introspect").len(), 602);
    bench.peer.say("/introspect", 200, &json!({ "active": true, "sub": "alice", "aud": RESOURCE }));
    from_outside(&bench, "alices").await.unwrap();
    from_outside(&bench, "alices").await.unwrap();
    assert_eq!(bench.peer.asked("/introspect").len(), 603);
    // One that is not good any more is a stranger's.
    bench.clock.advance(Duration::from_secs(30));
    bench.peer.say("/introspect", 200, &json!({ "active": false }));
    assert!(matches!(from_outside(&bench, "alices").await, Err(IdentityError::Token(_))));
    for at in 600..1_200 {
        let _ = from_outside(&bench, &at.to_string()).await;
    }
    bench.clock.advance(Duration::from_millis(50));
    assert!(matches!(from_outside(&bench, "alices").await, Err(IdentityError::Token(_))), "remembered");
    bench.clock.advance(Duration::from_secs(10));
    for at in 1_200..1_400 {
        let _ = from_outside(&bench, &at.to_string()).await;
    }
    assert!(matches!(from_outside(&bench, "alices").await, Err(IdentityError::Busy(_))));
}

/// R2, R33: only `true` is a yes, and only for this resource.
#[tokio::test]
async fn r2_an_introspection_that_proves_nothing_is_refused() {
    let bench = Bench::with(|server| server.access_tokens = AccessTokens::Introspection).await;
    let good = json!({ "active": true, "sub": "alice", "aud": [RESOURCE], "iss": bench.issuer() });
    for (name, value) in [
        ("active", json!("true")),
        ("active", json!(1)),
        ("active", json!(null)),
        ("aud", json!("https://mail.example.com")),
        ("aud", json!(null)),
        ("iss", json!("https://evil.example")),
        ("exp", json!(bench.seconds() - 60)),
        ("exp", json!("soon")),
        ("sub", json!(1)),
    ] {
        let mut answer = good.clone();
        answer[name] = value;
        bench.peer.say("/introspect", 200, &answer);
        assert!(matches!(asked(&bench, "opaque").await, Err(IdentityError::Token(_))), "{name}");
    }
    bench.peer.say("/introspect", 401, &json!({ "error": "invalid_client" }));
    assert_eq!(asked(&bench, "opaque").await.unwrap_err(), IdentityError::ClientRefused);
    bench.peer.say("/introspect", 503, &json!({}));
    assert!(matches!(asked(&bench, "opaque").await, Err(IdentityError::Unreachable(_))));
    bench.peer.say("/introspect", 200, &good);
    assert!(asked(&bench, "opaque").await.is_ok());
}
