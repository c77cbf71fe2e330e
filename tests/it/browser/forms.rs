//! R39: a form counts only when a page of ours posts it.

use consentry_fakes::{Answer, Listen, Sink};

use super::{driver::Profile, steps::CONTINUE, world_and_browser};
use crate::world::{FILES, World};

/// A page of somebody else's that posts a form to `action` as soon as it is opened.
async fn trap(listen: Listen, action: &str, csrf: &str) -> Sink {
    let page = format!(
        "<!doctype html><form method=\"post\" action=\"{action}\">\
         <input type=\"hidden\" name=\"csrf\" value=\"{csrf}\"></form><script>document.forms[0].submit()</script>"
    );
    let trap = Sink::start(listen).await.unwrap();
    trap.always_answer(Answer::body(200, "text/html", page));
    trap
}

/// Of the page that Alice sees. Nobody else can read it; the form is to be refused even so.
async fn token(alice: &Profile) -> String {
    let field = alice.find("form[action$='/continue'] input[name=csrf]").await;
    field.attr("value").await.unwrap().unwrap()
}

async fn nothing_has_begun(world: &World, id: &str) {
    assert_eq!(world.api("files").elicitation(id).await["state"], "pending");
    assert!(world.files.authorize_log().is_empty());
    assert_eq!(super::codes(world), 0);
}

/// From another port of the same host, so that the browser takes it for the same site and every cookie comes along.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_form_of_a_neighbour_is_refused() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    let token = token(&alice).await;
    let base = format!("{}/connect/{}", world.public_url, link.id);
    for action in ["continue", "decline"] {
        let neighbour = Listen::on([127, 0, 0, 1]).host("localhost");
        let trap = trap(neighbour, &format!("{base}/{action}"), &token).await;
        alice.open(trap.base_url()).await;
        alice.is_refused_by("bad-request", 403).await;
        nothing_has_begun(&world, &link.id).await;
    }
    // Nor does the token's absence help.
    let trap = trap(Listen::on([127, 0, 0, 1]).host("localhost"), &format!("{base}/continue"), "").await;
    alice.open(trap.base_url()).await;
    alice.is_refused_by("bad-request", 403).await;

    alice.open(&link.url).await;
    alice.connects_as("octocat").await;
}

/// From another site: the browser keeps the cookies back, so that it is nobody's form.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_form_of_a_stranger_is_nobodys() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    let token = token(&alice).await;
    let action = format!("{}/connect/{}/continue", world.public_url, link.id);
    let trap = trap(Listen::on([127, 0, 0, 5]), &action, &token).await;
    alice.open(trap.base_url()).await;
    // The question again, for her to answer or not.
    alice.find(CONTINUE).await;
    alice.sees("ready").await;
    nothing_has_begun(&world, &link.id).await;
}
