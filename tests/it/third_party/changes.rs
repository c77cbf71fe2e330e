//! The MCP server names another authorization server, or that one moves (R63).

use std::time::Duration;

use serde_json::json;

use super::{DOCUMENT, DYNAMIC, STATIC, Stand, listening};
use crate::engine::Database;

on_both_engines!(
    r63_another_authorization_server_gets_nothing_that_was_stored,
    r63_an_issuer_that_is_still_named_goes_on,
    r63_endpoints_may_move_within_their_issuer,
    r63_an_outage_of_the_mcp_server_ends_nothing,
    r63_the_settings_choose_among_issuers,
    r63_a_secret_by_hand_follows_nobody,
    r63_a_registration_token_follows_nobody,
    r63_a_code_goes_to_whom_it_is_from,
);

async fn r63_another_authorization_server_gets_nothing_that_was_stored(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    let before = stand.connected().await;
    let id = before["connection"]["id"].as_str().unwrap().to_owned();
    let other = listening(9).await;
    other.clock().advance(Duration::from_secs(1));
    stand.tools.trusts(&other);
    stand.tools.configure(|says| says.issuers = vec![other.base_url().to_owned()]);
    stand.advance(Duration::from_secs(3_700));
    let link = stand.asks().await;
    let shown = stand.world.api("files").get(&format!("/v1/connections/{id}")).await.expect(200);
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("needs_reconnect"), &json!("provider_changed")));
    assert_eq!(stand.third.token_log().len(), 1, "no refresh");
    assert!(other.token_log().is_empty() && other.revocations().entries().is_empty());
    // Alice connects again, at the other one, with another client.
    other.configure_identity(|identity| identity.resources = Some(vec![stand.tools.url()]));
    let mut alice = stand.arrives(&link).await;
    let authorize = stand.leaves(&mut alice).await;
    assert!(authorize.starts_with(other.base_url()), "{authorize}");
    let first = stand.third.token_log()[0].client_id.clone().unwrap();
    assert!(!authorize.contains(&first), "{authorize}");
    let back = other.approve(&authorize, "alice").await.unwrap();
    alice.opens(&back).await.is("connected");
    let answer = stand.resolves().await;
    assert_eq!(stand.calls(&answer).await, 200, "{answer}");
    stand.world.api("files").delete(&format!("/v1/connections/{id}")).await.expect(204);
    stand.world.until(async || !other.revocations().entries().is_empty()).await;
    assert!(stand.third.revocations().entries().is_empty());
}

async fn r63_an_issuer_that_is_still_named_goes_on(db: Database) {
    let stand = Stand::with(db, DOCUMENT).await;
    stand.connected().await;
    let other = listening(9).await;
    let both = vec![other.base_url().to_owned(), stand.third.base_url().to_owned()];
    stand.tools.configure(|says| says.issuers = both);
    stand.advance(Duration::from_secs(3_700));
    let answer = stand.resolves().await;
    assert_eq!((&answer["status"], &answer["connection"]["generation"]), (&json!("ready"), &json!(2)));
    assert!(other.token_log().is_empty());
}

async fn r63_endpoints_may_move_within_their_issuer(db: Database) {
    let stand = Stand::with(db, STATIC).await;
    stand.connected().await;
    // It is 404 at the former place. The next try finds the new one, before what is known of it is old.
    stand.advance(Duration::from_secs(3_540));
    stand.third.next_token_answer(consentry_fakes::Answer::status(404));
    let path = "/.well-known/oauth-authorization-server";
    let before = stand.asked(path);
    let api = stand.world.api("files");
    let question = api.question("alice", super::TOOLS);
    stand
        .world
        .until(async || {
            stand.advance(Duration::from_secs(1));
            let answer = api.post("/v1/credentials/resolve", &question).await;
            answer.body["connection"]["generation"] == 2
        })
        .await;
    assert!(stand.asked(path) > before);
    let log = stand.third.token_log();
    assert_eq!(log.iter().filter(|one| one.accepted).count(), 2, "{log:?}");
}

async fn r63_an_outage_of_the_mcp_server_ends_nothing(db: Database) {
    let stand = Stand::with(db, STATIC).await;
    stand.connected().await;
    stand.tools.accept_connections(false).await.unwrap();
    // Longer than what was known of it may be used.
    for _ in 0..25 {
        stand.advance(Duration::from_secs(3_700));
        assert_eq!(stand.resolves().await["status"], "ready");
    }
    // Nobody new can connect meanwhile, and is told so.
    stand.tools.accept_connections(true).await.unwrap();
    stand.advance(Duration::from_secs(3_700));
    assert_eq!(stand.resolves().await["status"], "ready");
}

/// The MCP server names another authorization server: the operator's secret does not go there.
async fn r63_a_secret_by_hand_follows_nobody(db: Database) {
    let stand = Stand::with(db, STATIC).await;
    let other = listening(9).await;
    stand.tools.configure(|says| says.issuers = vec![other.base_url().to_owned()]);
    let mut alice = stand.arrives(&stand.asks().await).await;
    alice.agrees().await.is("provider-misconfigured");
    assert!(other.log().entries().is_empty() && stand.third.token_log().is_empty());
}

/// Nor does what a registration is proved with.
async fn r63_a_registration_token_follows_nobody(db: Database) {
    let token = "issuer = \"{issuer}\"\nregistration_token = { value = \"the-initial-token-of-tools\" }";
    let stand = Stand::with(db, &format!("{DYNAMIC}\n{token}")).await;
    let other = listening(9).await;
    stand.tools.configure(|says| says.issuers = vec![other.base_url().to_owned()]);
    let mut alice = stand.arrives(&stand.asks().await).await;
    alice.agrees().await.is("provider-misconfigured");
    assert!(other.log().entries().is_empty());
    assert_eq!(stand.asked("/register"), 0);
}

/// While alice is there, the MCP server changes its mind: her code goes to whom it is from, or to nobody.
async fn r63_a_code_goes_to_whom_it_is_from(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    let mut alice = stand.arrives(&stand.asks().await).await;
    let authorize = stand.leaves(&mut alice).await;
    let back = stand.third.approve(&authorize, "alice").await.unwrap();
    let other = listening(9).await;
    stand.tools.configure(|says| says.issuers = vec![other.base_url().to_owned()]);
    alice.opens(&back).await.is("connected");
    assert!(other.token_log().is_empty());
    assert_eq!(stand.third.token_log().len(), 1);
    // From then on it is a place that was left: it is not even told of the end.
    stand.advance(Duration::from_secs(3_700));
    stand.asks().await;
    let held = stand.world.api("files").get("/v1/connections?sub=alice").await.expect(200);
    let id = held["connections"][0]["id"].as_str().unwrap().to_owned();
    stand.world.api("files").delete(&format!("/v1/connections/{id}")).await;
    assert!(other.token_log().is_empty() && other.revocations().entries().is_empty());
}

async fn r63_the_settings_choose_among_issuers(db: Database) {
    let other = listening(9).await;
    let keys = format!("{DOCUMENT}\nissuer = \"{}\"", other.base_url());
    let stand = Stand::with(db, &keys).await;
    let mut alice = stand.arrives(&stand.asks().await).await;
    alice.agrees().await.is("provider-misconfigured");
    let report = stand.world.runs(&["doctor"], 1);
    assert!(report.to_string().contains("issuer_not_listed"), "{report}");
    let both = vec![stand.third.base_url().to_owned(), other.base_url().to_owned()];
    stand.tools.configure(|says| says.issuers = both);
    stand.advance(Duration::from_secs(31));
    other.clock().advance(Duration::from_secs(31));
    let mut alice = stand.arrives(&stand.asks().await).await;
    assert!(stand.leaves(&mut alice).await.starts_with(other.base_url()));
}
