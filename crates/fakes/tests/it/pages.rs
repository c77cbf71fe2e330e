//! The pages that people see: consent at the provider, sign-in at the authorization server.

use consentry_fakes::{AuthorizationServer, Client};

use crate::browser::{Browser, Seen};
use crate::client::*;

fn answer(seen: &Seen, name: &str) -> Option<String> {
    assert_eq!(seen.status, 303, "{}", seen.text);
    query(seen.location.as_deref().unwrap(), name)
}

#[tokio::test]
async fn the_consent_page_names_client_accounts_and_scopes() {
    let provider = provider().await;
    provider.register(
        Client::basic("consentry", SECRET).redirect_uri(CALLBACK).name("<b>Consentry</b> for \"Files\""),
    );
    let (base, mut browser) = (provider.base_url(), Browser::default());
    let page = browser.open(&authorize_url(base, &honest("files.read profile"))).await;
    assert_eq!(page.status, 200);
    for text in [
        "&lt;b&gt;Consentry&lt;/b&gt;",
        "Allow as octocat",
        "Allow as hubot",
        "value=\"files.read\" checked",
        "Deny",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
    let back =
        browser.press(base, &page, &[("scope", "profile"), ("scope", "admin"), ("account", "hubot")]).await;
    let (_, tokens) = token(base, &code_form(&answer(&back, "code").unwrap())).await;
    assert_eq!(tokens["scope"], "profile", "what was not asked for cannot be ticked");
    assert_eq!(provider.token_log()[0].approval.as_ref().unwrap().account, "hubot");
    assert_eq!(browser.press(base, &page, &[("account", "octocat")]).await.status, 400, "answered already");

    let page = browser.open(&authorize_url(base, &honest("files.read"))).await;
    let back = browser.press(base, &page, &[("deny", "1")]).await;
    assert_eq!(answer(&back, "error").as_deref(), Some("access_denied"));
}

#[tokio::test]
async fn a_page_is_answered_only_by_the_browser_that_saw_it() {
    let provider = provider().await;
    let base = provider.base_url();
    let page = Browser::default().open(&authorize_url(base, &honest("files.read"))).await;
    let mut other = Browser::default();
    other.open(&authorize_url(base, &honest("files.read"))).await;
    let refused = other.press(base, &page, &[("account", "octocat")]).await;
    assert_eq!((refused.status, refused.location), (400, None));
    assert!(provider.authorize_log().iter().all(|entry| entry.answers.is_empty()));
}

#[tokio::test]
async fn form_post_is_a_page_that_sends_itself_or_has_a_button() {
    let provider = provider().await;
    let (base, mut browser) = (provider.base_url(), Browser::default());
    let page = browser.open(&authorize_url(base, &with("files.read", "response_mode", "form_post"))).await;
    let form = browser.press(base, &page, &[("account", "octocat"), ("scope", "files.read")]).await;
    assert_eq!(form.status, 200);
    for text in [CALLBACK, "name=\"code\"", "name=\"state\" value=\"state-1\"", "<button"] {
        assert!(form.text.contains(text), "{text}");
    }
}

async fn open(id: &AuthorizationServer, browser: &mut Browser, prompt: &str) -> Seen {
    browser.open(&authorize_url(id.base_url(), &with("openid", "prompt", prompt))).await
}

#[tokio::test]
async fn a_signed_in_person_is_remembered_and_prompts_are_honoured() {
    let id = authorization_server().await;
    let (base, mut browser) = (id.base_url(), Browser::default());
    let silent = open(&id, &mut browser, "none").await;
    assert_eq!(answer(&silent, "error").as_deref(), Some("login_required"));

    let page = open(&id, &mut browser, "").await;
    assert!(page.text.contains("Continue as Alice") && page.text.contains("Continue as Bob"));
    assert!(answer(&browser.press(base, &page, &[("person", "alice")]).await, "code").is_some());

    for prompt in ["", "none"] {
        let again = open(&id, &mut browser, prompt).await;
        assert!(answer(&again, "code").is_some(), "{prompt}");
        assert_eq!(last_account(&id), "alice");
    }
    for prompt in ["login", "select_account", "consent"] {
        let page = open(&id, &mut browser, prompt).await;
        assert_eq!(page.status, 200, "{prompt}");
        assert!(page.text.contains("You are signed in here as alice"));
    }
    let page = open(&id, &mut browser, "select_account").await;
    assert!(answer(&browser.press(base, &page, &[("person", "bob")]).await, "code").is_some());
    assert!(answer(&open(&id, &mut browser, "none").await, "code").is_some());
    assert_eq!(last_account(&id), "bob");

    let page = open(&id, &mut Browser::default(), "").await;
    assert_eq!(page.status, 200, "another browser knows nobody");
}

fn last_account(id: &AuthorizationServer) -> String {
    let entry = id.authorize_log().pop().unwrap();
    match entry.answers.as_slice() {
        [consentry_fakes::Answered::Approved { account, .. }] => account.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn cancel_goes_back_and_an_old_sign_in_may_be_too_old() {
    let id = authorization_server().await;
    let (base, mut browser) = (id.base_url(), Browser::default());
    let page = open(&id, &mut browser, "").await;
    let back = browser.press(base, &page, &[("cancel", "1")]).await;
    assert_eq!(answer(&back, "error").as_deref(), Some("access_denied"));
    let page = open(&id, &mut browser, "").await;
    browser.press(base, &page, &[("person", "alice")]).await;
    let aged = authorize_url(base, &with("openid", "max_age", "60"));
    assert_eq!(browser.open(&aged).await.status, 303);
    id.clock().advance(std::time::Duration::from_secs(61));
    assert_eq!(browser.open(&aged).await.status, 200);
}

#[tokio::test]
async fn errors_stay_on_the_servers_own_page() {
    let id = authorization_server().await;
    let mut browser = Browser::default();
    let evil = authorize_url(id.base_url(), &with("openid", "redirect_uri", "https://evil.test/<script>"));
    let page = browser.open(&evil).await;
    assert_eq!((page.status, page.location), (400, None));
    assert!(!page.text.contains("evil.test"));
}
