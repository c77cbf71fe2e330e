//! The adapter at its borders: in front a client that knows the protocol's rules and nothing of rmcp, behind the real
//! Consentry (or a played one that misbehaves), and everybody's fakes around.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

// Shared with the demo's tests.
#[path = "../../../../demo/tests/it/browser.rs"]
mod browser;
mod client;
mod example;
mod played;
mod replicas;
mod stand;
mod table;
mod traps;

fn http() -> reqwest::Client {
    #[expect(clippy::disallowed_methods, reason = "a test's own client")]
    let client = reqwest::Client::builder();
    client.no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}
