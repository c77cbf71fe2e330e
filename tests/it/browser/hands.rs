//! Without a mouse, and without scripts.

use consentry_fakes::{Answer, Listen, Sink};
use thirtyfour::Key;

use super::{
    driver::{Habits, Profile},
    steps::{self, CONTINUE, SIGN_IN},
    world_and_browser, world_and_browser_with,
};
use crate::world::FILES;

/// Everything can be reached by Tab, is seen to have the focus, and is pressed by Enter.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_has_a_keyboard_only() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.open(&link.url).await;
    presses(&alice, SIGN_IN, 3).await;
    presses(&alice, &steps::person("alice"), 3).await;
    alice.sees("ready").await;
    presses(&alice, CONTINUE, 3).await;
    presses(&alice, &steps::account("octocat"), 5).await;
    alice.sees("connected").await;
    // And everywhere else, at least to sign out.
    presses(&alice, "form[action='/sign-out'] button", 6).await;
    alice.sees("signed-out").await;
    assert_eq!(super::codes(&world), 1);
}

async fn presses(person: &Profile, css: &str, most: usize) {
    person.tab_to(css, most).await;
    let outline = "const style = getComputedStyle(document.activeElement); \
                   return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2";
    assert_eq!(person.run(outline).await, true, "{css} does not show the focus");
    person.press(Key::Enter).await;
}

/// R55: no page needs a script.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_has_scripts_off() {
    let habits = Habits { no_scripts: true, ..Habits::default() };
    let (world, _browsers, alice) = world_and_browser_with(habits).await;
    let elsewhere = Sink::start(Listen::on([127, 0, 0, 5])).await.unwrap();
    let page = "<!doctype html><title>off</title><script>document.title = 'on'</script><p>read";
    elsewhere.always_answer(Answer::body(200, "text/html", page));
    alice.open(elsewhere.base_url()).await;
    alice.find("p").await;
    assert_eq!(alice.title().await, "off", "this browser runs no scripts");

    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.connects_as("octocat").await;
    assert_eq!(super::codes(&world), 1);
}
