//! Pages of MCP servers' own: the whole way there and back, through the real router. The page itself is the test: it is given
//! an address, calls the API, and sends the browser back.

mod attacks;
mod races;

use std::time::Duration;

use consentry::config::{HostedPage, Settings};
use reqwest::Url;
use serde_json::{Value, json};

use crate::{
    engine::Database,
    rows::rows,
    world::{Answer, Api, Browser, FILES, Link, World, link},
};

on_both_engines! {
    what_is_accepted_is_done_when_the_browser_is_back,
    a_browser_that_is_back_first_waits_for_the_word,
    what_failed_has_failed_at_once,
    an_error_in_the_return_ends_the_visit_alone,
    a_result_is_taken_once,
    a_result_stands_whatever_other_tabs_were_opened,
    a_result_that_another_visit_made_idle_has_not_counted,
    what_is_no_result_is_refused,
    a_result_without_a_redeemed_code_is_refused,
    what_was_done_can_be_kept_done_again_and_removed,
    a_payment_is_used_once,
    one_visit_answers_every_open_question,
    a_return_without_a_session_is_taken_up_after_the_sign_in,
    a_page_that_was_removed_is_gone,
}

/// The page's id.
pub(crate) const PAGE: &str = "example-checkout";
/// Where it is; nobody serves it.
pub(crate) const URL: &str = "http://127.0.0.7:8099/checkout?shop=main";

/// Lets every MCP server ask for it.
pub(crate) fn offer(settings: &mut Settings) {
    offer_at(settings, URL);
}

/// The same, of a page that is somewhere else.
pub(crate) fn offer_at(settings: &mut Settings, url: &str) {
    let page = HostedPage {
        id: PAGE.parse().unwrap(),
        name: "Example Checkout".to_owned(),
        url: url.parse().unwrap(),
        what: Some("You pay for the export there.".to_owned()),
        manage_url: None,
        docs_url: None,
    };
    for server in &mut settings.mcp_servers {
        server.providers.push(page.id.clone());
    }
    settings.hosted_pages.push(page.into());
}

async fn start(db: Database) -> World {
    World::start_with(db, offer).await
}

/// A browser on its way to the page: what the page is told by its address.
pub(crate) struct Visit {
    pub(crate) code: String,
    pub(crate) state: String,
    pub(crate) redirect_uri: String,
}

impl Visit {
    /// As the page reads it.
    pub(crate) fn of(url: &Url) -> Self {
        let get = |name: &str| {
            let mut found = url.query_pairs().filter(|(known, _)| known == name);
            let value = found.next().unwrap_or_else(|| panic!("no {name} in {url}")).1.into_owned();
            assert!(found.next().is_none(), "{name} twice in {url}");
            value
        };
        Self { code: get("code"), state: get("state"), redirect_uri: get("redirect_uri") }
    }

    /// Where the page sends the browser when it is done.
    pub(crate) fn back(&self) -> String {
        format!("{}?state={}", self.redirect_uri, self.state)
    }

    /// The same with an error.
    pub(crate) fn back_with(&self, error: &str) -> String {
        format!("{}&error={error}", self.back())
    }
}

impl Browser {
    /// From the question to the page's address, as the leaving page has it.
    pub(crate) async fn sets_out(&mut self) -> Visit {
        self.agrees().await.is("leaving");
        Visit::of(&self.page().refresh().unwrap())
    }
}

pub(crate) async fn redeems(api: &Api, visit: &Visit) -> Answer {
    api.post("/v1/hosted/redeem", &json!({ "code": visit.code })).await
}

pub(crate) async fn says(api: &Api, link: &Link, result: &Value) -> Answer {
    api.post(&format!("/v1/elicitations/{}/result", link.id), result).await
}

pub(crate) fn accepted() -> Value {
    json!({ "result": "accepted", "label": "Order A-1", "values": { "order": "A-1", "amount": "4.20 EUR" } })
}

/// A browser of alice's that sees what her link asks for.
pub(crate) async fn asked(world: &World, link: &Link) -> Browser {
    let mut alice = world.browser();
    alice.opens(&link.url).await.is("sign-in");
    alice.signs_in("alice").await.is("ready");
    alice
}

/// The same at the page, whose server has redeemed the code.
pub(crate) async fn at_the_page(world: &World, api: &Api, link: &Link) -> (Browser, Visit) {
    let mut alice = asked(world, link).await;
    let visit = alice.sets_out().await;
    redeems(api, &visit).await.expect(200);
    (alice, visit)
}

/// Alice's browser in which it is done.
async fn done(world: &World, api: &Api, link: &Link) -> Browser {
    let (mut alice, visit) = at_the_page(world, api, link).await;
    says(api, link, &accepted()).await.expect(200);
    alice.opens(&visit.back()).await.is("connected");
    alice
}

async fn kinds(api: &Api) -> Vec<String> {
    api.told().await.into_iter().map(|(kind, _)| kind).collect()
}

async fn what_is_accepted_is_done_when_the_browser_is_back(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let offered = api.get("/v1/providers").await.expect(200);
    let ours = offered["providers"].as_array().unwrap().iter().find(|one| one["id"] == PAGE).unwrap();
    let view = json!({ "id": PAGE, "kind": "redirect", "name": "Example Checkout", "scopes": [], "allowed_scopes": [], "variables": [] });
    assert_eq!(*ours, view);
    let link = api.asks("alice", PAGE).await;
    let mut alice = asked(&world, &link).await;
    let text = alice.page().text();
    for words in ["You pay for the export there.", "127.0.0.7", "The files tools", "is told that it is you"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let leaving = alice.agrees().await.is("leaving").clone();
    let away = leaving.refresh().unwrap();
    assert!(away.as_str().starts_with(&format!("{URL}&code=")), "{away}");
    let visit = Visit::of(&away);
    assert_eq!(visit.redirect_uri, format!("{}/callback/files/{PAGE}", world.public_url));
    assert!(visit.code.len() >= 43, "256 bits");
    assert_eq!(api.elicitation(&link.id).await["state"], "authorizing");

    let told = redeems(&api, &visit).await.expect(200);
    let elicitation = api.elicitation(&link.id).await;
    let expected = json!({
        "elicitation_id": link.id,
        "subject": { "issuer": world.id.base_url(), "sub": "alice" },
        "provider": PAGE,
        "client_ref": "client of alice",
        "redirect_uri": visit.redirect_uri,
        "expires_at": told["expires_at"],
    });
    assert_eq!(told, expected);
    assert!(told["expires_at"].as_str().unwrap() <= elicitation["expires_at"].as_str().unwrap());

    let after = says(&api, &link, &accepted()).await.expect(200);
    assert_eq!(after["state"], "authorizing", "nothing is completed without the browser");
    assert!(rows(&world.database).await["connections"].is_empty() && api.told().await.is_empty());
    api.asks("alice", PAGE).await;

    let answer = alice.goes(&visit.back()).await.clone();
    let done = answer.location().unwrap();
    assert!(done.path().ends_with("/done") && !done.as_str().contains(&visit.state), "{done}");
    let page = alice.follows().await.is("connected").clone();
    assert!(page.text().contains("Order A-1"), "{}", page.text());
    alice.reloads().await.is("connected");
    let ready = api.resolves("alice", PAGE).await;
    let values = json!({ "order": "A-1", "amount": "4.20 EUR" });
    assert_eq!(ready["status"], "ready");
    assert_eq!(ready["credential"], json!({ "kind": "redirect", "values": values }));
    assert_eq!(ready["connection"]["account"], json!({ "id": null, "label": "Order A-1" }));
    let ended = api.elicitation(&link.id).await;
    assert_eq!((&ended["state"], &ended["connection"]), (&json!("completed"), &ready["connection"]["id"]));
    assert_eq!(kinds(&api).await, ["connection.created", "elicitation.completed"]);
    let kept = api.get("/v1/connections?sub=alice").await.expect(200)["connections"][0].clone();
    assert_eq!((&kept["kind"], &kept["status"]), (&json!("redirect"), &json!("active")));
}

async fn a_browser_that_is_back_first_waits_for_the_word(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    let page = alice.opens(&visit.back()).await.is("awaiting-result").clone();
    assert_eq!(page.status, 200);
    assert!(page.text().contains("Example Checkout") && page.text().contains("The files tools"));
    alice.opens(&visit.back()).await.is("awaiting-result");
    // An error after that is no return of this visit: its state is spent.
    alice.opens(&visit.back_with("access_denied")).await.is("awaiting-result");
    let again = alice.page().link_to("/done");
    alice.clicks(again.clone()).await.is("awaiting-result");
    // It waits longer than a state lives, as long as the link does.
    world.advance(Duration::from_mins(20));
    alice.clicks(again.clone()).await.is("awaiting-result");
    assert_eq!(api.elicitation(&link.id).await["state"], "authorizing");
    assert!(rows(&world.database).await["connections"].is_empty());

    let after = says(&api, &link, &accepted()).await.expect(200);
    assert_eq!(after["state"], "completed");
    assert_eq!(kinds(&api).await, ["connection.created", "elicitation.completed"]);
    alice.clicks(again).await.is("connected");
    assert_eq!(api.resolves("alice", PAGE).await["credential"]["values"]["order"], "A-1");
    // Who says it again has not heard the answer.
    assert_eq!(says(&api, &link, &accepted()).await.expect(200)["state"], "completed");
    assert_eq!(api.told().await.len(), 2);
}

async fn what_failed_has_failed_at_once(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    for (reason, expected, back_first) in
        [(Some("card_declined"), "page_failed:card_declined", false), (None, "page_failed", true)]
    {
        let link = link(
            &api.post("/v1/elicitations", &api.question("alice", PAGE)).await.expect(201)["elicitation"],
        );
        let mut alice = world.browser();
        alice.opens(&link.url).await;
        alice.signs_in("alice").await.is("ready");
        let visit = alice.sets_out().await;
        redeems(&api, &visit).await.expect(200);
        if back_first {
            alice.opens(&visit.back()).await.is("awaiting-result");
        }
        let mut failed = json!({ "result": "failed" });
        reason.into_iter().for_each(|reason| failed["reason"] = json!(reason));
        let after = says(&api, &link, &failed).await.expect(200);
        assert_eq!((&after["state"], &after["reason"]), (&json!("failed"), &json!(expected)));
        assert_eq!(api.told().await.last().unwrap(), &("elicitation.failed".to_owned(), json!(link.id)));
        let told = api.told().await.len();
        says(&api, &link, &failed).await.expect(200);
        says(&api, &link, &accepted()).await.expect(409);
        let other = json!({ "result": "failed", "reason": "other" });
        assert_eq!(says(&api, &link, &other).await.expect(409)["code"], "result_given");
        assert_eq!(api.told().await.len(), told);
        let page = alice.opens(&visit.back()).await.is("failed").clone();
        assert!(page.text().contains("The files tools says that nothing came of it"), "{}", page.text());
        assert!(rows(&world.database).await["connections"].is_empty());
    }
}

async fn an_error_in_the_return_ends_the_visit_alone(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    // What was accepted before counts for nothing any more.
    says(&api, &link, &accepted()).await.expect(200);
    alice.opens(&visit.back_with("access_denied")).await.is("not-connected");
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");
    alice.opens(&visit.back()).await.is("not-connected");
    assert_eq!(says(&api, &link, &accepted()).await.expect(409)["code"], "page_not_visited");
    for (error, page) in [("server_error", "provider-unreachable"), ("no_such_order", "not-connected")] {
        alice.opens(&link.url).await.is("ready");
        let visit = alice.sets_out().await;
        redeems(&api, &visit).await.expect(200);
        alice.opens(&visit.back_with(error)).await.is(page);
    }
    assert!(api.told().await.is_empty() && rows(&world.database).await["connections"].is_empty());
    alice.opens(&link.url).await.is("ready");
    let visit = alice.sets_out().await;
    redeems(&api, &visit).await.expect(200);
    says(&api, &link, &accepted()).await.expect(200);
    alice.opens(&visit.back()).await.is("connected");
}

async fn a_result_is_taken_once(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    says(&api, &link, &accepted()).await.expect(200);
    for other in [
        json!({ "result": "accepted" }),
        json!({ "result": "accepted", "label": "Order A-2", "values": { "order": "A-1", "amount": "4.20 EUR" } }),
        json!({ "result": "accepted", "label": "Order A-1", "values": { "order": "A-2", "amount": "4.20 EUR" } }),
        json!({ "result": "failed" }),
    ] {
        assert_eq!(says(&api, &link, &other).await.expect(409)["code"], "result_given", "{other}");
    }
    alice.opens(&visit.back()).await.is("connected");
    assert_eq!(api.resolves("alice", PAGE).await["credential"]["values"]["order"], "A-1");
    let other = json!({ "result": "accepted", "label": "Order A-2" });
    assert_eq!(says(&api, &link, &other).await.expect(409)["code"], "result_given");
}

/// A payment provider calls twice; whoever hears that it did not count gives the money back.
async fn a_result_stands_whatever_other_tabs_were_opened(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let another = json!({ "result": "accepted", "values": { "order": "A-2" } });
    for back_first in [false, true] {
        let link = api.asks("alice", PAGE).await;
        let (mut alice, visit) = at_the_page(&world, &api, &link).await;
        if back_first {
            alice.opens(&visit.back()).await.is("awaiting-result");
        } else {
            says(&api, &link, &accepted()).await.expect(200);
        }
        // A second tab, whose code is redeemed later.
        world.advance(Duration::from_secs(1));
        alice.opens(&link.url).await.is("ready");
        let other = alice.sets_out().await;
        redeems(&api, &other).await.expect(200);
        if back_first {
            says(&api, &link, &accepted()).await.expect(200);
        } else {
            // What came to nothing there takes nothing from the first.
            alice.opens(&other.back_with("access_denied")).await.is("not-connected");
            assert_eq!(says(&api, &link, &another).await.expect(409)["code"], "result_given");
            let failed = json!({ "result": "failed" });
            assert_eq!(says(&api, &link, &failed).await.expect(409)["code"], "result_given");
        }
        alice.opens(&visit.back()).await.is("connected");
        assert_eq!(says(&api, &link, &accepted()).await.expect(200)["state"], "completed");
        for wrong in [&another, &json!({ "result": "failed" })] {
            assert_eq!(says(&api, &link, wrong).await.expect(409)["code"], "result_given");
        }
        let ready = api.resolves("alice", PAGE).await;
        assert_eq!(ready["credential"]["values"]["order"], "A-1");
        let path = format!("/v1/connections/{}", ready["connection"]["id"].as_str().unwrap());
        assert!(api.delete(&path).await.status.is_success());
    }
}

/// Two payments, and the other one is what completed both questions.
async fn a_result_that_another_visit_made_idle_has_not_counted(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let one = api.asks("alice", PAGE).await;
    let mut question = api.question("alice", PAGE);
    question["client"]["ref"] = json!("another client");
    let other = link(&api.post("/v1/credentials/resolve", &question).await.expect(200)["elicitation"]);
    let (mut alice, _) = at_the_page(&world, &api, &one).await;
    says(&api, &one, &accepted()).await.expect(200);
    alice.opens(&other.url).await.is("ready");
    let visit = alice.sets_out().await;
    redeems(&api, &visit).await.expect(200);
    let order = json!({ "result": "accepted", "values": { "order": "A-2" } });
    says(&api, &other, &order).await.expect(200);
    alice.opens(&visit.back()).await.is("connected");
    assert_eq!(api.elicitation(&one.id).await["state"], "completed");
    assert_eq!(api.resolves("alice", PAGE).await["credential"]["values"]["order"], "A-2");
    assert_eq!(says(&api, &one, &accepted()).await.expect(409)["code"], "elicitation_over");
    says(&api, &other, &order).await.expect(200);
}

async fn what_is_no_result_is_refused(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (_alice, visit) = at_the_page(&world, &api, &link).await;
    let many: Value =
        (0..33).map(|n| (format!("v{n}"), json!("x"))).collect::<serde_json::Map<_, _>>().into();
    for (body, field) in [
        (json!({}), "result"),
        (json!({ "result": "maybe" }), "result"),
        (json!({ "result": "accepted", "reason": "no" }), "reason"),
        (json!({ "result": "accepted", "label": "" }), "label"),
        (json!({ "result": "accepted", "label": "x".repeat(101) }), "label"),
        (json!({ "result": "accepted", "label": "a\u{1b}[31m" }), "label"),
        (json!({ "result": "accepted", "values": { "Order": "A" } }), "values"),
        (json!({ "result": "accepted", "values": { "order": "" } }), "values.order"),
        (json!({ "result": "accepted", "values": { "order": "x".repeat(1_025) } }), "values.order"),
        (json!({ "result": "accepted", "values": many }), "values"),
        (json!({ "result": "accepted", "values": { "mcp_issuer": "x" } }), "values.mcp_issuer"),
        (json!({ "result": "accepted", "values": { "order": 1 } }), "values.order"),
        (json!({ "result": "failed", "label": "x" }), "label"),
        (json!({ "result": "failed", "values": {} }), "values"),
        (json!({ "result": "failed", "reason": "Card Declined" }), "reason"),
    ] {
        let problem = says(&api, &link, &body).await.expect(400);
        assert_eq!((&problem["code"], &problem["field"]), (&json!("invalid_field"), &json!(field)), "{body}");
    }
    let problem = says(&api, &link, &json!({ "result": "accepted", "subject": "bob" })).await.expect(400);
    assert_eq!(problem["code"], "unknown_field");
    for body in [json!({}), json!({ "code": 1 }), json!({ "code": visit.code, "server": "notes" })] {
        api.post("/v1/hosted/redeem", &body).await.expect(400);
    }
    // What a page is for is not for others.
    let other = api.asks("alice", FILES).await;
    assert_eq!(says(&api, &other, &accepted()).await.expect(400)["code"], "no_hosted_page");
    let unknown = Link { id: "550e8400-e29b-41d4-a716-446655440000".to_owned(), ..other };
    says(&api, &unknown, &accepted()).await.expect(404);
}

async fn a_result_without_a_redeemed_code_is_refused(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    for result in [accepted(), json!({ "result": "failed" })] {
        assert_eq!(says(&api, &link, &result).await.expect(409)["code"], "page_not_visited");
    }
    let mut alice = asked(&world, &link).await;
    let visit = alice.sets_out().await;
    for result in [accepted(), json!({ "result": "failed" })] {
        assert_eq!(says(&api, &link, &result).await.expect(409)["code"], "page_not_visited");
    }
    // Back without the page's server having looked who it was: there is nobody whose word could count.
    alice.opens(&visit.back()).await.is("awaiting-result");
    assert_eq!(says(&api, &link, &accepted()).await.expect(409)["code"], "page_not_visited");
    assert_eq!(api.elicitation(&link.id).await["state"], "authorizing");
    redeems(&api, &visit).await.expect(200);
    assert_eq!(says(&api, &link, &accepted()).await.expect(200)["state"], "completed");
}

async fn what_was_done_can_be_kept_done_again_and_removed(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let mut alice = done(&world, &api, &api.asks("alice", PAGE).await).await;
    let first = api.resolves("alice", PAGE).await["connection"].clone();
    let anew = || async {
        link(&api.post("/v1/elicitations", &api.question("alice", PAGE)).await.expect(201)["elicitation"])
    };
    alice.opens(&anew().await.url).await.is("already-connected");
    alice.presses("/keep").await.is("connected");
    let again = anew().await;
    alice.opens(&again.url).await.is("already-connected");
    let visit = alice.sets_out().await;
    redeems(&api, &visit).await.expect(200);
    says(&api, &again, &json!({ "result": "accepted", "values": { "order": "A-2" } })).await.expect(200);
    let page = alice.opens(&visit.back()).await.is("connected").text();
    assert!(page.contains("has arrived."), "{page}");
    let ready = api.resolves("alice", PAGE).await;
    assert_eq!(ready["credential"]["values"], json!({ "order": "A-2" }));
    assert_eq!((&ready["connection"]["id"], &ready["connection"]["generation"]), (&first["id"], &json!(2)));
    assert!(kinds(&api).await.contains(&"connection.updated".to_owned()));

    let page = alice
        .opens(&format!("{}/connections?server=files", world.public_url))
        .await
        .is("connections")
        .clone();
    assert!(page.text().contains("Example Checkout") && page.text().contains("is not undone by that"));
    assert!(!page.forms().iter().any(|form| form.action.path().ends_with("/reconnect")));
    let page = alice.presses("/disconnect").await.is("disconnected").text();
    assert!(page.contains("is not undone by that"), "{page}");
    let rows = rows(&world.database).await;
    assert!(rows["connections"].is_empty() && rows["revocations"].is_empty());
    assert_eq!(kinds(&api).await.last().unwrap(), "connection.deleted");
    api.asks("alice", PAGE).await;
}

/// Whoever removes it has used it.
async fn a_payment_is_used_once(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let mut alice = done(&world, &api, &api.asks("alice", PAGE).await).await;
    let held = api.resolves("alice", PAGE).await;
    let path = format!("/v1/connections/{}", held["connection"]["id"].as_str().unwrap());
    let (one, two) = tokio::join!(api.delete(&path), api.delete(&path));
    let mut answers = [one.status.as_u16(), two.status.as_u16()];
    answers.sort_unstable();
    assert_eq!(answers[1], 404, "{answers:?}");
    assert!(answers[0] < 300, "{answers:?}");
    let next = api.asks("alice", PAGE).await;
    alice.opens(&next.url).await.is("ready");
}

async fn one_visit_answers_every_open_question(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let mut other = api.question("alice", PAGE);
    other["client"]["ref"] = json!("another client");
    let other = api.post("/v1/credentials/resolve", &other).await.expect(200);
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    alice.opens(&visit.back()).await.is("connected");
    for id in [&*link.id, other["elicitation"]["id"].as_str().unwrap()] {
        assert_eq!(api.elicitation(id).await["state"], "completed");
    }
}

async fn a_return_without_a_session_is_taken_up_after_the_sign_in(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    alice.jar().lose("localhost", "consentry-session");
    alice.opens(&visit.back()).await.is("sign-in");
    assert!(rows(&world.database).await["connections"].is_empty());
    alice.signs_in("alice").await.is("connected");
    assert_eq!(api.resolves("alice", PAGE).await["status"], "ready");
}

async fn a_page_that_was_removed_is_gone(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    done(&world, &api, &link).await;
    let bobs = api.asks("bob", PAGE).await;
    let without = world.replica().await;
    let there = world.api_at(&without, "files");
    let problem = there.post("/v1/credentials/resolve", &there.question("alice", PAGE)).await.expect(400);
    assert_eq!(problem["code"], "provider_not_allowed");
    assert_eq!(says(&there, &bobs, &accepted()).await.expect(400)["code"], "no_hosted_page");
    // What is there can still be removed.
    let kept = there.get("/v1/connections?sub=alice").await.expect(200)["connections"][0].clone();
    assert_eq!((&kept["kind"], &kept["status"]), (&json!("redirect"), &json!("active")));
    without.stops().await;
    // Under the same id, a thing of another kind is another thing.
    let other = world
        .replica_with(|settings| {
            let mut page = settings.providers.iter().find(|one| one.id.as_str() == FILES).unwrap().clone();
            page.id = PAGE.parse().unwrap();
            settings.providers.push(page);
            settings.mcp_servers.iter_mut().for_each(|one| one.providers.push(PAGE.parse().unwrap()));
        })
        .await;
    let there = world.api_at(&other, "files");
    there.asks("alice", PAGE).await;
    other.stops().await;
    let kept = api.get("/v1/connections?sub=alice").await.expect(200)["connections"][0].clone();
    assert_eq!((&kept["status"], &kept["reason"]), (&json!("needs_reconnect"), &json!("provider_changed")));
}
