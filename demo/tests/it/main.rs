//! The MCP server at its borders: a client in front, a played Consentry behind.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]
mod browser;
mod client;
mod conformance;
mod door;
mod examples;
// Shared with the tests of the whole.
mod inspector;
mod own;
mod peers;
mod played;
#[path = "../../../tests/it/peers/program.rs"]
mod program;
mod replies;
mod stand;
// So is this.
#[path = "../../../tests/it/peers/suite.rs"]
mod suite;
mod terminal;
mod whole;

fn http() -> reqwest::Client {
    #[expect(clippy::disallowed_methods, reason = "a test's own client")]
    let client = reqwest::Client::builder();
    client.no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}
