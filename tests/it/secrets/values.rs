//! What a key may hold: whatever a service gives out, wherever it stands, comes through as it was typed.

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry::{
    config::{FormField, SecretForm, Usage},
    template::Template,
};
use serde_json::json;

use super::{KEYS, WRONG, field, form, offer, service};
use crate::{
    engine::Database,
    world::{Browser, World, encode},
};

on_both_engines! {
    r50_a_strange_key_comes_through_as_it_was_typed,
    r50_what_no_request_can_hold_is_refused_before_anybody_is_asked,
    r50_a_key_of_the_longest_length_is_taken_and_a_longer_one_is_not,
    r50_a_default_stands_there_again_only_for_who_has_sent_it,
}

/// The same service, where the key stands elsewhere.
fn form_at(base: &str, place: &str) -> SecretForm {
    let key = || Template::new("{api_key}");
    let mut form = form(base);
    form.id = format!("{KEYS}-{place}").parse().unwrap();
    form.fields.iter_mut().for_each(|field| field.pattern = None);
    form.usage = Usage { base_url: Some(Template::new(base)), ..Usage::default() };
    match place {
        "header" => drop(form.usage.headers.insert("X-Api-Key".to_owned(), key())),
        "basic" => form.usage.basic = Some((Template::new("octocat@example.com"), key())),
        _ => drop(form.usage.query.insert("api_key".to_owned(), key())),
    }
    let probe = form.probe.as_mut().unwrap();
    probe.url = Template::new(&format!("{base}/{place}"));
    form
}

async fn start(db: Database) -> (World, consentry_fakes::KeyService) {
    let service = service().await;
    let base = service.base_url().to_owned();
    let world = World::start_with(db, |settings| {
        for place in ["header", "basic", "query"] {
            offer(settings, form_at(&base, place));
        }
    });
    (world.await, service)
}

async fn at_the_form(world: &World, person: &str, place: &str) -> Browser {
    let link = world.api("files").asks(person, &format!("{KEYS}-{place}")).await;
    super::at_the_form(world, person, &link.url).await
}

async fn r50_a_strange_key_comes_through_as_it_was_typed(db: Database) {
    let (world, service) = start(db).await;
    let quoted = "sk_\"quoted\" '\\n' {api_key} <b>&amp;</b> %41+/=";
    let foreign = "sk_schlüssel-ключ-鍵-🔑:%";
    for (at, (place, key)) in
        [("header", quoted), ("basic", quoted), ("query", quoted), ("basic", foreign), ("query", foreign)]
            .into_iter()
            .enumerate()
    {
        service.add_key(key, "acct_1", "octocat@example.com");
        // Whoever is asked for the first time.
        let (person, who) = (if at < 3 { "alice" } else { "bob" }, format!("{KEYS}-{place}"));
        let mut browser = at_the_form(&world, person, place).await;
        let form = browser.key_form().set("api_key", &format!("\u{feff} {key}\u{200b}\r\n"));
        browser.submits(form).await;
        let done = browser.follows().await.is("connected").clone();
        assert!(done.text().contains("octocat@example.com") && !done.html.contains("sk_"), "{}", done.text());
        let credential = world.api("files").resolves(person, &who).await["credential"].clone();
        assert_eq!(credential["fields"], json!({ "api_key": key }));
        match place {
            "header" => assert_eq!(credential["use"]["headers"]["X-Api-Key"], key),
            "query" => assert_eq!(credential["use"]["query"]["api_key"], key),
            _ => {
                let pair = BASE64_STANDARD.encode(format!("octocat@example.com:{key}"));
                assert_eq!(credential["use"]["headers"]["Authorization"], format!("Basic {pair}"));
            }
        }
    }
}

async fn r50_what_no_request_can_hold_is_refused_before_anybody_is_asked(db: Database) {
    let (world, service) = start(db).await;
    let mut alice = at_the_form(&world, "alice", "header").await;
    for key in ["sk_live_…9876", "sk_live_\u{200b}9876543210", "sk_lives_schlüssel", "sk_live\n9876543210"]
    {
        let page = alice.types(key).await.is("secret-rejected").clone();
        assert!(page.text().contains("does not belong there"), "{}", page.text());
        assert!(!page.html.contains("9876") && !page.html.contains("schlüssel"));
        // Nor is it stored for who insists.
        let form = alice.key_form().set("api_key", key).set("save", "unchecked");
        alice.submits(form).await.is("secret-rejected");
    }
    assert!(service.log().entries().is_empty());
}

async fn r50_a_key_of_the_longest_length_is_taken_and_a_longer_one_is_not(db: Database) {
    let (world, service) = start(db).await;
    let longest = "k".repeat(4_096);
    let wide = "ü".repeat(2_048);
    for key in [&longest, &wide] {
        service.add_key(key, "acct_1", "octocat@example.com");
    }
    for (person, place, key) in
        [("alice", "header", &longest), ("alice", "basic", &wide), ("alice", "query", &wide)]
    {
        let mut browser = at_the_form(&world, person, place).await;
        let longer = format!("{key}k");
        let page = browser.types(&longer).await.is("secret-rejected").clone();
        assert!(page.status == 422 && !page.html.contains(&longer));
        // What is cut off at the ends does not count.
        let form = browser.key_form().set("api_key", &format!("{key}\r\n"));
        assert!(encode(&form.fields).len() < 1 << 20);
        browser.submits(form).await;
        browser.follows().await.is("connected");
        let credential =
            world.api("files").resolves(person, &format!("{KEYS}-{place}")).await["credential"].clone();
        assert_eq!(credential["fields"]["api_key"], **key);
    }
    assert_eq!(service.log().entries().len(), 3);
}

/// What was typed is not echoed; and a key for another place does not go to the default one because nobody looked.
async fn r50_a_default_stands_there_again_only_for_who_has_sent_it(db: Database) {
    let service = service().await;
    let base = service.base_url().to_owned();
    let world = World::start_with(db, |settings| {
        let mut form = form(&base);
        let place = FormField { secret: false, default: Some("eu".to_owned()), ..field("place", "Place") };
        form.fields.push(place);
        offer(settings, form);
    })
    .await;
    let link = world.api("files").asks("alice", KEYS).await;
    let mut alice = super::at_the_form(&world, "alice", &link.url).await;
    let stands = |browser: &Browser| {
        let fields = browser.key_form().fields;
        fields.into_iter().find(|(name, _)| name == "place").unwrap().1
    };
    assert_eq!(stands(&alice), "eu");
    for (typed, shown) in [("eu", "eu"), ("canary-place", ""), (" eu\r\n", "eu"), ("", "")] {
        let form = alice.key_form().set("api_key", WRONG).set("place", typed);
        let page = alice.submits(form).await.is("secret-rejected").clone();
        assert!(!page.html.contains("canary"));
        assert_eq!(stands(&alice), shown, "after `{typed}`");
    }
}
