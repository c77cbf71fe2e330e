//! The page between us and the third party, which is gone in a moment when all is well.

use consentry_fakes::Answer;

use super::{steps::CONTINUE, world_and_browser};
use crate::world::FILES;

/// R55: before anybody leaves, the host is named in full, and a plain link leads there. The third party answers the
/// first time that there is nothing to be shown, so that the page stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_host_is_named_before_one_leaves() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    world.files.next_answer("/authorize", Answer::status(204));
    alice.click(CONTINUE).await;
    alice.sees("leaving").await;
    let text = alice.text().await;
    let host = world.files.base_url().trim_start_matches("http://");
    assert!(text.contains(host), "{host} is not in: {text}");
    alice.click(&format!("main a[href^='{}/authorize?']", world.files.base_url())).await;
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
}
