//! What an operator is told when an answer is not as an entry says: one line for each step that failed, under the reference
//! of the page, with names and never with a value.
//!
//! One process runs each of these alone, so that what is logged is what this flow logs.

use consentry::config::{CaptureFrom, Choice, Expected, Settings};
use consentry_fakes::Answer;
use serde_json::{Value, json};

use super::{capture, files, members, ready};
use crate::{
    canaries::Logged,
    engine::Database,
    secrets::{self, KEYS},
    world::{FILES, Page, World},
};

on_both_engines! {
    r117_each_step_that_fails_is_told_once_by_names_alone,
    a_key_that_cannot_be_checked_is_told,
    what_no_page_shows_is_told_too,
}

/// The lines since the last time.
fn told_by(logged: &Logged) -> Vec<Value> {
    let text = logged.taken();
    assert!(!text.contains("VALUE"), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a page tells a person to give to the operator.
fn reference(page: &Page) -> String {
    let text = page.text();
    let (_, after) = text.rsplit_once("Reference").expect("it has one");
    after.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Shaped like a provider that answers in its own way.
fn own_way(settings: &mut Settings) {
    let provider = files(settings);
    let issuer = provider.issuer.clone().expect("it has one");
    provider.reads.answer.access_token = Some("data.token".into());
    provider.reads.answer.ok = Some(Expected { path: "ok".into(), equals: json!(true) });
    provider.reads.answer.error = Some("problem".into());
    let host = capture(CaptureFrom::Answer, "data.region", &[".files.example"]);
    provider.reads.captures.insert("region".into(), host);
    provider.reads.choice = Some(Choice {
        url: Some(format!("{issuer}/tenants")),
        list: "sites".into(),
        id: "id".into(),
        label: "name".into(),
        name: "site".into(),
        consent: None,
    });
}

/// R117: the log says where an answer is not as the entry has it, and nothing of what it holds.
async fn r117_each_step_that_fails_is_told_once_by_names_alone(db: Database) {
    let logged = Logged::start_quiet();
    let world = World::start_with(db, own_way).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    let good = |region: &str| {
        let data = json!({"token": "VALUE-token", "region": region, "VALUE-1234": 1});
        Answer::changed(members(&json!({"ok": true, "data": data})))
    };
    let fine = || good("https://eu.files.example");
    let me = |body: Value| ("/me", Answer::json(200, &body));
    let octocat = || me(json!({"id": 7, "login": "VALUE-octocat"}));
    let bare = |body: Value| Answer::json(200, &body);
    let cases = [
        // Another path than the token's, and the renamed secret that a provider does not find.
        (
            bare(json!({"ok": true, "data": {"tokn": "VALUE"}})),
            vec![],
            json!({"step": "answer", "key": "answer.access_token", "at": "data", "has": "tokn", "status": 200}),
        ),
        (
            bare(json!({"ok": false, "problem": "bad_app_secret", "hint": "VALUE"})),
            vec![],
            json!({"step": "exchange", "code": "bad_app_secret", "status": 200}),
        ),
        (
            bare(json!({"ok": false, "reason": "VALUE"})),
            vec![],
            json!({"step": "exchange", "key": "answer.error", "has": "ok, reason", "status": 200}),
        ),
        (
            bare(json!({"success": true, "data": {"token": "VALUE"}})),
            vec![],
            json!({"step": "exchange", "key": "answer.ok", "has": "data, success", "status": 200}),
        ),
        (Answer::html(200), vec![], json!({"step": "exchange", "what": "markup", "status": 200})),
        (
            good("https://VALUE.evil.example"),
            vec![],
            json!({"step": "capture region", "key": "captures.region.url_suffixes"}),
        ),
        (
            Answer::changed(members(&json!({"ok": true, "data": {"token": "VALUE", "reg": "VALUE"}}))),
            vec![],
            json!({"step": "capture region", "key": "captures.region.path", "at": "data", "has": "reg, token"}),
        ),
        (
            fine(),
            vec![("/me", Answer::json(401, &json!({"error": "no_such_scheme", "token": "VALUE"})))],
            json!({"step": "probe", "status": 401, "code": "no_such_scheme", "why": "provider_denied"}),
        ),
        (
            fine(),
            vec![me(json!({"person": {"pid": "VALUE"}}))],
            json!({"step": "probe", "key": "probe.id", "has": "person"}),
        ),
        (
            fine(),
            vec![octocat(), ("/tenants", Answer::json(200, &json!({"places": ["VALUE"]})))],
            json!({"step": "choice", "key": "choice.list", "has": "places"}),
        ),
        (
            fine(),
            vec![octocat(), ("/tenants", Answer::json(200, &json!({"sites": [{"uid": "VALUE"}]})))],
            json!({"step": "choice", "key": "choice.id", "has": "uid"}),
        ),
    ];
    for (token, answers, expected) in cases {
        world.files.next_token_answer(token);
        for (path, answer) in answers {
            world.files.next_answer(path, answer);
        }
        alice.opens(&link.url).await.is("ready");
        let page = alice.connects("octocat").await.clone();
        assert!(!page.text().contains("does not answer"), "{expected}: {}", page.text());
        let lines = told_by(&logged);
        let told: Vec<_> =
            lines.iter().filter(|line| line["span"]["reference"] == reference(&page)).collect();
        assert_eq!(told.len(), 1, "{expected}: {lines:?}");
        let line = told[0];
        assert_eq!(line["level"], "WARN");
        assert_eq!((&line["provider"], &line["span"]["server"]), (&json!(FILES), &json!("files")));
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&line[field], value, "{expected}: {line}");
        }
        // A page that is loaded again has the same.
        assert_eq!(reference(alice.reloads().await), reference(&page));
    }
    // The person's own no, and an outage, are no mistakes of the entry.
    alice.opens(&link.url).await.is("ready");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.denies().await;
    alice.returns().await.is("not-connected");
    assert!(told_by(&logged).iter().all(|line| line["message"] != "a step at the provider failed"));
    world.files.next_token_answer(Answer::status(503));
    alice.opens(&link.url).await.is("ready");
    assert!(alice.connects("octocat").await.is("provider-unreachable").text().contains("does not answer"));
}

async fn a_key_that_cannot_be_checked_is_told(db: Database) {
    let logged = Logged::start_quiet();
    let (world, service) = secrets::start(db).await;
    let link = world.api("files").asks("alice", KEYS).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("secret-form");
    for (answer, expected) in [
        (
            Answer::json(404, &json!({"error": "gone", "x": "VALUE"})),
            json!({"what": "status", "status": 404}),
        ),
        (Answer::redirect("https://VALUE.example"), json!({"what": "redirect", "status": 302})),
    ] {
        service.next_answer("/bearer", answer);
        let page = alice.types(secrets::KEY).await.is("secret-unchecked").clone();
        assert!(page.text().contains("answered something"), "{}", page.text());
        let lines = told_by(&logged);
        let told: Vec<_> =
            lines.iter().filter(|line| line["span"]["reference"] == reference(&page)).collect();
        assert_eq!(told.len(), 1, "{expected}: {lines:?}");
        assert_eq!((&told[0]["step"], &told[0]["provider"]), (&json!("probe"), &json!(KEYS)));
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&told[0][field], value, "{expected}: {}", told[0]);
        }
    }
    service.next_answer("/bearer", Answer::json(200, &json!({"account": {"VALUE-1": 1, "number": "VALUE"}})));
    alice.types(secrets::KEY).await.is("connected");
    let lines = told_by(&logged);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["key"], &lines[0]["has"]), (&json!("probe.id"), &json!("account")));
}

/// A refresh and a revocation have no page; their lines name the connection, and the revocation.
async fn what_no_page_shows_is_told_too(db: Database) {
    let logged = Logged::start_quiet();
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    ready(&world, &link).await.connects("octocat").await.is("connected");
    let connection = api.resolves("alice", FILES).await["connection"]["id"].as_str().unwrap().to_owned();
    world.files.next_token_answer(Answer::json(200, &json!({"tokn": "VALUE"})));
    world.advance(std::time::Duration::from_secs(7200));
    // Once more, and soon, which is when the clock says so.
    let question = api.question("alice", FILES);
    let _ = tokio::join!(api.post("/v1/credentials/resolve", &question), async {
        world.until(async || !logged.text().is_empty()).await;
        world.advance(std::time::Duration::from_secs(60));
    });
    let lines = told_by(&logged);
    let told: Vec<_> = lines.iter().filter(|line| line["step"] == "refresh").collect();
    assert_eq!(told.len(), 1, "{lines:?}");
    assert_eq!((&told[0]["connection"], &told[0]["server"]), (&json!(connection), &json!("files")));
    assert_eq!((&told[0]["key"], &told[0]["has"]), (&json!("answer.access_token"), &json!("tokn")));
    world.files.next_answer("/revoke", Answer::json(400, &json!({"error": "odd_word", "x": "VALUE"})));
    api.delete(&format!("/v1/connections/{connection}")).await.expect(204);
    world.until(async || !logged.text().is_empty()).await;
    let lines = told_by(&logged);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["step"], &lines[0]["code"]), (&json!("revocation"), &json!("odd_word")));
    assert_eq!(lines[0]["span"]["server"], "files");
}
