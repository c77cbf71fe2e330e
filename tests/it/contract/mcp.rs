//! The MCP endpoint's questions to clients, answered anywhere, and its sessions that were ended.

use std::time::Duration;

use uuid::Uuid;

use super::given::*;
use crate::engine::Database;

contract! {
    an_answer_reaches_the_call_that_waits,
    another_session_answers_nothing,
    what_is_over_is_not_answered_and_goes,
    an_ended_session_stays_ended_while_it_could_live,
}

const ALICES: Uuid = Uuid::from_u128(1);
const BOBS: Uuid = Uuid::from_u128(2);
const ASKED: Uuid = Uuid::from_u128(3);

async fn an_answer_reaches_the_call_that_waits(db: Database) {
    let other = db.replica().await;
    db.store.ask_client(ASKED, ALICES, after(60)).await.unwrap();
    assert_eq!(db.store.client_answer(ASKED).await.unwrap(), None);
    let mut woken = db.store.client_answers().unwrap();
    // On SQLite there is one process alone, whose own answers wake.
    let answering = if db.engine == crate::engine::Engine::Sqlite { &db.store } else { &other };
    let hears = async {
        while db.store.client_answer(ASKED).await.unwrap().is_none() {
            let _ = tokio::time::timeout(Duration::from_millis(100), woken.changed()).await;
        }
    };
    let (kept, ()) = tokio::join!(answering.answer_client(ASKED, ALICES, "yes", NOW), hears);
    assert!(kept.unwrap());
    assert_eq!(db.store.client_answer(ASKED).await.unwrap().as_deref(), Some("yes"));
    assert!(!other.answer_client(ASKED, ALICES, "no", NOW).await.unwrap(), "the first answer stands");
    db.store.forget_question(ASKED).await.unwrap();
    assert_eq!(db.store.client_answer(ASKED).await.unwrap(), None);
    assert!(!db.store.answer_client(ASKED, ALICES, "yes", NOW).await.unwrap());
}

async fn another_session_answers_nothing(db: Database) {
    db.store.ask_client(ASKED, ALICES, after(60)).await.unwrap();
    assert!(!db.store.answer_client(ASKED, BOBS, "yes", NOW).await.unwrap());
    assert!(!db.store.answer_client(Uuid::from_u128(4), ALICES, "yes", NOW).await.unwrap());
    assert_eq!(db.store.client_answer(ASKED).await.unwrap(), None);
}

async fn what_is_over_is_not_answered_and_goes(db: Database) {
    db.store.ask_client(ASKED, ALICES, after(60)).await.unwrap();
    assert!(!db.store.answer_client(ASKED, ALICES, "yes", after(60)).await.unwrap());
    assert_eq!(db.store.purge_mcp_questions(after(59), 9).await.unwrap(), 0);
    assert!(db.store.answer_client(ASKED, ALICES, "yes", after(59)).await.unwrap());
    assert_eq!(db.store.purge_mcp_questions(after(60), 9).await.unwrap(), 1);
    assert_eq!(db.store.client_answer(ASKED).await.unwrap(), None);
}

async fn an_ended_session_stays_ended_while_it_could_live(db: Database) {
    db.store.end_mcp_session(ALICES, after(60)).await.unwrap();
    db.store.end_mcp_session(ALICES, after(90)).await.unwrap();
    assert!(db.store.mcp_session_ended(ALICES).await.unwrap());
    assert!(!db.store.mcp_session_ended(BOBS).await.unwrap());
    assert_eq!(db.store.purge_mcp_endings(after(59), 9).await.unwrap(), 0);
    assert!(db.store.mcp_session_ended(ALICES).await.unwrap());
    assert_eq!(db.store.purge_mcp_endings(after(60), 9).await.unwrap(), 1);
    assert!(!db.store.mcp_session_ended(ALICES).await.unwrap());
}
