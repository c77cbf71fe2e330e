//! Who is let in, and what is said to who is not.

use axum::{body::Body, http::Request};
use consentry_bearer::{Bearer, Setup};
use consentry_fakes::{Forge, Signature};
use serde_json::{Value, json};

use crate::stand::{RESOURCE, Stand, challenge, text};

/// A1 to A4: without a token the way to one is shown, and there stands where it is to be had, and for what.
#[tokio::test]
async fn a1_a2_a3_a4_without_a_token_the_way_to_one_is_shown() {
    let stand = Stand::with(|builder| builder.scopes(["mcp"]).offers(["files:write"]).name("Files")).await;
    let response = stand.send(Request::get("/mcp").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 401);
    assert_eq!(
        challenge(&response),
        "Bearer resource_metadata=\"https://files.example.com/.well-known/oauth-protected-resource/mcp\", scope=\"mcp\""
    );

    let path = "/.well-known/oauth-protected-resource/mcp";
    let response = stand.send(Request::get(path).body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    let metadata: Value = serde_json::from_str(&text(response).await).unwrap();
    let expected = json!({
        "resource": RESOURCE,
        "resource_name": "Files",
        "authorization_servers": [stand.id.base_url()],
        "scopes_supported": ["mcp", "files:write"],
        "bearer_methods_supported": ["header"],
    });
    assert_eq!(metadata, expected);
    assert_eq!(stand.send(Request::post(path).body(Body::empty()).unwrap()).await.status(), 405);
}

/// A5 to A8, A10, P1: signed by the issuer, from it, for this server, an access token, alive.
#[tokio::test]
async fn a5_a6_a7_a8_a10_p1_a_token_must_be_an_honest_one_for_this_server() {
    let stand = Stand::new().await;
    let good = stand.with_token("/mcp", &stand.token()).await;
    assert_eq!(good.status(), 200);
    assert_eq!(text(good).await, format!("alice of {}", stand.id.base_url()));

    let elsewhere = stand.id.access_token_for("alice", "https://other.example.com/mcp").unwrap();
    let tokens = [
        ("another audience", elsewhere),
        ("no audience", stand.forged(&Forge::new().without("aud"))),
        ("a longer audience", stand.forged(&Forge::new().claim("aud", format!("{RESOURCE}/x")))),
        ("another issuer", stand.forged(&Forge::new().claim("iss", "http://127.0.0.9:1"))),
        (
            "an issuer with a slash",
            stand.forged(&Forge::new().claim("iss", format!("{}/", stand.id.base_url()))),
        ),
        ("expired", stand.forged(&Forge::new().claim("exp", 1_500_000_000))),
        ("no expiry", stand.forged(&Forge::new().without("exp"))),
        ("an expiry in words", stand.forged(&Forge::new().claim("exp", "4102444800"))),
        ("not valid yet", stand.forged(&Forge::new().claim("nbf", 4_102_444_800_i64))),
        ("no subject", stand.forged(&Forge::new().without("sub"))),
        ("a number as subject", stand.forged(&Forge::new().claim("sub", 7))),
        ("an ID token", stand.forged(&Forge::new().header("typ", "JWT").claim("nonce", "n"))),
        ("another type", stand.forged(&Forge::new().header("typ", "logout+jwt"))),
        ("an extension", stand.forged(&Forge::new().header("crit", json!(["x"])))),
        ("nonsense", "nonsense".to_owned()),
    ];
    let unproven = Forge::unproven().map(|(what, forge)| (what, stand.forged(&forge)));
    for (what, token) in tokens.into_iter().chain(unproven) {
        let response = stand.with_token("/mcp", &token).await;
        assert_eq!(response.status(), 401, "{what}");
        assert!(challenge(&response).contains("error=\"invalid_token\""), "{what}");
        assert!(!text(response).await.contains(&token), "{what}");
    }
}

/// A14, A15: a good token for less gets 403 and hears what would be sufficient; a broader scope is.
#[tokio::test]
async fn a14_a15_scopes_are_asked_for_and_broader_ones_suffice() {
    let stand = Stand::with(|builder| builder.scopes(["mcp"]).implies("admin", ["mcp", "files:write"])).await;
    for (scope, path, status, wanted) in [
        ("mcp", "/mcp", 200, ""),
        ("other mcpx", "/mcp", 403, "scope=\"mcp\""),
        ("mcp", "/write", 403, "scope=\"mcp files:write\""),
        ("mcp files:write", "/write", 200, ""),
        ("admin", "/write", 200, ""),
    ] {
        let response = stand.with_token(path, &stand.forged(&Forge::new().claim("scope", scope))).await;
        assert_eq!(response.status(), status, "{scope} {path}");
        if status == 403 {
            let challenge = challenge(&response);
            assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
            assert!(challenge.contains(wanted) && challenge.contains("resource_metadata="), "{challenge}");
        }
    }
}

/// A11: only the header counts, once, and only as a bearer token.
#[tokio::test]
async fn a11_a_token_stands_in_the_header_alone() {
    let stand = Stand::new().await;
    let token = stand.token();
    let query = Request::get(format!("/mcp?access_token={token}")).body(Body::empty()).unwrap();
    assert_eq!(stand.send(query).await.status(), 401);
    for (value, status) in [
        (format!("bearer {token}"), 200),
        (format!("Bearer  {token}"), 200),
        (format!("Basic {token}"), 401),
        ("Bearer".to_owned(), 400),
        (format!("Bearer {token} {token}"), 400),
        (format!("Bearer {token},Bearer {token}"), 400),
    ] {
        let request = Request::get("/mcp").header("authorization", &value).body(Body::empty()).unwrap();
        assert_eq!(stand.send(request).await.status(), status);
    }
    let twice = Request::get("/mcp").header("authorization", format!("Bearer {token}"));
    let twice = twice.header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap();
    let response = stand.send(twice).await;
    assert_eq!(response.status(), 400);
    assert!(challenge(&response).contains("error=\"invalid_request\""));
}

#[tokio::test]
async fn algorithms_types_and_claims_are_the_settings() {
    let es256 = Stand::with(|builder| builder.algorithms(["ES256"])).await;
    assert_eq!(es256.with_token("/mcp", &es256.token()).await.status(), 401);
    let token = es256.forged(&Forge::new().signed(Signature::Es256));
    assert_eq!(es256.with_token("/mcp", &token).await.status(), 200);

    let strict = Stand::with(consentry_bearer::Builder::only_rfc9068).await;
    let plain = strict.forged(&Forge::new().header("typ", "JWT"));
    assert_eq!(strict.with_token("/mcp", &plain).await.status(), 401);
    assert_eq!(strict.with_token("/mcp", &strict.token()).await.status(), 200);

    let by_oid = Stand::with(|builder| builder.subject_claim("oid")).await;
    assert_eq!(by_oid.with_token("/mcp", &by_oid.token()).await.status(), 401);
    let named = by_oid.with_token("/mcp", &by_oid.forged(&Forge::new().claim("oid", "o-1"))).await;
    assert!(text(named).await.starts_with("o-1 of "));
}

/// A16 and what else would only show with the first user.
#[test]
fn a16_settings_that_cannot_work_are_refused() {
    let good = || Bearer::builder(RESOURCE, "https://id.example.com");
    assert!(good().build().is_ok());
    for (builder, refused) in [
        (Bearer::builder("files.example.com", "https://id.example.com"), Setup::Resource),
        (Bearer::builder("http://files.example.com/mcp", "https://id.example.com"), Setup::Resource),
        (Bearer::builder("https://files.example.com/mcp#x", "https://id.example.com"), Setup::Resource),
        (Bearer::builder(RESOURCE, "http://id.example.com"), Setup::Issuer),
        (Bearer::builder(RESOURCE, "https://id.example.com?x"), Setup::Issuer),
        (good().jwks_uri("http://id.example.com/keys"), Setup::Jwks),
        (good().algorithms(["HS256"]), Setup::Algorithm),
        (good().algorithms(["none"]), Setup::Algorithm),
        (good().algorithms([""; 0]), Setup::Algorithm),
        (good().scopes(["a b"]), Setup::Scope),
        (good().scopes(["\""]), Setup::Scope),
        (good().offers(["offline_access"]), Setup::OfflineAccess),
    ] {
        assert_eq!(builder.build().unwrap_err(), refused);
    }
}

/// The principal is the user's, and shows no token.
#[tokio::test]
async fn a_principal_shows_no_token() {
    let stand = Stand::new().await;
    let token = stand.token();
    let headers = [("authorization".parse().unwrap(), format!("Bearer {token}").parse().unwrap())];
    let principal = stand.bearer.verify(&headers.into_iter().collect()).await.unwrap();
    assert_eq!((principal.sub(), principal.client_id()), ("alice", Some("example-mcp-client")));
    assert_eq!(principal.token(), token);
    assert!(!format!("{principal:?}").contains(&token));
}
