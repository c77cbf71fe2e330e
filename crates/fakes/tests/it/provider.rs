//! "Example Files": the code flow and everything it refuses.

use std::time::Duration;

use consentry_fakes::{Answered, AuthenticationUsed, Client, Par, Verdict};

use crate::client::*;

#[tokio::test]
async fn an_honest_flow_ends_at_the_files() {
    let provider = provider().await;
    let url = authorize_url(provider.base_url(), &honest("files.read"));
    let back = provider.approve(&url, "octocat").unwrap();
    assert_eq!(query(&back, "state").as_deref(), Some("state-1"));
    assert_eq!(query(&back, "iss").as_deref(), Some(provider.base_url()));

    let code = query(&back, "code").unwrap();
    let (status, body) = token(provider.base_url(), &code_form(&code)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["scope"], "files.read");
    assert_eq!(body["expires_in"], 3600);

    let access = body["access_token"].as_str().unwrap();
    let (status, files) = get(&format!("{}/files", provider.base_url()), Some(access)).await;
    assert_eq!((status, files["owner"].as_str()), (200, Some("octocat")));
    let (_, me) = get(&format!("{}/me", provider.base_url()), Some(access)).await;
    assert_eq!((me["id"].as_u64(), me["login"].as_str()), (Some(583_231), Some("octocat")));
    let (_, userinfo) = get(&format!("{}/userinfo", provider.base_url()), Some(access)).await;
    assert_eq!(userinfo["sub"], "583231");

    let log = provider.token_log();
    assert_eq!(log.len(), 1);
    assert!(log[0].accepted && log[0].is_code());
    assert_eq!(log[0].code.as_deref(), Some(code.as_str()));
    assert_eq!(log[0].authentication, AuthenticationUsed::Basic);
    let approval = log[0].approval.as_ref().unwrap();
    assert_eq!((approval.account.as_str(), approval.state.as_deref()), ("octocat", Some("state-1")));
}

#[tokio::test]
async fn a_wrong_exchange_is_refused_and_logged() {
    let provider = provider().await;
    let base = provider.base_url();
    let other = VERIFIER.replace('d', "e");
    for (name, value) in [
        ("code_verifier", other.as_str()),
        ("code_verifier", "short"),
        ("code_verifier", ""),
        ("redirect_uri", "http://127.0.0.1:9/callback/files/acme/"),
        ("redirect_uri", ""),
        ("code", "code_unknown"),
    ] {
        let code = code(&provider);
        let mut form = code_form(&code);
        form.retain(|(n, _)| *n != name);
        form.push((name, value));
        let (status, body) = token(base, &form).await;
        assert_eq!((status, &body["error"]), (400, &"invalid_grant".into()), "{name}={value}");
        let logged = provider.token_log().pop().unwrap();
        assert!(!logged.accepted);
        assert_eq!(logged.approval.is_some(), name != "code");
    }
}

#[tokio::test]
async fn a_code_is_good_once_and_its_reuse_revokes() {
    let provider = provider().await;
    let code = code(&provider);
    let (_, first) = token(provider.base_url(), &code_form(&code)).await;
    let (status, second) = token(provider.base_url(), &code_form(&code)).await;
    assert_eq!((status, &second["error"]), (400, &"invalid_grant".into()));
    let access = first["access_token"].as_str();
    let (status, _) = get(&format!("{}/files", provider.base_url()), access).await;
    assert_eq!(status, 401, "what the code bought is revoked");
    assert_eq!(provider.reuse_kills(), 1);
    let accepted: Vec<bool> = provider.token_log().iter().map(|entry| entry.accepted).collect();
    assert_eq!(accepted, [true, false]);
}

#[tokio::test]
async fn a_code_lives_a_minute() {
    let provider = provider().await;
    let code = code(&provider);
    provider.clock().advance(Duration::from_secs(60));
    let (status, body) = token(provider.base_url(), &code_form(&code)).await;
    assert_eq!((status, &body["error"]), (400, &"invalid_grant".into()));
}

#[tokio::test]
async fn a_client_proves_itself_only_by_its_method() {
    let provider = provider().await;
    let base = provider.base_url();
    let plain = |id: &str, secret: &str| {
        use base64::Engine as _;
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}")))
    };
    for authorization in [
        None,
        Some(basic("consentry", "wrong")),
        Some(basic("nobody", SECRET)),
        Some(plain("consentry", SECRET)),
        Some("Bearer x".to_owned()),
    ] {
        let code = code(&provider);
        let (status, body) = token_as(base, &code_form(&code), authorization.clone()).await;
        assert_eq!((status, &body["error"]), (401, &"invalid_client".into()), "{authorization:?}");
    }
    let code = code(&provider);
    let mut form = code_form(&code);
    form.extend([("client_id", "consentry"), ("client_secret", SECRET)]);
    let (status, _) = token_as(base, &form, None).await;
    assert_eq!(status, 401, "client_secret_post is not what was registered");
    let (status, _) = token(base, &form).await;
    assert_eq!(status, 401, "two methods at once");
    let (status, _) = token(base, &code_form(&code)).await;
    assert_eq!(status, 200, "no stranger's attempt has spent the code");
}

#[tokio::test]
async fn another_clients_code_is_refused() {
    let provider = provider().await;
    provider.register(Client::post("other", "x").redirect_uri(CALLBACK));
    let code = code(&provider);
    let mut form = code_form(&code);
    form.extend([("client_id", "other"), ("client_secret", "x")]);
    let (status, body) = token_as(provider.base_url(), &form, None).await;
    assert_eq!((status, &body["error"]), (400, &"invalid_grant".into()));
}

#[tokio::test]
async fn a_doubtful_request_is_never_redirected() {
    let provider = provider().await;
    let doubled = |name: &str| {
        let mut twice = honest("files.read");
        let again = twice.iter().find(|(n, _)| n == name).cloned().unwrap();
        twice.push(again);
        twice
    };
    for parameters in [
        with("files.read", "client_id", "nobody"),
        with("files.read", "client_id", ""),
        with("files.read", "redirect_uri", ""),
        with("files.read", "redirect_uri", "http://127.0.0.1:9/callback/files/acme/"),
        with("files.read", "redirect_uri", "http://127.0.0.1:9/callback/files/acme?x=1"),
        with("files.read", "redirect_uri", "HTTP://127.0.0.1:9/callback/files/acme"),
        doubled("state"),
        doubled("scope"),
    ] {
        let url = authorize_url(provider.base_url(), &parameters);
        assert!(provider.approve(&url, "octocat").is_err(), "{parameters:?}");
        let logged = provider.authorize_log().pop().unwrap();
        assert!(matches!(logged.verdict, Verdict::RefusedHere(_)));
        assert_eq!(logged.parameters, parameters, "all of it, in order");
        assert!(logged.answers.is_empty());
    }
    assert!(provider.approve("http://127.0.0.9:1/authorize?client_id=consentry", "octocat").is_err());
    assert!(provider.approve(&authorize_url(provider.base_url(), &honest("profile")), "nobody").is_err());
}

#[tokio::test]
async fn other_faults_go_back_to_the_client() {
    let provider = provider().await;
    for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "", "invalid_request"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "too-short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("scope", "files.read admin", "invalid_scope"),
        ("resource", "not-absolute", "invalid_target"),
        ("request", "eyJ", "request_not_supported"),
    ] {
        let url = authorize_url(provider.base_url(), &with("files.read", name, value));
        let back = provider.approve(&url, "octocat").unwrap();
        assert_eq!(query(&back, "error").as_deref(), Some(error), "{name}={value}");
        assert_eq!(query(&back, "iss").as_deref(), Some(provider.base_url()));
        assert_eq!(query(&back, "code"), None);
    }
}

#[tokio::test]
async fn deny_and_partial_grants_are_answers_too() {
    let provider = provider().await;
    let url = authorize_url(provider.base_url(), &honest("files.read profile"));
    assert_eq!(query(&provider.deny(&url).unwrap(), "error").as_deref(), Some("access_denied"));
    let back = provider.approve_with_scopes(&url, "hubot", &["profile"]).unwrap();
    let (_, body) = token(provider.base_url(), &code_form(&query(&back, "code").unwrap())).await;
    assert_eq!(body["scope"], "profile");
    let (status, _) = get(&format!("{}/files", provider.base_url()), body["access_token"].as_str()).await;
    assert_eq!(status, 403);
    let answers: Vec<_> = provider.authorize_log().into_iter().flat_map(|entry| entry.answers).collect();
    assert_eq!(
        answers,
        [
            Answered::Denied("access_denied".to_owned()),
            Answered::Approved { account: "hubot".to_owned(), scopes: vec!["profile".to_owned()] }
        ]
    );
}

#[tokio::test]
async fn granted_scopes_can_be_dictated_and_iss_left_out() {
    let provider = provider().await;
    provider.configure(|settings| {
        settings.grant_only = Some(vec!["files.read".to_owned(), "files.write".to_owned()]);
        settings.issuer_in_response = false;
    });
    let back =
        provider.approve(&authorize_url(provider.base_url(), &honest("files.read")), "octocat").unwrap();
    assert_eq!(query(&back, "iss"), None);
    let (_, body) = token(provider.base_url(), &code_form(&query(&back, "code").unwrap())).await;
    assert_eq!(body["scope"], "files.read files.write");
    let metadata = format!("{}/.well-known/oauth-authorization-server", provider.base_url());
    let (_, document) = get(&metadata, None).await;
    assert_eq!(document["authorization_response_iss_parameter_supported"], false);
    provider.configure(|settings| settings.metadata = false);
    assert_eq!(get(&metadata, None).await.0, 404);
}

#[tokio::test]
async fn form_post_gives_fields_instead_of_a_url() {
    let provider = provider().await;
    let url = authorize_url(provider.base_url(), &with("files.read", "response_mode", "form_post"));
    assert!(provider.approve(&url, "octocat").is_err());
    let form = provider.approve_form_post(&url, "octocat").unwrap();
    assert_eq!(form.action, CALLBACK);
    let names: Vec<&str> = form.fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["code", "state", "iss"]);
}

#[tokio::test]
async fn pushed_requests_are_for_their_client_and_once() {
    let provider = provider().await;
    provider.configure(|settings| settings.par = Par::Required);
    let base = provider.base_url();
    assert!(provider.approve(&authorize_url(base, &honest("files.read")), "octocat").is_err(), "not pushed");

    let parameters = honest("files.read");
    let form: Vec<(&str, &str)> = parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(post(&format!("{base}/par"), &form, None).await.0, 401);
    let (status, body) = post(&format!("{base}/par"), &form, Some(basic("consentry", SECRET))).await;
    assert_eq!(status, 201, "{body}");
    let request_uri = body["request_uri"].as_str().unwrap();
    let short = |client: &str| {
        let pairs = [("client_id", client), ("request_uri", request_uri)];
        authorize_url(base, &pairs.map(|(n, v)| (n.to_owned(), v.to_owned())))
    };
    provider.register(Client::public("other").redirect_uri(CALLBACK));
    assert!(provider.approve(&short("other"), "octocat").is_err());
    let back = provider.approve(&short("consentry"), "octocat").unwrap();
    assert_eq!(query(&back, "state").as_deref(), Some("state-1"));
    assert_eq!(provider.authorize_log().pop().unwrap().parameter("scope"), Some("files.read"));
    assert!(provider.approve(&short("consentry"), "octocat").is_err(), "spent");
}

#[tokio::test]
async fn the_api_wants_a_living_token_in_the_header() {
    let provider = provider().await;
    let access = tokens(&provider).await["access_token"].as_str().unwrap().to_owned();
    let files = format!("{}/files", provider.base_url());
    assert_eq!(get(&files, None).await.0, 401);
    assert_eq!(get(&files, Some("nonsense")).await.0, 401);
    assert_eq!(get(&format!("{files}?access_token={access}"), None).await.0, 401);
    assert_eq!(get(&files, Some(&access)).await.0, 200);
    provider.clock().advance(Duration::from_secs(3600));
    assert_eq!(get(&files, Some(&access)).await.0, 401);
}
