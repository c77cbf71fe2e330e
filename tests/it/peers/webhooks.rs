//! What is posted verifies with the reference implementation of Standard Webhooks, also while the secret changes.

use consentry::{config::Webhook, secret::Secret};
use serde_json::{Value, json};

use super::program::Peer;
use crate::{
    engine::{Database, Engine},
    webhooks::receiver::{SECRETS, secret},
    world::{FILES, World},
};

async fn world(db: Database, url: &str, name: &str, former: Option<&str>) -> World {
    World::start_with(db, |settings| {
        settings.mcp_servers[0].webhook = Some(Webhook {
            url: url.parse().unwrap(),
            secret: Secret::new(secret(name)),
            former_secret: former.map(|name| Secret::new(secret(name))),
        });
    })
    .await
}

/// Asks and withdraws: one signal. Waits until so many posts are there.
async fn one_signal(world: &World, peer: &Peer, posts: usize) -> Value {
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
    // At once, and the clock stands: the reference implementation has a clock of its own.
    world.until(|| async { peer.events("post").len() >= posts }).await;
    peer.events("post").last().unwrap().clone()
}

/// R113: whichever secret the receiver has, one signature fits; a body with one more blank has none that does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r113_the_reference_implementation_verifies_what_is_posted() {
    let [first, second] = SECRETS;
    let known = json!({ "secrets": { first: secret(first), second: secret(second) } });
    let peer = Peer::start("webhooks.mjs", &known);
    let url = peer.tells("listening").await["url"].as_str().unwrap().to_owned();
    let db = Database::start(Engine::Sqlite).await;
    let steps = [(first, None, json!([first])), (second, Some(first), json!([first, second]))];
    let steps = steps.into_iter().chain([(second, None, json!([second]))]);
    for (number, (name, former, fits)) in (1..).zip(steps) {
        let world = world(db.clone(), &url, name, former).await;
        let post = one_signal(&world, &peer, number).await;
        assert_eq!(post["fits"], fits, "{post}");
        assert_eq!(post["tampered"], false);
        assert_eq!(post["body"]["type"], "elicitation.cancelled");
    }
}
