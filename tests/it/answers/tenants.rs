//! One grant, several tenants: the person says which one, and nobody else.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use consentry::config::{CaptureFrom, Choice, ChoiceOfConsent, Settings};
use consentry_fakes::Answer;
use serde_json::{Value, json};

use super::{asks_anew, capture, files, ready};
use crate::{
    engine::Database,
    rows::rows,
    world::{Browser, FILES, Form, Link, World},
};

on_both_engines! {
    a_person_chooses_one_of_several_tenants,
    the_only_tenant_is_taken_by_itself,
    tenants_of_this_consent_alone_are_offered,
    no_tenant_connects_nothing,
    nobody_else_chooses,
    what_was_not_offered_is_not_chosen,
    another_account_is_asked_about_after_the_tenant,
    a_choice_dies_with_its_elicitation,
    r63_a_choice_after_a_change_is_for_the_former_place,
}

fn choosing(settings: &mut Settings) {
    let provider = files(settings);
    let issuer = provider.issuer.clone().expect("it has one");
    provider.reads.choice = Some(Choice {
        url: Some(format!("{issuer}/tenants")),
        list: "sites".into(),
        id: "id".into(),
        label: "{name} ({kind})".into(),
        name: "site_id".into(),
        consent: None,
    });
    let host = capture(CaptureFrom::Choice, "uri", &[".files.example"]);
    provider.reads.captures.insert("site_url".into(), host);
}

fn site(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "uri": format!("https://{id}.files.example/")})
}

fn sites(list: &[Value]) -> Answer {
    Answer::json(200, &json!({"sites": list}))
}

async fn start(db: Database, list: &[Value]) -> World {
    let world = World::start_with(db, choosing).await;
    world.files.always_answer("/tenants", sites(list));
    world
}

/// Alice has come back and is asked which tenant.
async fn asked(world: &World) -> (Browser, Link) {
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(world, &link).await;
    alice.connects("octocat").await.is("needs-input");
    (alice, link)
}

fn choice(browser: &Browser, tenant: &str) -> Form {
    browser.page().form_to("/input").set("tenant", tenant)
}

async fn status(world: &World) -> Value {
    world.api("files").resolves("alice", FILES).await["status"].clone()
}

async fn a_person_chooses_one_of_several_tenants(db: Database) {
    let world = start(db, &[site("one", "First"), site("two", "Second")]).await;
    let (mut alice, link) = asked(&world).await;
    let text = alice.page().text();
    assert!(text.contains("First") && text.contains("Second") && text.contains("octocat"), "{text}");
    // One stands there already, and the answer changes nothing before it is sent.
    let form = alice.page().form_to("/input");
    assert!(form.fields.contains(&("tenant".into(), "one".into())), "{:?}", form.fields);
    alice.reloads().await.is("needs-input");
    assert_eq!(status(&world).await, "action_required");
    assert!(rows(&world.database).await["connections"].is_empty());
    let form = choice(&alice, "two");
    alice.submits(form.clone()).await;
    alice.follows().await.is("connected");
    let values = json!({"site_id": "two", "site_url": "https://two.files.example"});
    let api = world.api("files");
    assert_eq!(api.resolves("alice", FILES).await["credential"]["values"], values);
    assert_eq!(api.elicitation(&link.id).await["state"], "completed");
    // Sent once more it says what is.
    alice.submits(form).await;
    alice.follows().await.is("connected");
    assert_eq!(world.redeemed(), 1);

    // Connected again, what was chosen before stands there.
    let link = asks_anew(&world).await;
    alice.opens(&link.url).await.is("already-connected");
    alice.connects("octocat").await.is("needs-input");
    let form = alice.page().form_to("/input");
    assert!(form.fields.contains(&("tenant".into(), "two".into())), "{:?}", form.fields);
    alice.submits(form.set("tenant", "one")).await;
    alice.follows().await.is("connected");
    assert_eq!(api.resolves("alice", FILES).await["credential"]["values"]["site_id"], "one");
}

async fn the_only_tenant_is_taken_by_itself(db: Database) {
    let world = start(db, &[site("one", "First")]).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    alice.connects("octocat").await.is("connected");
    let values = world.api("files").resolves("alice", FILES).await["credential"]["values"].clone();
    assert_eq!(values, json!({"site_id": "one", "site_url": "https://one.files.example"}));
}

/// As Xero does it: the access token says which of them came with it.
async fn tenants_of_this_consent_alone_are_offered(db: Database) {
    let world = World::start_with(db, |settings| {
        choosing(settings);
        let consent = ChoiceOfConsent { path: "event".into(), claim: "event_id".into() };
        files(settings).reads.choice.as_mut().expect("it has one").consent = Some(consent);
    })
    .await;
    let list = [("one", "e-1"), ("two", "e-2"), ("three", "e-2")];
    let list: Vec<Value> = list
        .into_iter()
        .map(|(id, event)| {
            let mut site = site(id, id);
            site["event"] = event.into();
            site
        })
        .collect();
    world.files.always_answer("/tenants", sites(&list));
    let token = |event: &str| {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(json!({ "event_id": event }).to_string());
        let body =
            json!({"access_token": format!("e30.{claims}.x"), "token_type": "Bearer", "expires_in": 3600});
        Answer::json(200, &body)
    };
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    for (event, page, first) in [("e-2", "needs-input", "two"), ("e-9", "needs-input", "one")] {
        world.files.next_token_answer(token(event));
        world.files.next_answer("/me", Answer::json(200, &json!({"id": 7, "login": "octocat"})));
        alice.connects("octocat").await.is(page);
        let offered = alice.page().html.matches("name=\"tenant\"").count();
        assert_eq!(offered, if event == "e-2" { 2 } else { 3 }, "{event}");
        assert!(alice.page().form_to("/input").fields.contains(&("tenant".into(), first.into())));
        alice.opens(&link.url).await.is("ready");
    }
    world.files.next_token_answer(token("e-1"));
    world.files.next_answer("/me", Answer::json(200, &json!({"id": 7, "login": "octocat"})));
    alice.connects("octocat").await.is("connected");
    assert_eq!(world.api("files").resolves("alice", FILES).await["credential"]["values"]["site_id"], "one");
}

async fn no_tenant_connects_nothing(db: Database) {
    let world = start(db, &[]).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    for list in [
        sites(&[]),
        sites(&[json!({"name": "without an id"})]),
        sites(&[json!({"id": "one", "uri": "https://one.evil.example"})]),
        Answer::json(200, &json!({"sites": "none"})),
        Answer::status(503),
    ] {
        world.files.next_answer("/tenants", list);
        alice.opens(&link.url).await.is("ready");
        alice.connects("octocat").await.is("provider-unreachable");
        assert_eq!(status(&world).await, "action_required");
    }
    // What was not kept is given back.
    world
        .until(async || world.files.revocations().entries().iter().filter(|one| one.revoked).count() == 5)
        .await;
}

/// R12, R59: the credential is alice's, and the trip that browser's.
async fn nobody_else_chooses(db: Database) {
    let world = start(db, &[site("one", "First"), site("two", "Second")]).await;
    let (mut alice, link) = asked(&world).await;
    let address = alice.page().url.clone();
    let stolen = choice(&alice, "two");
    // Another person sees nothing of it and changes nothing, with alice's own form too.
    let mut bob = world.browser();
    bob.opens(&link.url).await;
    bob.signs_in("bob").await.is("wrong-account");
    bob.opens(address.as_str()).await.is("wrong-account");
    assert!(!bob.page().text().contains("Second"));
    bob.submits(stolen.clone()).await;
    assert!(["wrong-account", "bad-request"].contains(&bob.page().name().unwrap_or_default().as_str()));
    // Alice in another browser has not begun this trip.
    let mut phone = world.browser();
    phone.opens(&link.url).await;
    phone.signs_in("alice").await.is("ready");
    phone.opens(address.as_str()).await.is("needs-input");
    let form = choice(&phone, "two");
    phone.submits(form).await.is("other-browser");
    assert_eq!(status(&world).await, "action_required");
    assert!(rows(&world.database).await["connections"].is_empty());
    // Nor does the answer to the other question settle it.
    let mut other = stolen.clone();
    other.action.set_path(&other.action.path().replace("/input", "/account"));
    alice.submits(other.set("use", "new")).await;
    alice.follows().await.is("needs-input");
    assert_eq!(status(&world).await, "action_required");
    alice.submits(stolen).await;
    alice.follows().await.is("connected");
}

async fn what_was_not_offered_is_not_chosen(db: Database) {
    let world = start(db, &[site("one", "First"), site("two", "Second")]).await;
    let (mut alice, _) = asked(&world).await;
    let address = alice.page().url.clone();
    for tenant in ["three", "", "One", "one ", "https://evil.example"] {
        let form = choice(&alice, tenant);
        alice.submits(form).await.is("bad-request");
        assert_eq!(status(&world).await, "action_required", "{tenant}");
        alice.opens(address.as_str()).await.is("needs-input");
    }
    let mut without = alice.page().form_to("/input");
    without.fields.retain(|(name, _)| name != "tenant");
    alice.submits(without).await.is("bad-request");
    alice.opens(address.as_str()).await.is("needs-input");
    let form = choice(&alice, "one");
    alice.submits(form).await;
    alice.follows().await.is("connected");
}

async fn another_account_is_asked_about_after_the_tenant(db: Database) {
    let world = start(db, &[site("one", "First"), site("two", "Second")]).await;
    let (mut alice, _) = asked(&world).await;
    let form = choice(&alice, "one");
    alice.submits(form).await;
    alice.follows().await.is("connected");
    let link = asks_anew(&world).await;
    alice.opens(&link.url).await.is("already-connected");
    alice.connects("hubot").await.is("needs-input");
    let form = choice(&alice, "two");
    alice.submits(form).await;
    alice.follows().await.is("account-changed");
    let credential = async || world.api("files").resolves("alice", FILES).await;
    assert_eq!(credential().await["connection"]["account"]["label"], "octocat");
    assert_eq!(credential().await["credential"]["values"]["site_id"], "one");
    let new =
        alice.page().forms().into_iter().find(|form| form.fields.contains(&("use".into(), "new".into())));
    alice.submits(new.expect("a form for each answer")).await;
    alice.follows().await.is("connected");
    assert_eq!(credential().await["connection"]["account"]["label"], "hubot");
    assert_eq!(credential().await["credential"]["values"]["site_id"], "two");
}

async fn a_choice_dies_with_its_elicitation(db: Database) {
    let world = start(db, &[site("one", "First"), site("two", "Second")]).await;
    let (mut alice, link) = asked(&world).await;
    let form = choice(&alice, "one");
    world.api("files").post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await;
    alice.submits(form).await;
    alice.follows().await.is("cancelled");
    assert!(rows(&world.database).await["connections"].is_empty());
    let stored = rows(&world.database).await["attempts"].concat();
    assert!(stored.contains("closed_meanwhile") || stored.contains("ended"), "{stored}");
}

/// What was given before a change of the settings is stored for where it is from, and goes nowhere else.
async fn r63_a_choice_after_a_change_is_for_the_former_place(db: Database) {
    let world = start(db, &[site("one", "First"), site("two", "Second")]).await;
    let (mut alice, _) = asked(&world).await;
    let mut raw = crate::contract::raw::Raw::connect(&world.database).await;
    let zeros = match world.database.engine {
        crate::engine::Engine::Sqlite => "x'00'",
        crate::engine::Engine::Postgres => "decode('00', 'hex')",
    };
    let zeros = zeros.replace("00", &"00".repeat(32));
    assert_eq!(raw.run(&format!("UPDATE attempts SET fingerprint = {zeros}")).await, 1);
    let form = choice(&alice, "two");
    alice.submits(form).await;
    alice.follows().await;
    for _ in 0..2 {
        assert_eq!(status(&world).await, "action_required");
        world.advance(std::time::Duration::from_secs(3_700));
    }
    assert_eq!(world.files.token_log().len(), 1);
}
