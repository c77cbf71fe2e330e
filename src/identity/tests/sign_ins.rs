//! R21, R24, R26, R34, R52: a sign-in from its beginning to its end.

use std::collections::HashMap;

use uuid::Uuid;

use super::*;

const LIFE: Duration = Duration::from_mins(5);

struct Trip {
    begun: Begun,
    sent: HashMap<String, String>,
}

fn target() -> Target {
    Target::Connections { server: "files".parse().unwrap() }
}

fn pairs(query: &str) -> HashMap<String, String> {
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let map: HashMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(map.len(), pairs.len(), "each parameter once: {query}");
    map
}

async fn begin(bench: &Bench, switch: bool) -> Trip {
    let begun = bench.identity.begin("main", target(), switch, Uuid::from_u128(1)).await.unwrap();
    let sent = pairs(Url::parse(&begun.location).unwrap().query().unwrap());
    Trip { begun, sent }
}

fn id_token(bench: &Bench, nonce: &str) -> Value {
    json!({
        "iss": bench.issuer(), "sub": "alice", "aud": "consentry", "nonce": nonce,
        "iat": bench.seconds(), "exp": bench.seconds() + 300, "email": "alice@example.com",
        "email_verified": true,
    })
}

fn answer_code(bench: &Bench, nonce: &str) {
    let token = bench.forge.sign(&id_token(bench, nonce));
    bench.peer.say(
        "/token",
        200,
        &json!({ "access_token": "at", "token_type": "Bearer", "id_token": token }),
    );
}

async fn finish(bench: &Bench, trip: &Trip, query: &str) -> Result<Arrived, IdentityError> {
    let response = Response::parse(query)?;
    bench.identity.complete("main", &response, &trip.begun.cookie, LIFE).await
}

#[tokio::test]
async fn a_person_signs_in() {
    let bench = Bench::new().await;
    let trip = begin(&bench, false).await;
    assert!(trip.begun.location.starts_with(&bench.peer.url("/authorize?")));
    assert_eq!(trip.sent["redirect_uri"], "http://localhost:8080/sign-in/callback/main");
    assert_eq!(trip.sent["scope"], "openid profile");
    assert!(!trip.sent.contains_key("prompt"));
    answer_code(&bench, &trip.sent["nonce"]);
    let query = format!("code=a+code&state={}&iss={}", trip.sent["state"], bench.issuer());
    assert_eq!(Response::parse(&query).unwrap().cookie_key(), trip.begun.cookie_key);
    let arrived = finish(&bench, &trip, &query).await.unwrap();
    assert_eq!(arrived.subject, Subject::new(bench.issuer(), "alice").unwrap());
    assert_eq!(arrived.label.as_deref(), Some("alice@example.com"));
    assert_eq!((arrived.target, arrived.browser), (target(), Uuid::from_u128(1)));
    // R26, R88: the verifier of this challenge, the same redirect URI, and the secret form-encoded.
    let exchange = &bench.peer.asked("/token")[0];
    let sent = pairs(&exchange.body);
    assert_eq!(sent["grant_type"], "authorization_code");
    assert_eq!(sent["code"], "a code");
    assert_eq!(sent["redirect_uri"], trip.sent["redirect_uri"]);
    assert_eq!(
        forge::encode(Secret::new(sent["code_verifier"].as_str()).hash().as_bytes()),
        trip.sent["code_challenge"]
    );
    assert_eq!(trip.sent["code_challenge_method"], "S256");
    assert!(!sent.contains_key("client_secret"));
    assert!(exchange.head.contains("Basic Y29uc2VudHJ5OnMlM0FlJTI1YyUyNnIlMkJldA=="));
}

/// R24: without this browser's cookie of this very sign-in, nothing is sent anywhere.
#[tokio::test]
async fn r24_an_unsolicited_callback_asks_nothing() {
    let bench = Bench::new().await;
    let (mine, mallorys) = (begin(&bench, false).await, begin(&bench, false).await);
    answer_code(&bench, &mine.sent["nonce"]);
    let theirs = format!("code=c&state={}", mallorys.sent["state"]);
    let not_here = IdentityError::SignIn(SignInRefusal::NotBegunHere);
    assert_eq!(finish(&bench, &mine, &theirs).await.unwrap_err(), not_here);
    let response = Response::parse(&format!("code=c&state={}", mine.sent["state"])).unwrap();
    for cookie in ["", "x", &mallorys.begun.cookie, &mine.begun.cookie[1..]] {
        assert_eq!(bench.identity.complete("main", &response, cookie, LIFE).await.unwrap_err(), not_here);
    }
    let elsewhere = bench.identity.complete("other", &response, &mine.begun.cookie, LIFE).await;
    assert_eq!(elsewhere.unwrap_err(), IdentityError::UnknownServer);
    assert!(bench.peer.asked("/token").is_empty());
}

/// R21: a code of another sign-in, put behind this browser's `state`.
#[tokio::test]
async fn r21_another_sign_ins_code_is_refused() {
    let bench = Bench::new().await;
    let (mine, mallorys) = (begin(&bench, false).await, begin(&bench, false).await);
    answer_code(&bench, &mallorys.sent["nonce"]);
    let refused = finish(&bench, &mine, &format!("code=c&state={}", mine.sent["state"])).await.unwrap_err();
    assert_eq!(refused, IdentityError::Token(TokenRefusal::Nonce));
}

/// RFC 9207: `iss` is compared as it is, and must be there where it is promised; errors are no exception (R70).
#[tokio::test]
async fn r61_another_issuers_response_is_refused_before_the_code_is_sent() {
    let bench = Bench::new().await;
    let mut promising = metadata(&bench.peer);
    promising["authorization_response_iss_parameter_supported"] = json!(true);
    bench.peer.say("/.well-known/openid-configuration", 200, &promising);
    let trip = begin(&bench, false).await;
    let state = &trip.sent["state"];
    let wrong = IdentityError::SignIn(SignInRefusal::WrongIssuer);
    for rest in ["code=c", "error=access_denied"] {
        for iss in [format!("{}/", bench.issuer()), "https://evil.example".to_owned(), String::new()] {
            let query = format!("{rest}&state={state}&iss={iss}");
            assert_eq!(finish(&bench, &trip, &query).await.unwrap_err(), wrong);
        }
        assert_eq!(finish(&bench, &trip, &format!("{rest}&state={state}")).await.unwrap_err(), wrong);
    }
    assert!(bench.peer.asked("/token").is_empty());
    let denied = format!("error=access_denied&state={state}&iss={}", bench.issuer());
    assert_eq!(
        finish(&bench, &trip, &denied).await.unwrap_err(),
        IdentityError::SignIn(SignInRefusal::Denied)
    );
}

#[tokio::test]
async fn a_sign_in_lives_five_minutes() {
    let bench = Bench::new().await;
    let trip = begin(&bench, false).await;
    bench.clock.advance(LIFE);
    let late = finish(&bench, &trip, &format!("code=c&state={}", trip.sent["state"])).await.unwrap_err();
    assert_eq!(late, IdentityError::SignIn(SignInRefusal::TooOld));
    assert!(bench.peer.asked("/token").is_empty());
}

#[tokio::test]
async fn switching_asks_the_server_to_let_the_person_choose() {
    let bench = Bench::new().await;
    assert_eq!(begin(&bench, true).await.sent["prompt"], "login");
    let bench = Bench::new().await;
    let mut choosing = metadata(&bench.peer);
    choosing["prompt_values_supported"] = json!(["none", "login", "select_account"]);
    bench.peer.say("/.well-known/openid-configuration", 200, &choosing);
    assert_eq!(begin(&bench, true).await.sent["prompt"], "select_account");
}

/// R68: pushed where that is offered, and not asked in the open when the push is refused.
#[tokio::test]
async fn r68_the_request_is_pushed_where_that_is_offered() {
    let bench = Bench::with(|server| server.client_secret = None).await;
    let mut pushing = metadata(&bench.peer);
    pushing["pushed_authorization_request_endpoint"] = json!(bench.peer.url("/par"));
    bench.peer.say("/.well-known/openid-configuration", 200, &pushing);
    bench.peer.say("/par", 201, &json!({ "request_uri": "urn:x:1", "expires_in": 60 }));
    let trip = begin(&bench, false).await;
    assert_eq!(
        trip.sent,
        HashMap::from(
            [("client_id", "consentry"), ("request_uri", "urn:x:1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        )
    );
    let pushed = pairs(&bench.peer.asked("/par")[0].body);
    assert_eq!(pushed["client_id"], "consentry");
    answer_code(&bench, &pushed["nonce"]);
    assert!(finish(&bench, &trip, &format!("code=c&state={}", pushed["state"])).await.is_ok());
    for (status, answer, expected) in [
        (400, json!({ "error": "invalid_request" }), IdentityError::ClientRefused),
        (401, json!({ "error": "invalid_client" }), IdentityError::ClientRefused),
        (503, json!({}), IdentityError::Unreachable("it answers with an error")),
        (201, json!({}), IdentityError::Unreachable("its answer cannot be read")),
    ] {
        bench.peer.say("/par", status, &answer);
        let refused = bench.identity.begin("main", target(), false, Uuid::nil()).await.unwrap_err();
        assert_eq!(refused, expected);
    }
}

#[tokio::test]
async fn what_the_token_endpoint_says_is_sorted() {
    let bench = Bench::new().await;
    let trip = begin(&bench, false).await;
    let query = format!("code=c&state={}", trip.sent["state"]);
    let refused = |refusal| IdentityError::SignIn(refusal);
    for (status, answer, expected) in [
        (400, json!({ "error": "invalid_grant" }), refused(SignInRefusal::CodeRefused)),
        (200, json!({ "error": "bad_verification_code" }), refused(SignInRefusal::CodeRefused)),
        (401, json!({ "error": "invalid_client" }), IdentityError::ClientRefused),
        (401, json!([]), IdentityError::ClientRefused),
        (200, json!({ "access_token": "at" }), refused(SignInRefusal::NoIdToken)),
        (200, json!({ "id_token": 1 }), refused(SignInRefusal::NoIdToken)),
        (200, json!({ "id_token": "x" }), IdentityError::Token(TokenRefusal::Malformed)),
        (200, json!([]), IdentityError::Unreachable("its answer cannot be read")),
        (302, json!({}), IdentityError::Unreachable("its answer cannot be read")),
        (500, json!({}), IdentityError::Unreachable("it answers with an error")),
    ] {
        bench.peer.say("/token", status, &answer);
        assert_eq!(finish(&bench, &trip, &query).await.unwrap_err(), expected, "{status} {answer}");
    }
}

/// R57: no two sign-ins share a value.
#[tokio::test]
async fn r57_every_sign_in_has_values_of_its_own() {
    let bench = Bench::new().await;
    let (one, other) = (begin(&bench, false).await, begin(&bench, false).await);
    for name in ["state", "nonce", "code_challenge"] {
        assert_ne!(one.sent[name], other.sent[name]);
    }
    assert_ne!(one.begun.cookie_key, other.begun.cookie_key);
}

/// R27: who the ID token only names by its subject is asked about, and another subject's name is not taken.
#[tokio::test]
async fn r27_a_name_from_userinfo_is_the_same_subjects() {
    let bench = Bench::new().await;
    let mut more = metadata(&bench.peer);
    more["userinfo_endpoint"] = json!(bench.peer.url("/userinfo"));
    bench.peer.say("/.well-known/openid-configuration", 200, &more);
    for (status, answer, label) in [
        (200, json!({ "sub": "alice", "name": "Alice" }), Some("Alice")),
        (200, json!({ "sub": "Alice", "name": "Mallory" }), None),
        (200, json!({ "name": "Mallory" }), None),
        (200, json!([]), None),
        (403, json!({ "sub": "alice", "name": "Alice" }), None),
    ] {
        bench.peer.say("/userinfo", status, &answer);
        let trip = begin(&bench, false).await;
        let mut claims = id_token(&bench, &trip.sent["nonce"]);
        claims.as_object_mut().unwrap().remove("email");
        let tokens = json!({ "access_token": "at", "id_token": bench.forge.sign(&claims) });
        bench.peer.say("/token", 200, &tokens);
        let arrived = finish(&bench, &trip, &format!("code=c&state={}", trip.sent["state"])).await.unwrap();
        assert_eq!(arrived.subject.sub, "alice");
        assert_eq!(arrived.label.as_deref(), label, "{answer}");
    }
    let asked = &bench.peer.asked("/userinfo")[0];
    assert!(asked.head.to_ascii_lowercase().contains("authorization: bearer at"));
}
