//! Browser sessions: a lineage that outlives its ids, and who is signed in on it.

use std::time::Duration;

use consentry::{
    elicitation::{AttemptState, Elicitation, NewElicitation, Outcome, State},
    random::Random,
    secret::Hash,
    store::{NewSignIn, SignedIn, Store},
    subject::Subject,
};
use uuid::Uuid;

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    a_session_is_who_signed_in_and_when,
    r25_a_sign_in_changes_the_id_and_the_former_opens_nothing,
    two_issuers_are_signed_in_beside_each_other,
    two_sign_ins_at_once_lose_neither,
    a_session_ends_with_its_life_or_when_idle,
    a_touch_only_moves_forward,
    a_lineage_without_a_session_does_not_bring_its_sign_ins_back,
    another_person_ends_the_formers_attempts_in_this_browser,
    signing_out_ends_everything_of_the_browser_and_nothing_else,
    what_opens_nothing_is_purged,
    a_page_sees_who_is_signed_in_for_its_issuer,
}

/// How long a session of these tests may live, and how long it may be idle.
const SESSION: Duration = Duration::from_secs(43_200);
const IDLE: Duration = Duration::from_secs(1_800);

/// Signs `subject` in on a browser whose id was `former`; gives what came of it and the new id.
async fn sign_in(
    store: &Store,
    former: Option<Hash>,
    browser: Uuid,
    subject: &Subject,
    seconds: u64,
) -> (SignedIn, Hash) {
    let id = Random.secret().hash();
    let life_ms = i64::try_from(SESSION.as_millis()).unwrap();
    let new = NewSignIn { former, id, browser, subject, label: Some("A Name"), life_ms };
    let now = after(seconds);
    (store.sign_in(&new, now, now.minus(IDLE)).await.unwrap(), id)
}

/// A browser with a session of this person.
async fn browser_of(store: &Store, subject: &Subject) -> (Uuid, Hash) {
    let browser = Random.uuid();
    let (signed_in, id) = sign_in(store, None, browser, subject, 0).await;
    assert_eq!(signed_in, SignedIn::Renewed);
    (browser, id)
}

/// Who is signed in by this id, in any order.
async fn who(store: &Store, id: &Hash, seconds: u64) -> Vec<String> {
    let now = after(seconds);
    let session = store.session(id, now, now.minus(IDLE)).await.unwrap();
    let mut who: Vec<String> = session
        .into_iter()
        .flat_map(|session| session.sign_ins)
        .map(|one| format!("{} {}", one.subject.issuer, one.subject.sub))
        .collect();
    who.sort();
    who
}

fn elsewhere(sub: &str) -> Subject {
    Subject::new("https://other.example", sub).unwrap()
}

const ALICE: &str = "https://id.example alice";
const BOB: &str = "https://id.example bob";

async fn a_session_is_who_signed_in_and_when(db: Database) {
    let (browser, id) = browser_of(&db.store, &alice()).await;
    let session = db.store.session(&id, after(5), NOW).await.unwrap();
    assert!(session.is_none(), "idle since the sign-in, if that is too long");
    let session = db.store.session(&id, after(5), NOW.minus(IDLE)).await.unwrap().unwrap();
    assert_eq!((session.browser, session.seen_at, session.sign_ins.len()), (browser, NOW, 1));
    let signed_in = &session.sign_ins[0];
    assert!(signed_in.subject == alice());
    assert_eq!((signed_in.label.as_deref(), signed_in.since), (Some("A Name"), NOW));
    assert!(who(&db.store, &digest("unknown"), 0).await.is_empty());
}

async fn r25_a_sign_in_changes_the_id_and_the_former_opens_nothing(db: Database) {
    let (browser, first) = browser_of(&db.store, &alice()).await;
    let (signed_in, second) = sign_in(&db.store, Some(first), Random.uuid(), &bob(), 1).await;
    assert_eq!(signed_in, SignedIn::Renewed);
    assert!(who(&db.store, &first, 1).await.is_empty());
    assert_eq!(who(&db.store, &second, 1).await, [BOB], "at most one for an issuer");
    let session = db.store.session(&second, after(1), NOW).await.unwrap().unwrap();
    assert_eq!(session.browser, browser, "the lineage goes on");
}

async fn two_issuers_are_signed_in_beside_each_other(db: Database) {
    let (_, first) = browser_of(&db.store, &alice()).await;
    let (_, second) = sign_in(&db.store, Some(first), Random.uuid(), &elsewhere("carol"), 1).await;
    assert_eq!(who(&db.store, &second, 1).await, [ALICE, "https://other.example carol"]);
}

async fn two_sign_ins_at_once_lose_neither(db: Database) {
    let (_, first) = browser_of(&db.store, &alice()).await;
    let (faster, second) = sign_in(&db.store, Some(first), Random.uuid(), &elsewhere("carol"), 1).await;
    let third = Subject::new("https://third.example", "dave").unwrap();
    let (slower, unused) = sign_in(&db.store, Some(first), Random.uuid(), &third, 2).await;
    assert_eq!((faster, slower), (SignedIn::Renewed, SignedIn::Beside));
    let everybody = [ALICE, "https://other.example carol", "https://third.example dave"];
    assert_eq!(who(&db.store, &second, 2).await, everybody);
    assert!(who(&db.store, &unused, 2).await.is_empty());
    let (late, _) = sign_in(&db.store, Some(first), Random.uuid(), &third, 62).await;
    assert_eq!(late, SignedIn::Renewed, "a minute later the former id is nobody's");
}

async fn a_session_ends_with_its_life_or_when_idle(db: Database) {
    let (_, id) = browser_of(&db.store, &alice()).await;
    let idle = IDLE.as_secs();
    assert_eq!(who(&db.store, &id, idle - 1).await, [ALICE]);
    assert!(who(&db.store, &id, idle).await.is_empty());
    let life = SESSION.as_secs();
    db.store.touch_session(&id, after(life - 1)).await.unwrap();
    assert_eq!(who(&db.store, &id, life - 1).await, [ALICE]);
    assert!(who(&db.store, &id, life).await.is_empty(), "no use prolongs it");
}

async fn a_touch_only_moves_forward(db: Database) {
    let (_, id) = browser_of(&db.store, &alice()).await;
    for (at, expected) in [(5, 5), (3, 5), (9, 9)] {
        db.store.touch_session(&id, after(at)).await.unwrap();
        let session = db.store.session(&id, after(10), NOW).await.unwrap().unwrap();
        assert_eq!(session.seen_at, after(expected));
    }
}

async fn a_lineage_without_a_session_does_not_bring_its_sign_ins_back(db: Database) {
    let (browser, first) = browser_of(&db.store, &alice()).await;
    let idle = IDLE.as_secs();
    let (_, second) = sign_in(&db.store, Some(first), browser, &elsewhere("carol"), idle + 1).await;
    assert_eq!(who(&db.store, &second, idle + 1).await, ["https://other.example carol"]);
}

async fn another_person_ends_the_formers_attempts_in_this_browser(db: Database) {
    let (browser, id) = browser_of(&db.store, &alice()).await;
    let asked = db.store.given_elicitation(&asked()).await;
    let here = db.store.given_attempt_in(&asked, browser).await;
    let in_another_browser = db.store.given_attempt(&asked, NOW).await;
    let (_, id) = sign_in(&db.store, Some(id), browser, &alice(), 1).await;
    assert!(db.store.attempt_now(&here).await.is_live(after(1)), "the same person again");
    let (_, id) = sign_in(&db.store, Some(id), browser, &elsewhere("bob"), 2).await;
    assert!(db.store.attempt_now(&here).await.is_live(after(2)), "another issuer");
    sign_in(&db.store, Some(id), browser, &bob(), 3).await;
    let ended = db.store.attempt_now(&here).await;
    assert_eq!((ended.state, ended.outcome), (AttemptState::Settled, Some(Outcome::Ended)));
    assert!(ended.verifier.is_none());
    assert!(db.store.attempt_now(&in_another_browser).await.is_live(after(3)));
    assert_eq!(db.store.again(&asked).await.state(after(3)), State::Authorizing);
}

async fn signing_out_ends_everything_of_the_browser_and_nothing_else(db: Database) {
    let (browser, id) = browser_of(&db.store, &alice()).await;
    let (_, bobs) = browser_of(&db.store, &bob()).await;
    let asked = db.store.given_elicitation(&asked()).await;
    let live = db.store.given_attempt_in(&asked, browser).await;
    let parked = consentry::vault::Sealed::from_bytes(b"sealed response".to_vec());
    assert!(db.store.park(live.id, &parked, after(60), NOW).await.unwrap());
    assert!(db.store.sign_out(&id, after(1)).await.unwrap());
    assert!(!db.store.sign_out(&id, after(1)).await.unwrap());
    let ended = db.store.attempt_now(&live).await;
    assert_eq!(ended.outcome, Some(Outcome::Ended));
    assert!(ended.parked.is_none() && ended.verifier.is_none());
    let asked = db.store.again(&asked).await;
    assert_eq!(asked.state(after(1)), State::Pending, "the link works again");
    assert!(db.store.told(&files()).await.is_empty());
    assert!(who(&db.replica().await, &id, 1).await.is_empty(), "on every replica");
    assert_eq!(who(&db.store, &bobs, 1).await, [BOB]);
    assert!(!db.store.sign_out(&digest("unknown"), after(1)).await.unwrap());
}

async fn what_opens_nothing_is_purged(db: Database) {
    let (_, idle) = browser_of(&db.store, &alice()).await;
    let (_, first) = browser_of(&db.store, &bob()).await;
    let (_, second) = sign_in(&db.store, Some(first), Random.uuid(), &bob(), IDLE.as_secs()).await;
    let now = after(IDLE.as_secs() + 61);
    assert_eq!(db.store.purge_sessions(now, now.minus(IDLE), 1).await.unwrap(), 1, "no more at once");
    db.store.purge_sessions(now, now.minus(IDLE), 9).await.unwrap();
    assert_eq!(db.store.purge_sign_ins(1).await.unwrap(), 1);
    assert_eq!(db.store.purge_sign_ins(9).await.unwrap(), 1);
    let mut raw = Raw::connect(&db).await;
    assert_eq!(raw.number("SELECT COUNT(*) FROM sessions").await, 1);
    assert_eq!(raw.number("SELECT COUNT(*) FROM sign_ins").await, 1);
    assert!(who(&db.store, &idle, 0).await.is_empty());
    assert_eq!(who(&db.store, &second, IDLE.as_secs() + 61).await, [BOB]);
}

/// The same row that a page reads in one round trip, session and all.
async fn a_page_sees_who_is_signed_in_for_its_issuer(db: Database) {
    let (browser, id) = browser_of(&db.store, &alice()).await;
    let mine = db.store.given_elicitation(&asked()).await;
    let others = NewElicitation { owner: elsewhere("carol"), ..asked() };
    let others = db.store.given_elicitation(&others).await;
    let visit = async |asked: &Elicitation, seconds| {
        let now = after(seconds);
        db.store.visit(asked.id, Some(&id), None, now, now.minus(IDLE)).await.unwrap().unwrap().visitor
    };
    let visitor = visit(&mine, 1).await.unwrap();
    assert_eq!((visitor.browser, visitor.seen_at), (browser, NOW));
    assert!(visitor.subject == Some(alice()));
    assert_eq!(visitor.label.as_deref(), Some("A Name"));
    assert!(visit(&others, 1).await.unwrap().subject.is_none(), "a sign-in is for its own issuer");
    assert!(visit(&mine, IDLE.as_secs()).await.is_none());
    assert!(db.store.sign_out(&id, after(2)).await.unwrap());
    assert!(visit(&mine, 3).await.is_none());
}
