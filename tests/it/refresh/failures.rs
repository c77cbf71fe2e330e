//! The failure table: whatever the token endpoint says, only its clear refusal costs a user the connection.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use consentry::connection::Status;
use consentry_fakes::Answer;
use serde_json::json;

use super::stand::{LIFE, Stand};
use crate::engine::Database;

on_both_engines! {
    r77_an_outage_keeps_everything_and_mends_itself,
    r77_a_refused_client_disconnects_nobody,
    r77_a_hundred_failures_keep_the_tokens,
    r76_a_refusal_is_known_by_its_content,
    f22_a_real_revocation_is_told_once_and_never_asked_again,
    f20_nonsense_is_tried_once_more_and_then_waited_for,
    f19_a_flapping_provider_ends_nobody,
    r87_the_providers_wish_to_wait_is_heeded,
    a_failure_never_hides_a_living_token,
    a_dead_refresh_token_leaves_the_living_access_token,
    nothing_listening_is_safely_tried_again,
    r82_tokens_of_another_account_are_quarantined,
}

const SECOND: Duration = Duration::from_secs(1);
const TRIAL: Duration = Duration::from_secs(30);

/// Each answer once: 503, nothing lost, and after the trial's time it works again.
async fn r77_an_outage_keeps_everything_and_mends_itself(db: Database) {
    let stand = Stand::new(db).await;
    let answers = [
        Answer::status(500),
        Answer::status(503),
        Answer::html(502),
        Answer::status(408),
        Answer::error(429, "slow_down"),
        Answer::error(400, "temporarily_unavailable"),
        Answer::error(500, "invalid_grant"),
        Answer::error(400, "invalid_request"),
        Answer::error(400, "invalid_scope"),
        Answer::error(400, "unsupported_grant_type"),
        Answer::error(400, "never_heard_of"),
        Answer::error(200, "server_error"),
        Answer::redirect("http://127.0.0.9:1/token"),
        Answer::error(401, "invalid_client"),
        Answer::status(401),
        Answer::error(200, "unauthorized_client"),
    ];
    for (round, answer) in (1..).zip(answers) {
        stand.runs_out();
        let before = stand.stored().await;
        let said = format!("{answer:?}");
        stand.world.files.next_token_answer(answer);
        let wait = stand.is_unavailable().await;
        assert!(wait <= TRIAL.as_secs(), "{said}");
        let after = stand.stored().await;
        assert_eq!((after.status, after.generation), (Status::Active, before.generation), "{said}");
        assert_eq!(after.refresh.unwrap().as_bytes(), before.refresh.unwrap().as_bytes(), "{said}");
        assert_eq!((after.failures, after.failure.is_some()), (1, true), "{said}");
        stand.world.advance(TRIAL);
        assert_eq!(stand.resolves().await.generation, round + 1, "{said}");
    }
    assert_eq!(stand.refreshes().len(), 32);
    assert!(stand.needs_reconnect().await.is_empty());
}

/// F23: the operator's fault; a trial each half a minute, and nobody has to act.
async fn r77_a_refused_client_disconnects_nobody(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    stand.world.files.always_answer("/token", Answer::error(401, "invalid_client"));
    for round in 0..10 {
        for _ in 0..5 {
            stand.is_unavailable().await;
        }
        assert!(stand.refreshes().len() <= round + 1, "one trial at a time");
        stand.world.advance(TRIAL);
    }
    assert_eq!(stand.stored().await.status, Status::Active);
    stand.world.files.answer_normally("/token");
    assert_eq!(stand.resolves().await.generation, 2);
    assert!(stand.needs_reconnect().await.is_empty());
}

async fn r77_a_hundred_failures_keep_the_tokens(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    stand.world.files.always_answer("/token", Answer::status(503));
    while stand.refreshes().len() < 100 {
        stand.is_unavailable().await;
        stand.world.advance(TRIAL);
    }
    assert_eq!(stand.stored().await.status, Status::Active);
    stand.world.files.answer_normally("/token");
    assert_eq!(stand.resolves().await.generation, 2);
    assert_eq!(stand.stored().await.failures, 0);
}

async fn r76_a_refusal_is_known_by_its_content(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    stand.world.files.next_token_answer(Answer::error(200, "bad_refresh_token"));
    stand.asks().await;
    assert_eq!(stand.until_status("needs_reconnect").await, "refused_by_provider");
}

async fn f22_a_real_revocation_is_told_once_and_never_asked_again(db: Database) {
    let stand = Stand::new(db).await;
    stand.world.files.revoke_account("octocat");
    stand.runs_out();
    stand.asks().await;
    assert_eq!(stand.until_status("needs_reconnect").await, "refused_by_provider");
    for _ in 0..5 {
        stand.world.advance(LIFE);
        stand.asks().await;
    }
    assert_eq!(stand.refreshes().len(), 1);
    assert_eq!(stand.needs_reconnect().await, ["refused_by_provider"]);
    assert!(stand.stored().await.can_refresh, "kept, sealed, for a day");
    stand.world.advance(Duration::from_secs(24 * 3600));
    stand.world.until(async || !stand.stored().await.can_refresh).await;
    assert_eq!(stand.refreshes().len(), 1);
}

async fn f20_nonsense_is_tried_once_more_and_then_waited_for(db: Database) {
    let stand = Stand::new(db).await;
    let answers = [
        Answer::html(200),
        Answer::status(200),
        Answer::body(200, "application/json", "null"),
        Answer::body(200, "application/json", "[]"),
        Answer::body(200, "application/json", "{}"),
        Answer::json(200, &json!({ "access_token": 7 })),
        Answer::json(200, &json!({ "access_token": "" })),
        Answer::json(200, &json!({ "access_token": ["a"] })),
        Answer::truncated("application/json", "{\"access_token\":\"a"),
        Answer::drop_connection(),
    ];
    for (round, answer) in (1..).zip(answers) {
        stand.runs_out();
        let said = format!("{answer:?}");
        stand.world.files.next_token_answer(answer);
        let before = stand.refreshes().len();
        let (api, question) = (stand.api.clone(), stand.api.question("alice", crate::world::FILES));
        let caller = tokio::spawn(async move { api.post("/v1/credentials/resolve", &question).await });
        stand.until_refreshes(before + 1).await;
        // The caller waits, and the second try comes by itself.
        stand.world.until(async || stand.stored().await.failures == 1).await;
        stand.world.advance(5 * SECOND);
        let answer = caller.await.unwrap().expect(200);
        assert_eq!(super::stand::handed(&answer).generation, round + 1, "{said}");
        assert_eq!(stand.refreshes().len(), before + 2, "{said}");
    }
    assert!(stand.needs_reconnect().await.is_empty());
}

async fn f19_a_flapping_provider_ends_nobody(db: Database) {
    let stand = Stand::new(db).await;
    for round in 1..=10 {
        stand.runs_out();
        if round % 2 == 0 {
            stand.world.files.next_token_answer(Answer::status(500));
            stand.is_unavailable().await;
            stand.world.advance(2 * SECOND);
        }
        assert_eq!(stand.resolves().await.generation, round + 1);
    }
    assert_eq!(stand.refreshes().len(), 15);
    assert!(stand.needs_reconnect().await.is_empty());
}

async fn r87_the_providers_wish_to_wait_is_heeded(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    stand.world.files.next_token_answer(Answer::too_many("90"));
    assert_eq!(stand.is_unavailable().await, 90);
    stand.world.advance(89 * SECOND);
    assert_eq!(stand.is_unavailable().await, 1);
    assert_eq!(stand.refreshes().len(), 1);
    stand.world.advance(SECOND);
    assert_eq!(stand.resolves().await.generation, 2);
    for (wish, longest) in [("1000000000", 3600), ("soon", 30), ("-5", 30)] {
        stand.runs_out();
        stand.world.files.next_token_answer(Answer::too_many(wish));
        let wait = stand.is_unavailable().await;
        assert!(wait >= 1 && wait <= longest, "{wish}: {wait}");
        stand.world.advance(Duration::from_secs(longest));
        stand.resolves().await;
    }
}

async fn a_failure_never_hides_a_living_token(db: Database) {
    let stand = Stand::new(db).await;
    let first = stand.resolves().await;
    stand.world.files.always_answer("/token", Answer::status(500));
    stand.world.advance(LIFE - Duration::from_secs(200));
    for round in 0..20 {
        assert_eq!(stand.resolves().await, first);
        stand.until_refreshes(1).await;
        stand.world.until(async || stand.stored().await.failures > 0).await;
        assert!(stand.refreshes().len() <= round + 1);
        stand.world.advance(SECOND);
    }
    stand.world.files.answer_normally("/token");
    stand.world.advance(TRIAL);
    let is_new = async || {
        stand.resolves().await;
        stand.stored().await.generation == 2
    };
    stand.world.until(is_new).await;
}

/// It is handed out until it ends, while Alice is told to connect again.
async fn a_dead_refresh_token_leaves_the_living_access_token(db: Database) {
    let stand = Stand::new(db).await;
    let first = stand.resolves().await;
    stand.world.files.next_token_answer(Answer::error(400, "invalid_grant"));
    stand.world.advance(LIFE - Duration::from_secs(200));
    assert_eq!(stand.resolves().await, first);
    assert_eq!(stand.until_status("needs_reconnect").await, "refused_by_provider");
    assert_eq!(stand.needs_reconnect().await, ["refused_by_provider"]);
    assert_eq!(stand.resolves().await, first, "it lives");
    stand.world.advance(Duration::from_secs(200));
    stand.asks().await;
    assert_eq!(stand.refreshes().len(), 1);
}

async fn nothing_listening_is_safely_tried_again(db: Database) {
    let stand = Stand::new(db).await;
    // What is known of its endpoints is kept through an outage.
    stand.world.advance(LIFE / 2);
    stand.runs_out();
    stand.world.files.accept_connections(false).await.unwrap();
    let (api, question) = (stand.api.clone(), stand.api.question("alice", crate::world::FILES));
    let caller = tokio::spawn(async move { api.post("/v1/credentials/resolve", &question).await });
    stand.world.until(async || stand.stored().await.failures == 1).await;
    assert_eq!(stand.stored().await.failure.as_deref(), Some("not_sent"));
    stand.world.files.accept_connections(true).await.unwrap();
    stand.world.advance(SECOND);
    let answer = caller.await.unwrap().expect(200);
    assert_eq!(super::stand::handed(&answer).generation, 2);
    assert_eq!(stand.refreshes().len(), 1);
}

async fn r82_tokens_of_another_account_are_quarantined(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    let claims = json!({ "iss": "https://elsewhere.example", "aud": "consentry", "sub": "somebody" });
    let token = format!("e30.{}.x", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()));
    stand.world.files.next_token_answer(Answer::with_member("id_token", json!(token)));
    stand.asks().await;
    assert_eq!(stand.until_status("quarantined").await, "account_mismatch");
    let metrics = stand.api.get("/metrics").await.body;
    let line = "consentry_security_events_total{code=\"account_mismatch\"} 1";
    assert!(metrics.as_str().unwrap().contains(line));
    stand.asks().await;
    assert_eq!(stand.refreshes().len(), 1);
}
