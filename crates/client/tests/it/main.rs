//! The client against a server on loopback that plays prepared answers.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod events;
mod played;
mod repeating;

use std::time::Duration;

use consentry_client::Client;

fn client(base: &str) -> Client {
    // Nothing is to be waited for in a test.
    Client::builder(base, "key-1").backoff(Duration::ZERO).longest_wait(Duration::ZERO).build().unwrap()
}
