//! The MCP server at its borders: a client in front, a played Consentry behind.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]
mod browser;
mod client;
mod door;
// Shared with the tests of the whole.
#[path = "../../../tests/it/peers/node.rs"]
mod node;
mod peers;
mod played;
mod replies;
mod stand;
mod whole;

fn http() -> reqwest::Client {
    #[expect(clippy::disallowed_methods, reason = "a test's own client")]
    let client = reqwest::Client::builder();
    client.no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}
