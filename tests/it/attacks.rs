//! Attacks by hand, each with what it must not do: by address, by form, by callback, by header.
//!
//! Where the model of the attacker looks for what nobody thought of, these say what was thought of. What is compared is the
//! third parties' logs and the whole database.

mod callback;
mod codes;
mod forms;
mod headers;
mod links;
mod outcomes;
mod twice;
mod words;

use reqwest::Url;

use crate::world::{Browser, FILES, Link, World};

/// A browser of `person`'s that is signed in and sees its own link.
async fn ready(world: &World, person: &str, link: &Link) -> Browser {
    let mut browser = world.browser();
    browser.opens(&link.url).await;
    browser.signs_in(person).await.is("ready");
    browser
}

/// Alice has approved at the third party, and her browser has not taken the way back: its address.
async fn about_to_return(world: &World) -> (Browser, Link, Url) {
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(world, "alice", &link).await;
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    let callback = alice.approves("octocat").await.location().expect("the way back");
    (alice, link, callback)
}

/// Requests that have reached a third party's token endpoint.
fn token_requests(world: &World) -> usize {
    world.files.token_requests().len() + world.notes.token_requests().len()
}

/// The address with these query parameters in place of its own.
fn with_query(url: &Url, pairs: &[(String, String)]) -> Url {
    let mut changed = url.clone();
    changed.query_pairs_mut().clear().extend_pairs(pairs);
    changed
}

/// An address's query parameters.
fn pairs(url: &Url) -> Vec<(String, String)> {
    url.query_pairs().into_owned().collect()
}
