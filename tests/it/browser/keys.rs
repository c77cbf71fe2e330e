//! Keys in real browsers: pasted, typed without a mouse, shown by a link, filled in by what fills in passwords.

use serde_json::json;
use thirtyfour::Key;

use super::driver::{Browsers, Habits, Profile};
use crate::{
    engine::{Database, Engine},
    secrets::{KEY, KEYS, WRONG, start},
};

const FIELD: &str = "input[name='api_key']";
const SEND: &str = "form[action$='/secret'] button.main";

/// An editing command of the browser, as its menu gives it.
async fn edit(person: &Profile, command: &str) {
    for kind in ["keyDown", "keyUp"] {
        let commands = if kind == "keyDown" { json!([command]) } else { json!([]) };
        let event = json!({ "type": kind, "key": "Unidentified", "commands": commands });
        person.devtools("Input.dispatchKeyEvent", event).await;
    }
}

async fn at_the_form(
    habits: Habits,
) -> (crate::world::World, Browsers, Profile, consentry_fakes::KeyService) {
    let ((world, service), browsers) =
        tokio::join!(async { start(Database::start(Engine::Sqlite).await).await }, Browsers::start());
    let alice = browsers.open_with(habits).await;
    let link = world.api("files").asks("alice", KEYS).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("secret-form").await;
    (world, browsers, alice, service)
}

/// WCAG 2.2, 3.3.8: what fills in passwords knows the field, and pasting works.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_pastes_her_key() {
    let (world, _browsers, alice, service) = at_the_form(Habits::default()).await;
    assert_eq!(alice.count("input[type='password'][name='api_key']").await, 1);
    assert_eq!(alice.count("input[onpaste], input[readonly], input[autocomplete='new-password']").await, 0);
    // She copies it from where it is shown: here, from the form itself.
    alice.click("a[href*='reveal=1']").await;
    alice.find("input[type='text'][name='api_key']").await;
    alice.click(FIELD).await;
    alice.devtools("Input.insertText", json!({ "text": KEY })).await;
    edit(&alice, "selectAll").await;
    edit(&alice, "cut").await;
    alice.click("a[href*='replace=1']:not([href*='reveal=1'])").await;
    alice.find("input[type='password'][name='api_key']").await;
    alice.click(FIELD).await;
    edit(&alice, "paste").await;
    let typed = format!("return document.querySelector(\"{FIELD}\").value");
    assert_eq!(alice.run(&typed).await, KEY);
    alice.click(SEND).await;
    alice.sees("connected").await;
    assert!(!alice.url().await.contains("sk_"));
    assert_eq!(service.log().entries().len(), 1);
    let fields = world.api("files").resolves("alice", KEYS).await["credential"]["fields"].clone();
    assert_eq!(fields["api_key"], KEY);
}

/// The form is the first thing that a keyboard comes to; what is wrong takes the focus and leads to its field.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_types_it_without_a_mouse() {
    let (_world, _browsers, alice, service) = at_the_form(Habits::default()).await;
    alice.tab_to(FIELD, 3).await;
    alice.devtools("Input.insertText", json!({ "text": WRONG })).await;
    alice.press(Key::Enter).await;
    alice.sees("secret-rejected").await;
    assert!(!alice.source().await.contains(WRONG));
    alice.tab_to(FIELD, 4).await;
    alice.devtools("Input.insertText", json!({ "text": "pk_live_octocat_0123456789" })).await;
    alice.press(Key::Enter).await;
    alice.sees("secret-rejected").await;
    assert!(alice.text().await.contains("This is a publishable key."), "{}", alice.text().await);
    let focused = "return document.activeElement.className";
    assert_eq!(alice.run(focused).await, "wrong");
    service.always_answer("/bearer", consentry_fakes::Answer::status(500));
    alice.tab_to(FIELD, 5).await;
    alice.devtools("Input.insertText", json!({ "text": KEY })).await;
    alice.press(Key::Enter).await;
    alice.sees("secret-unchecked").await;
    // Back in the history there is no key, and going back sends nothing again.
    let before = service.log().entries().len();
    alice.back().await;
    assert!(!alice.source().await.contains(KEY));
    assert_eq!(service.log().entries().len(), before);
}

/// R55: no page needs a script.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_types_it_with_scripts_off() {
    let habits = Habits { no_scripts: true, ..Habits::default() };
    let (_world, _browsers, alice, _service) = at_the_form(habits).await;
    alice.click("a[href*='reveal=1']").await;
    alice.click(FIELD).await;
    alice.devtools("Input.insertText", json!({ "text": KEY })).await;
    alice.click(SEND).await;
    alice.sees("connected").await;
}
