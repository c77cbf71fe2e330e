//! What a provider's answers are read for beside one token: values that are kept, further tokens, one of several tenants.

mod callback;
mod kept;
pub(crate) mod slots;
mod tenants;
mod told;

use consentry::config::{Capture, CaptureFrom, Settings};
use serde_json::{Map, Value};

use crate::world::{Browser, FILES, Link, World};

/// A browser of alice's that sees her link.
async fn ready(world: &World, link: &Link) -> Browser {
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice
}

/// A question that is asked although there is a connection.
async fn asks_anew(world: &World) -> Link {
    let api = world.api("files");
    let answer = api.post("/v1/elicitations", &api.question("alice", FILES)).await;
    crate::world::link(&answer.body["elicitation"])
}

/// A value that is kept, from there.
fn capture(from: CaptureFrom, path: &str, url_suffixes: &[&str]) -> Capture {
    let url_suffixes = url_suffixes.iter().map(|&suffix| suffix.to_owned()).collect();
    Capture { from, path: path.to_owned(), required: true, url_suffixes }
}

/// "Example Files", as the settings have it.
fn files(settings: &mut Settings) -> &mut consentry::config::Provider {
    settings.providers.iter_mut().find(|one| one.id.as_str() == FILES).expect("it is configured")
}

fn members(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}
