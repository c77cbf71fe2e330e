//! What somebody else can do with a code, a state or a key of a hosted page: nothing that counts.

use std::time::Duration;

use consentry::{audit::Kind, store::AuditFilter};
use serde_json::json;

use super::{PAGE, URL, Visit, accepted, asked, at_the_page, offer, redeems, says, start};
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, World},
};

on_both_engines! {
    r59_whoever_has_only_the_state_comes_back_for_nobody,
    r3_somebody_elses_link_leads_nowhere,
    r71_an_attackers_visit_in_a_victims_browser_is_the_attackers,
    r71_a_result_without_the_browser_completes_nothing,
    r71_a_browser_without_a_result_completes_nothing,
    r54_a_code_is_redeemed_by_its_own_mcp_server_alone,
    r54_codes_that_do_not_work_are_all_refused_alike,
    a_code_that_is_redeemed_twice_ends_the_visit,
    a_visit_that_was_redeemed_is_not_led_there_again,
    r60_a_state_of_another_provider_is_refused,
    r52_a_return_is_read_strictly,
    r98_no_code_is_stored,
    a_visit_ends_with_its_browsers_session,
    r4_another_person_in_the_same_browser_completes_nothing,
}

/// Nothing was connected, and nothing told.
async fn nothing_is_done(world: &World) {
    assert!(rows(&world.database).await["connections"].is_empty());
    for server in ["files", "notes"] {
        assert!(world.api(server).told().await.is_empty());
    }
}

/// How often a code was misused, by the counters; and the record has it.
async fn misused(world: &World) -> u64 {
    let store = world.database.store.clone();
    // The recorder writes off the request's path.
    world
        .until(|| {
            world.advance(Duration::from_secs(61));
            let store = store.clone();
            async move {
                let rows = store.audit_rows(AuditFilter::default(), 1_000).await.unwrap();
                rows.iter().any(|row| row.kind == Kind::PageCodeMisused.as_str())
            }
        })
        .await;
    let metrics = world.api("files").get("/metrics").await.body.as_str().unwrap().to_owned();
    let name = "consentry_security_events_total{code=\"page_code_misused\"} ";
    metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
}

/// R59: alice's whole address is known, and everything was accepted; it takes her browser's cookie all the same.
async fn r59_whoever_has_only_the_state_comes_back_for_nobody(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    let mut mallory = world.browser();
    mallory.opens(&visit.back()).await.is("other-browser");
    // Not even hers, where she is signed in but did not set out.
    let mut other = asked(&world, &link).await;
    other.opens(&visit.back()).await.is("other-browser");
    other.opens(&visit.back_with("access_denied")).await.is("other-browser");
    nothing_is_done(&world).await;
    alice.opens(&visit.back()).await.is("connected");
}

async fn r3_somebody_elses_link_leads_nowhere(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let mut bob = world.browser();
    bob.opens(&link.url).await.is("sign-in");
    bob.signs_in("bob").await.is("wrong-account");
    // Alice's way there, in bob's browser.
    let (alice, _) = at_the_page(&world, &api, &link).await;
    let leaving = alice.history().iter().find(|page| page.url.path().ends_with("/leaving")).unwrap();
    bob.opens(leaving.url.as_str()).await.is("wrong-account");
    nothing_is_done(&world).await;
}

/// R71: mallory's code and state, put into alice's browser. The page is told that it is mallory's; alice's browser completes
/// nothing of his, and nothing of hers.
async fn r71_an_attackers_visit_in_a_victims_browser_is_the_attackers(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let bobs = api.asks("bob", PAGE).await;
    let mut bob = world.browser();
    bob.opens(&bobs.url).await.is("sign-in");
    bob.signs_in("bob").await.is("ready");
    let visit = bob.sets_out().await;

    let alices = api.asks("alice", PAGE).await;
    let (mut alice, own) = at_the_page(&world, &api, &alices).await;
    // Alice follows a link to the page with bob's code: whose it is, the page is told.
    let told = redeems(&api, &visit).await.expect(200);
    assert_eq!(told["subject"]["sub"], "bob");
    assert_eq!(told["elicitation_id"], json!(bobs.id));
    says(&api, &bobs, &accepted()).await.expect(200);
    alice.opens(&visit.back()).await.is("other-browser");
    nothing_is_done(&world).await;
    // Nor does the result for his count for her.
    alice.opens(&own.back()).await.is("awaiting-result");
    nothing_is_done(&world).await;
    assert_eq!(api.elicitation(&alices.id).await["state"], "authorizing");
}

async fn r71_a_result_without_the_browser_completes_nothing(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    nothing_is_done(&world).await;
    // Her state is too old.
    world.advance(Duration::from_mins(10));
    alice.opens(&visit.back()).await.is("ready");
    nothing_is_done(&world).await;
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");
    // And so is her link.
    world.advance(Duration::from_mins(21));
    alice.opens(&visit.back()).await.is("other-browser");
    let problem = says(&api, &link, &accepted()).await.expect(409);
    assert_eq!(problem["code"], "elicitation_over");
    assert_eq!(api.elicitation(&link.id).await["state"], "expired");
    assert!(rows(&world.database).await["connections"].is_empty());
}

async fn r71_a_browser_without_a_result_completes_nothing(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    alice.opens(&visit.back()).await.is("awaiting-result");
    world.advance(Duration::from_mins(20));
    alice.reloads().await.is("awaiting-result");
    world.advance(Duration::from_mins(10));
    let problem = says(&api, &link, &accepted()).await.expect(409);
    assert_eq!(problem["code"], "elicitation_over");
    alice.reloads().await.is("expired");
    assert!(rows(&world.database).await["connections"].is_empty());

    // Declined while the page is still at it.
    let link = api.asks("alice", PAGE).await;
    alice.opens(&link.url).await.is("ready");
    let visit = alice.sets_out().await;
    redeems(&api, &visit).await.expect(200);
    alice.opens(&link.url).await.is("ready");
    alice.declines().await.is("declined");
    assert_eq!(says(&api, &link, &accepted()).await.expect(409)["code"], "elicitation_over");
    alice.opens(&visit.back()).await.is("declined");
    assert!(rows(&world.database).await["connections"].is_empty());
}

/// R54: another MCP server's key reads nothing, and spends nothing.
async fn r54_a_code_is_redeemed_by_its_own_mcp_server_alone(db: Database) {
    let world = start(db).await;
    let (api, notes) = (world.api("files"), world.api("notes"));
    let link = api.asks("alice", PAGE).await;
    let mut alice = asked(&world, &link).await;
    let visit = alice.sets_out().await;
    let refused = redeems(&notes, &visit).await.expect(400);
    let unknown = notes.post("/v1/hosted/redeem", &json!({ "code": "x".repeat(43) })).await.expect(400);
    for field in ["type", "title", "detail", "code"] {
        assert_eq!(refused[field], unknown[field]);
    }
    assert!(!refused.to_string().contains("alice"));
    says(&notes, &link, &accepted()).await.expect(404);
    api.with_key("").post("/v1/hosted/redeem", &json!({ "code": visit.code })).await.expect(401);
    redeems(&api, &visit).await.expect(200);
    says(&notes, &link, &accepted()).await.expect(404);
    says(&notes, &link, &json!({ "result": "failed" })).await.expect(404);
    // Used by now, and still not theirs to end.
    redeems(&notes, &visit).await.expect(400);
    says(&api, &link, &accepted()).await.expect(200);
    alice.opens(&visit.back()).await.is("connected");
    assert_eq!(misused(&world).await, 2);
}

async fn r54_codes_that_do_not_work_are_all_refused_alike(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let mut alice = asked(&world, &link).await;
    let late = alice.sets_out().await;
    world.advance(Duration::from_mins(10));
    alice.opens(&link.url).await.is("ready");
    let used = alice.sets_out().await;
    redeems(&api, &used).await.expect(200);
    alice.opens(&link.url).await.is("ready");
    let closed = alice.sets_out().await;
    api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
    let unknown = Visit {
        code: "x".repeat(43),
        ..Visit::of(&format!("{URL}&code=a&state=b&redirect_uri=c").parse().unwrap())
    };
    let mut refusals = Vec::new();
    for visit in [&late, &used, &closed, &unknown] {
        let mut problem = redeems(&api, visit).await.expect(400);
        problem.as_object_mut().unwrap().remove("request_id");
        refusals.push(problem);
    }
    assert_eq!(refusals[0]["code"], "page_code_invalid");
    assert!(refusals.iter().all(|one| *one == refusals[0]), "{refusals:?}");
    for code in ["", " ", "a\u{0}b", &"x".repeat(10_000)] {
        api.post("/v1/hosted/redeem", &json!({ "code": code })).await.expect(400);
    }
}

/// As RFC 6749, section 4.1.2, and RFC 9700 have it for codes: who is second may be the right one, so nobody is.
async fn a_code_that_is_redeemed_twice_ends_the_visit(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    assert_eq!(redeems(&api, &visit).await.expect(400)["code"], "page_code_invalid");
    let page = alice.opens(&visit.back()).await.is("not-connected").text();
    assert!(page.contains("used twice"), "{page}");
    nothing_is_done(&world).await;
    assert_eq!(says(&api, &link, &accepted()).await.expect(409)["code"], "page_not_visited");
    // The link works again, by a visit of its own.
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");
    let visit = alice.sets_out().await;
    redeems(&api, &visit).await.expect(200);
    says(&api, &link, &accepted()).await.expect(200);
    alice.opens(&visit.back()).await.is("connected");
    // Once it is done, there is nothing left to end.
    redeems(&api, &visit).await.expect(400);
    assert_eq!(api.resolves("alice", PAGE).await["status"], "ready");
    assert_eq!(misused(&world).await, 2);
}

/// Going back in the browser does not send a used code again.
async fn a_visit_that_was_redeemed_is_not_led_there_again(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let mut alice = asked(&world, &link).await;
    let visit = alice.sets_out().await;
    alice.reloads().await.is("leaving");
    assert_eq!(Visit::of(&alice.page().refresh().unwrap()).code, visit.code, "not redeemed yet");
    redeems(&api, &visit).await.expect(200);
    let leaving = alice.page().url.clone();
    alice.opens(leaving.as_str()).await.is("ready");
    // Too old to be redeemed is too old to be sent.
    let visit = alice.sets_out().await;
    let leaving = alice.page().url.clone();
    world.advance(Duration::from_mins(10));
    alice.opens(leaving.as_str()).await.is("ready");
    redeems(&api, &visit).await.expect(400);
}

/// R60: a state counts at its own callback and at no other.
async fn r60_a_state_of_another_provider_is_refused(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    let other = api.asks("alice", FILES).await;
    alice.opens(&other.url).await.is("ready");
    alice.agrees().await.is("leaving");
    let authorize = alice.page().refresh().unwrap();
    let state = authorize.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    // The trip's state at the page's callback, which wants no code.
    alice.opens(&format!("{}?state={state}", visit.redirect_uri)).await.is("provider-mismatch");
    // The visit's state at the provider's, with a code of anybody's, and at another MCP server's.
    for path in [format!("files/{FILES}"), format!("notes/{PAGE}"), format!("notes/{FILES}")] {
        let url = format!("{}/callback/{path}?state={}&code=x", world.public_url, visit.state);
        alice.opens(&url).await.is("provider-mismatch");
    }
    nothing_is_done(&world).await;
    assert_eq!(world.redeemed(), 0);
    alice.opens(&visit.back()).await.is("connected");
}

async fn r52_a_return_is_read_strictly(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    for query in [
        String::new(),
        "error=access_denied".to_owned(),
        "state=".to_owned(),
        format!("state={}&state={}", visit.state, visit.state),
        format!("state={}&access_token=x", visit.state),
        format!("state={}&error=", visit.state),
    ] {
        alice.opens(&format!("{}?{query}", visit.redirect_uri)).await.is("bad-request");
    }
    alice.opens(&format!("{}?state={}", visit.redirect_uri, "x".repeat(43))).await.is("other-browser");
    nothing_is_done(&world).await;
    // What the page echoes is passed over.
    alice.opens(&format!("{}&code={}&shop=main", visit.back(), visit.code)).await.is("connected");
}

/// R98: the hash alone, and no word of it in what the browser keeps in the clear.
async fn r98_no_code_is_stored(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    let stored = format!("{:?}", rows(&world.database).await);
    assert!(!stored.contains(&visit.code) && !stored.contains(&visit.state));
    alice.opens(&visit.back()).await.is("awaiting-result");
    for page in alice.history().iter().filter(|page| !page.url.path().ends_with("/leaving")) {
        let seen = format!("{} {:?} {}", page.url, page.headers, page.html);
        assert!(!seen.contains(&visit.code), "{}", page.url);
    }
    let metrics = world.api("files").get("/metrics").await;
    assert!(!metrics.body.to_string().contains(&visit.code));
}

async fn a_visit_ends_with_its_browsers_session(db: Database) {
    let world = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    alice.opens(&visit.back()).await.is("awaiting-result");
    alice.presses("/sign-out").await;
    assert_eq!(says(&api, &link, &accepted()).await.expect(409)["code"], "page_not_visited");
    nothing_is_done(&world).await;
}

/// R4: alice set out, and bob comes back.
async fn r4_another_person_in_the_same_browser_completes_nothing(db: Database) {
    let world = World::start_with(db, offer).await;
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let (mut alice, visit) = at_the_page(&world, &api, &link).await;
    says(&api, &link, &accepted()).await.expect(200);
    let bobs = api.asks("bob", PAGE).await;
    alice.opens(&bobs.url).await.is("wrong-account");
    alice.clicks(alice.page().link_to("/sign-in")).await;
    alice.answers_as("bob").await;
    alice.confirms().await.is("ready");
    alice.opens(&visit.back()).await;
    assert_ne!(alice.page().name().as_deref(), Some("connected"));
    nothing_is_done(&world).await;
}
