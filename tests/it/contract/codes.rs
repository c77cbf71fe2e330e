//! Browsers' codes: each proves its own browser, tries are counted before they are compared, and no code that waits ends
//! another's.

use std::{future::Future, time::Duration};

use consentry::{
    clock::Millis,
    elicitation::{BrowserCode, Elicitation, ElicitationId, NewElicitation, State},
    random::Random,
    secret::Hash,
    store::{Mint, Proof, Store, Typed, Visit},
};
use futures_util::future::join_all;

use super::{
    given::*,
    raw::{Raw, until_somebody_waits},
};
use crate::engine::{Database, Engine};

contract! {
    r3_a_code_proves_the_browser_that_shows_it_and_no_other,
    a_browser_replaces_its_own_code_and_nobody_elses,
    r3_one_browser_at_a_time_is_the_owners,
    a_code_is_newer_that_was_minted_after_the_proof_and_waits,
    a_code_that_goes_while_it_is_typed_is_wrong_and_recorded_nowhere,
    a_code_that_is_typed_while_its_browser_asks_for_another_stays,
    r9_of_many_tries_at_once_three_are_compared,
    r9_of_many_clients_tries_twelve_are_compared,
    a_right_code_counts_nothing_and_is_right_again,
    r10_a_code_ends_with_its_minutes_and_its_elicitation,
    what_may_be_meant_is_open_and_the_clients_own,
}

const TRIES: i64 = 3;
const TOTAL: i64 = 12;

fn code(asked: &Elicitation, cookie: &str, expires_at: Millis) -> BrowserCode {
    BrowserCode {
        elicitation: asked.id,
        browser: Random.uuid(),
        cookie: digest(cookie),
        expires_at,
        proven_at: None,
    }
}

async fn mints(db: &Database, asked: &Elicitation, cookie: &str, shown: &str) -> bool {
    mints_over(&db.store, asked, cookie, shown, None).await == Mint::Done
}

pub(super) async fn mints_over(
    store: &Store,
    asked: &Elicitation,
    cookie: &str,
    shown: &str,
    former: Option<&str>,
) -> Mint {
    let former = former.map(digest);
    let code = code(asked, cookie, after(300));
    store.mint_code(&code, &digest(shown), former.as_ref(), NOW).await.unwrap()
}

/// What it was right for, or the tries that are left.
async fn types(
    db: &Database,
    asked: &[Elicitation],
    typed: &str,
    client: &str,
    now: Millis,
) -> Result<ElicitationId, i64> {
    types_at(&db.store, asked, typed, client, now).await
}

pub(super) async fn types_at(
    store: &Store,
    asked: &[Elicitation],
    typed: &str,
    client: &str,
    now: Millis,
) -> Result<ElicitationId, i64> {
    match passes_on(store, asked, typed, client, now).await {
        Proof::Matched(id) => Ok(id),
        Proof::Wrong(left) => {
            assert_eq!(left.len(), asked.len());
            Err(left.into_iter().map(|(_, left)| left).min().unwrap_or(TRIES))
        }
    }
}

async fn passes_on(store: &Store, asked: &[Elicitation], typed: &str, client: &str, now: Millis) -> Proof {
    let tags = vec![vec![digest("under an older key"), digest(typed)]; asked.len()];
    let typed = Typed {
        elicitations: asked,
        tags: &tags,
        client: digest(client),
        tries_max: TRIES,
        total_max: TOTAL,
        after_ms: 60_000,
    };
    store.prove(typed, now).await.unwrap()
}

async fn looks(db: &Database, asked: &Elicitation, cookie: &str, now: Millis) -> Visit {
    let cookie: Hash = digest(cookie);
    let idle_since = now.minus(Duration::from_secs(1800));
    db.store.visit(asked.id, None, Some(&cookie), now, idle_since).await.unwrap().unwrap()
}

pub(super) async fn is_proven(db: &Database, asked: &Elicitation, cookie: &str, now: Millis) -> bool {
    let visit = looks(db, asked, cookie, now).await;
    visit.code.is_some_and(|code| visit.elicitation.owned_by_code(&code, now).is_ok())
}

async fn r3_a_code_proves_the_browser_that_shows_it_and_no_other(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let other = db.store.given_elicitation(&asked_by("session-2")).await;
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    assert!(mints(&db, &asked, "mallorys", "BBBB").await);
    assert!(mints(&db, &other, "hers-too", "AAAA").await, "of another elicitation it is another code");
    assert!(!mints(&db, &asked, "third", "AAAA").await, "two browsers never show the same code");
    assert!(!db.store.has_proven_browser(asked.id, NOW).await.unwrap());
    assert_eq!(types(&db, std::slice::from_ref(&asked), "AAAA", "c", NOW).await, Ok(asked.id));
    assert!(db.store.has_proven_browser(asked.id, NOW).await.unwrap());
    assert!(!db.store.has_proven_browser(other.id, NOW).await.unwrap());
    assert!(is_proven(&db, &asked, "hers", after(1)).await);
    for cookie in ["mallorys", "hers-too", "third", "nobodys"] {
        assert!(!is_proven(&db, &asked, cookie, after(1)).await, "{cookie}");
    }
    assert!(!is_proven(&db, &other, "hers", after(1)).await);
}

/// The owner goes on in another browser: the one before is nobody's, and its code is no code any more.
async fn r3_one_browser_at_a_time_is_the_owners(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let one = std::slice::from_ref(&asked);
    let other = db.store.given_elicitation(&asked_by("session-2")).await;
    assert!(mints(&db, &other, "others", "AAAA").await);
    assert_eq!(types(&db, std::slice::from_ref(&other), "AAAA", "c", NOW).await, Ok(other.id));
    for (cookie, shown) in [("first", "AAAA"), ("second", "BBBB"), ("third", "CCCC")] {
        assert!(mints(&db, &asked, cookie, shown).await);
    }
    assert_eq!(types(&db, one, "AAAA", "c", NOW).await, Ok(asked.id));
    assert_eq!(types(&db, one, "BBBB", "c", NOW).await, Ok(asked.id));
    assert!(is_proven(&db, &asked, "second", after(1)).await);
    assert!(looks(&db, &asked, "first", NOW).await.code.is_none());
    assert_eq!(types(&db, one, "AAAA", "c", NOW).await, Err(2));
    // A code that only waits is nobody's business, and neither is another elicitation's browser.
    assert!(looks(&db, &asked, "third", NOW).await.code.is_some_and(|code| code.waits(NOW)));
    assert!(is_proven(&db, &other, "others", after(1)).await);
    // The one that lost it may show a code again.
    assert!(mints(&db, &asked, "first-again", "DDDD").await);
    assert_eq!(types(&db, one, "DDDD", "c", NOW).await, Ok(asked.id));
    assert!(!is_proven(&db, &asked, "second", after(1)).await);
    assert!(is_proven(&db, &asked, "first-again", after(1)).await);
    // What is over proves nobody.
    assert!(db.store.close(&asked, State::Cancelled, "test", NOW).await.unwrap());
    assert_eq!(passes_on(&db.store, one, "CCCC", "c", NOW).await, Proof::Wrong(vec![]));
}

async fn a_code_is_newer_that_was_minted_after_the_proof_and_waits(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let one = std::slice::from_ref(&asked);
    let newer = async |now| db.store.code_since_proof(asked.id, now).await.unwrap();
    let shows = async |cookie: &str, at: u64| {
        let code = code(&asked, cookie, after(at + 300));
        let minted = db.store.mint_code(&code, &digest(cookie), None, after(at)).await.unwrap();
        assert_eq!(minted, Mint::Done);
    };
    shows("hers", 0).await;
    shows("before", 1).await;
    assert_eq!(newer(after(1)).await, None, "nobody is proven");
    assert_eq!(types(&db, one, "hers", "c", after(2)).await, Ok(asked.id));
    shows("at once", 2).await;
    assert_eq!(newer(after(2)).await, None);
    shows("after", 3).await;
    shows("later", 4).await;
    assert_eq!(newer(after(4)).await, Some(after(4)));
    let other = db.store.given_elicitation(&asked_by("session-2")).await;
    assert_eq!(db.store.code_since_proof(other.id, after(4)).await.unwrap(), None);
    // What is too old is shown no more.
    assert_eq!(newer(after(303)).await, Some(after(4)));
    assert_eq!(newer(after(304)).await, None);
    // The one that is typed is the newest itself.
    assert_eq!(types(&db, one, "later", "c", after(5)).await, Ok(asked.id));
    assert_eq!(newer(after(5)).await, None);
}

/// Somebody else's transaction, which `change`s one browser's row, ends after `meanwhile` has begun.
async fn interleaved<T: Send + 'static>(
    db: &Database,
    change: &str,
    cookie: &str,
    meanwhile: impl Future<Output = T> + Send + 'static,
) -> T {
    let mut raw = Raw::connect(db).await;
    raw.begin().await;
    let row = raw.bytes(digest(cookie).as_bytes());
    assert_eq!(raw.run(&format!("{change} WHERE cookie_hash = {row}")).await, 1);
    let meanwhile = tokio::spawn(meanwhile);
    // On SQLite it waits to begin at all.
    if db.engine == Engine::Postgres {
        until_somebody_waits(db).await;
    }
    raw.run("COMMIT").await;
    meanwhile.await.unwrap()
}

async fn a_code_that_goes_while_it_is_typed_is_wrong_and_recorded_nowhere(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    let (store, one) = (db.store.clone(), asked.clone());
    let typing = async move { types_at(&store, &[one], "AAAA", "c", NOW).await };
    let typed = interleaved(&db, "DELETE FROM browser_codes", "hers", typing).await;
    assert_eq!(typed, Err(2));
    let mut raw = Raw::connect(&db).await;
    assert_eq!(raw.number("SELECT COUNT(*) FROM audit WHERE kind = 'code_matched'").await, 0);
    assert!(!db.store.has_proven_browser(asked.id, NOW).await.unwrap());
}

async fn a_code_that_is_typed_while_its_browser_asks_for_another_stays(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    let (store, one) = (db.store.clone(), asked.clone());
    let minting = async move { mints_over(&store, &one, "hers-2", "BBBB", Some("hers")).await };
    let change = format!("UPDATE browser_codes SET proven_at_ms = {}", NOW.0);
    assert_eq!(interleaved(&db, &change, "hers", minting).await, Mint::Kept);
    assert!(is_proven(&db, &asked, "hers", after(1)).await);
    assert!(looks(&db, &asked, "hers-2", NOW).await.code.is_none());
    assert_eq!(types(&db, std::slice::from_ref(&asked), "BBBB", "c", NOW).await, Err(2));
}

async fn a_browser_replaces_its_own_code_and_nobody_elses(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    assert!(mints(&db, &asked, "mallorys", "BBBB").await);
    assert_eq!(mints_over(&db.store, &asked, "hers-2", "CCCC", Some("hers")).await, Mint::Done);
    assert!(looks(&db, &asked, "hers", NOW).await.code.is_none());
    assert!(looks(&db, &asked, "mallorys", NOW).await.code.is_some());
    assert_eq!(types(&db, std::slice::from_ref(&asked), "CCCC", "c", NOW).await, Ok(asked.id));
    // Neither a proven browser nor one that has another code by now is given a new one in place of that.
    for gone in ["hers-2", "hers"] {
        assert_eq!(mints_over(&db.store, &asked, "hers-3", "DDDD", Some(gone)).await, Mint::Kept);
        assert!(looks(&db, &asked, "hers-3", NOW).await.code.is_none());
    }
    assert!(is_proven(&db, &asked, "hers-2", after(1)).await);
    // What is over gets no code.
    assert!(db.store.close(&asked, State::Cancelled, "test", NOW).await.unwrap());
    assert!(!mints(&db, &asked, "late", "EEEE").await);
}

/// The count comes first, in the same transaction, so that no rush has a fourth try.
async fn r9_of_many_tries_at_once_three_are_compared(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    let rush = (0..12).map(|n| {
        let (db, asked) = (db.clone(), asked.clone());
        async move { types(&db, &[asked], &format!("WRONG{n}"), "c", NOW).await }
    });
    let mut left: Vec<i64> =
        join_all(rush).await.into_iter().map(|proof| proof.expect_err("nobody shows it")).collect();
    left.sort_unstable();
    assert_eq!(left[9..], [0, 1, 2]);
    assert_eq!(left.iter().filter(|left| **left == 0).count(), 10);
    // Even the right one is too late now, for this client; another has tries of its own.
    assert_eq!(types(&db, std::slice::from_ref(&asked), "AAAA", "c", NOW).await, Err(0));
    assert_eq!(types(&db, std::slice::from_ref(&asked), "AAAA", "d", NOW).await, Ok(asked.id));
}

/// However many clients pass codes on for one elicitation.
async fn r9_of_many_clients_tries_twelve_are_compared(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    let replica = db.replica().await;
    let rush = (0..20).map(|n| {
        let (store, asked) = (if n % 2 == 0 { &db.store } else { &replica }.clone(), asked.clone());
        async move { types_at(&store, &[asked], "WRONG", &format!("client {n}"), NOW).await }
    });
    let left: Vec<i64> =
        join_all(rush).await.into_iter().map(|proof| proof.expect_err("nobody shows it")).collect();
    let counted = "SELECT CAST(SUM(tries) AS BIGINT) FROM code_tries";
    assert_eq!(Raw::connect(&db).await.number(counted).await, TOTAL);
    assert_eq!(
        left.iter().filter(|left| **left == 0).count(),
        9,
        "the last that counted, and eight more: {left:?}"
    );
    assert_eq!(left.iter().filter(|left| **left == 2).count(), 10);
    assert_eq!(types(&db, std::slice::from_ref(&asked), "AAAA", "a new client", NOW).await, Err(0));
    // Another elicitation has tries of its own.
    let other = db.store.given_elicitation(&asked_by("session-2")).await;
    assert_eq!(types(&db, std::slice::from_ref(&other), "AAAA", "a new client", NOW).await, Err(2));
}

async fn a_right_code_counts_nothing_and_is_right_again(db: Database) {
    let first = db.store.given_elicitation(&asked_by("one")).await;
    let second = db.store.given_elicitation(&asked_by("two")).await;
    let both = [first.clone(), second.clone()];
    assert!(mints(&db, &first, "hers", "AAAA").await);
    assert!(mints(&db, &second, "hers-too", "BBBB").await);
    assert_eq!(types(&db, &both, "XXXX", "c", NOW).await, Err(2));
    for _ in 0..5 {
        assert_eq!(types(&db, &both, "AAAA", "c", NOW).await, Ok(first.id));
        assert_eq!(types(&db, &both, "BBBB", "c", NOW).await, Ok(second.id));
    }
    // Right ones give no tries back either.
    assert_eq!(types(&db, &both, "XXXX", "c", NOW).await, Err(1));
    assert_eq!(types(&db, &both, "XXXX", "c", NOW).await, Err(0));
    assert_eq!(types(&db, &[], "AAAA", "c", NOW).await, Err(TRIES));
}

async fn r10_a_code_ends_with_its_minutes_and_its_elicitation(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let one = std::slice::from_ref(&asked);
    assert!(mints(&db, &asked, "hers", "AAAA").await);
    assert!(looks(&db, &asked, "hers", after(299)).await.code.is_some_and(|code| code.waits(after(299))));
    assert!(looks(&db, &asked, "hers", after(300)).await.code.is_none());
    assert_eq!(types(&db, one, "AAAA", "c", after(300)).await, Err(2));
    assert_eq!(types(&db, one, "AAAA", "c", after(299)).await, Ok(asked.id));
    // From then on it lasts as long as its elicitation, and a minute more for the outcome.
    let end = asked.expires_at.plus(Duration::from_secs(60));
    assert!(is_proven(&db, &asked, "hers", end.minus(Duration::from_millis(1))).await);
    assert!(!is_proven(&db, &asked, "hers", end).await);
    assert!(db.store.has_proven_browser(asked.id, after(400)).await.unwrap());
    assert!(!db.store.has_proven_browser(asked.id, end).await.unwrap());
    // The sweeper takes what is over, and nothing else.
    db.store.purge_codes(end.minus(Duration::from_millis(1)), 9).await.unwrap();
    assert!(is_proven(&db, &asked, "hers", after(400)).await);
    db.store.purge_codes(end, 9).await.unwrap();
    assert!(!is_proven(&db, &asked, "hers", after(400)).await);
}

async fn what_may_be_meant_is_open_and_the_clients_own(db: Database) {
    let old = db.store.given_elicitation(&asked_by("")).await;
    let new = NewElicitation { scopes: scopes(&["gist"]), ..asked_by("") };
    let new = db.store.create(&new, after(5)).await.unwrap().elicitation;
    let closed = db.store.given_elicitation(&asked_by("")).await;
    assert!(db.store.close(&closed, State::Cancelled, "test", NOW).await.unwrap());
    db.store.given_elicitation(&asked_by("other")).await;
    db.store.given_elicitation(&NewElicitation { owner: bob(), ..asked_by("") }).await;
    db.store.given_elicitation(&NewElicitation { server: notes(), ..asked_by("") }).await;
    let open =
        async |now| db.store.open_of(&files(), &alice(), &github(), "", now).await.unwrap().into_iter();
    assert_eq!(open(after(6)).await.map(|one| one.id).collect::<Vec<_>>(), [new.id, old.id]);
    assert_eq!(open(old.expires_at).await.count(), 0);
}
