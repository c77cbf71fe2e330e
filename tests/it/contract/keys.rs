//! The life of a key, on both engines: taken up, counted, replaced under everything that it sealed, retired.

use std::time::Duration;

use consentry::{
    clock::Clock,
    keys::{self, Barred, Hindrance},
    store::{ConnectionFilter, SEALED_TABLES},
    subject::Subject,
    vault::{Cell, Vault},
};
use uuid::Uuid;

use super::raw::Raw;
use crate::{
    engine::{Database, Engine},
    keys::{
        model, rotate,
        seed::{self, Keys},
    },
};

contract! {
    r101_r102_a_key_comes_and_goes,
    r101_two_that_start_at_once_do_not_both_take_another_key,
    r101_whoever_only_looks_takes_up_no_key,
    r101_a_long_table_is_sealed_anew_and_counted_in_spans,
    a_key_that_comes_back_during_the_count_is_not_retired,
    r101_a_process_does_not_seal_what_another_cannot_open,
    f30_a_rotation_that_died_goes_on,
    r102_what_does_not_open_is_left_and_told,
    r101_every_sealed_cell_is_sealed_anew,
    a_database_of_before_keys_were_noted_is_counted_once,
}

/// The whole life, as an operator goes through it.
async fn r101_r102_a_key_comes_and_goes(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let now = clock.now();
    let (old, both, new) = (keys.ring(&["old"]), keys.ring(&["new", "old"]), keys.ring(&["new"]));
    let alice = Subject::new("https://id.example", "alice").unwrap();
    assert_eq!(keys::enter(store, &old, None, now).await.unwrap(), Ok(()));
    seed::connect(store, &old, ("files", "acme"), &alice, now).await.unwrap();

    // Without the old key nothing starts, also when nothing of it is among the first rows.
    assert_eq!(keys::enter(store, &new, None, now).await.unwrap(), Err(Barred::Missing("old".to_owned())));
    assert_eq!(keys::enter(store, &both, None, now).await.unwrap(), Ok(()));
    let old_id = "old".parse().unwrap();
    let hindrance = keys::retire(store, &both, &old_id, now).await.unwrap().unwrap_err();
    assert!(matches!(hindrance, Hindrance::Rows(2..)), "{hindrance:?}");
    let status = keys::status(store, &both, now).await.unwrap();
    assert_eq!(status.keys[0].hindrance(), Some(Hindrance::First));
    assert_eq!(status.keys[1].rows["connections.access"], 1);
    assert_eq!(status.keys[1].hindrance(), Some(hindrance));

    let rotation = rotate(store, &both, &clock).await;
    assert_eq!((rotation.left.len(), rotation.overtaken), (0, 0));
    assert!(rotation.resealed >= 2);
    assert_eq!(rotate(store, &both, &clock).await.resealed, 0, "once is enough");
    assert_eq!(
        keys::retire(store, &both, &"new".parse().unwrap(), now).await.unwrap(),
        Err(Hindrance::First)
    );
    assert_eq!(
        keys::retire(store, &both, &"nobody".parse().unwrap(), now).await.unwrap(),
        Err(Hindrance::Unknown)
    );
    assert_eq!(keys::retire(store, &both, &old_id, now).await.unwrap(), Ok(()));
    assert_eq!(keys::retire(store, &both, &old_id, now).await.unwrap(), Ok(()), "again is no harm");

    assert_eq!(keys::enter(store, &new, None, now).await.unwrap(), Ok(()), "it can be taken out");
    assert_eq!(
        keys::enter(store, &keys.ring(&["old", "new"]), None, now).await.unwrap(),
        Err(Barred::Retired(old_id))
    );
    let found = store.connections(ConnectionFilter::default(), 9).await.unwrap();
    assert_eq!(seed::opened(&new, &found[0]), seed::token("alice", 1));
}

async fn r101_a_process_does_not_seal_what_another_cannot_open(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let (old, both) = (keys.ring(&["old"]), keys.ring(&["new", "old"]));
    assert_eq!(keys::enter(store, &old, Some(first), clock.now()).await.unwrap(), Ok(()));
    let too_early = keys::enter(store, &both, Some(second), clock.now()).await.unwrap();
    match db.engine {
        Engine::Postgres => assert_eq!(too_early, Err(Barred::NotEverywhere("new".parse().unwrap()))),
        // There is one server; what another left behind is dead.
        Engine::Sqlite => {
            assert_eq!(too_early, Ok(()));
            keys::enter(store, &keys.ring(&["old", "new"]), Some(first), clock.now()).await.unwrap().unwrap();
        }
    }
    // A command works beside whatever serves.
    let third = Keys::new(&["third"]).with("old", &keys.text("old")).with("new", &keys.text("new"));
    let third = third.ring(&["third", "new", "old"]);
    let beside = keys::enter(store, &third, None, clock.now()).await.unwrap();
    assert_eq!(beside, Err(Barred::NotEverywhere("third".parse().unwrap())));
    // Behind the first on every one, then in front, one after the other.
    assert_eq!(
        keys::enter(store, &keys.ring(&["old", "new"]), Some(second), clock.now()).await.unwrap(),
        Ok(())
    );
    store.leave(first).await.unwrap();
    assert_eq!(keys::enter(store, &both, Some(first), clock.now()).await.unwrap(), Ok(()));

    // A process counts as long as it tells that it is there.
    clock.advance(keys::ALIVE + Duration::from_secs(1));
    keys::beat(store, &both, first, clock.now()).await.unwrap();
    let status = keys::status(store, &both, clock.now()).await.unwrap();
    let seal: Vec<usize> = status.keys.iter().map(|key| key.replicas).collect();
    assert_eq!((&seal[..2], status.replicas.len()), (&[1, 0][..], 1));
    // One that was taken for dead, and whose key was retired, is heard again.
    let old_id = "old".parse().unwrap();
    assert_eq!(keys::retire(store, &both, &old_id, clock.now()).await.unwrap(), Ok(()));
    keys::beat(store, &keys.ring(&["old", "new"]), second, clock.now()).await.unwrap();
    assert_eq!(keys::retire(store, &both, &old_id, clock.now()).await.unwrap(), Err(Hindrance::Replicas(1)));
}

/// R101: on an empty database there is no row of a key to wait for, and still the second waits for the first.
async fn r101_two_that_start_at_once_do_not_both_take_another_key(db: Database) {
    let keys = Keys::new(&["one", "two"]);
    let now = Clock::manual().now();
    for _ in 0..10 {
        super::raw::empty(&db).await;
        let starting = ["one", "two"].map(|name| {
            let (store, ring) = (db.store.clone(), keys.ring(&[name]));
            tokio::spawn(async move { keys::enter(&store, &ring, Some(Uuid::from_u128(1)), now).await })
        });
        let mut entered = 0;
        for one in starting {
            entered += usize::from(one.await.unwrap().unwrap().is_ok());
        }
        assert_eq!(entered, 1, "each could not open what the other seals");
    }
}

/// R101: from the moment that a key is noted, nothing starts without it.
async fn r101_whoever_only_looks_takes_up_no_key(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let (old, both) = (keys.ring(&["old"]), keys.ring(&["new", "old"]));
    assert_eq!(keys::fits(store, &old, true, clock.now()).await.unwrap(), Ok(()));
    assert!(store.sealing_keys().await.unwrap().is_empty());
    keys::enter(store, &old, Some(Uuid::from_u128(1)), clock.now()).await.unwrap().unwrap();
    let beside = keys::fits(store, &both, false, clock.now()).await.unwrap();
    assert_eq!(beside, Err(Barred::NotEverywhere("new".parse().unwrap())));
    store.leave(Uuid::from_u128(1)).await.unwrap();
    assert_eq!(keys::fits(store, &both, false, clock.now()).await.unwrap(), Ok(()));
    let new = keys::fits(store, &keys.ring(&["new"]), true, clock.now()).await.unwrap();
    assert_eq!(new, Err(Barred::Missing("old".to_owned())));
    let noted: Vec<String> = store.sealing_keys().await.unwrap().into_iter().map(|key| key.id).collect();
    assert_eq!(noted, ["old"]);
}

/// More rows than one statement looks at, of which the last alone is sealed with an old key.
async fn r101_a_long_table_is_sealed_anew_and_counted_in_spans(db: Database) {
    const MANY: i64 = 10_500;
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let (old, both) = (keys.ring(&["old"]), keys.ring(&["new", "old"]));
    let alice = Subject::new("https://id.example", "alice").unwrap();
    let mine = seed::connect(store, &old, ("files", "acme"), &alice, clock.now()).await.unwrap();
    let mut raw = Raw::connect(&db).await;
    // Of the form of a value of the new key; none of them is opened.
    let value = raw.bytes(&[&[1, 3][..], b"new", &[0; 40]].concat());
    let id = match db.engine {
        Engine::Sqlite => "randomblob(16)",
        Engine::Postgres => "gen_random_uuid()",
    };
    raw.run(&format!(
        "INSERT INTO connections (id, server, issuer, sub, provider, granted, asked, status, generation, grant_number, \
         access, created_at_ms, updated_at_ms) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
         WHERE i < {MANY}) SELECT {id}, 'files', 'https://id.example', 'user-' || i, 'github', 'repo', 'repo', 'active', \
         1, 1, {value}, 0, 0 FROM n"
    ))
    .await;
    // The last of all, whatever the others' ids are.
    let (first, last) = (raw.uuid(mine.id.0), raw.uuid(Uuid::max()));
    raw.run(&format!("UPDATE connections SET id = {last} WHERE id = {first}")).await;
    let counted = async |key: &Vault| {
        let counts = store.count_keys().await.unwrap().into_iter();
        let of = counts.filter(|one| one.key.as_ref() == Some(key.current_key()) && one.is_sealed());
        of.filter(|one| one.cell == "connections.access").map(|one| one.rows).sum::<i64>()
    };
    assert_eq!((counted(&both).await, counted(&old).await), (MANY, 1));
    let page = store.to_reseal("connections", both.current_key(), None, 100).await.unwrap();
    assert_eq!(page.rows.len(), 0);
    let page = store.to_reseal("connections", both.current_key(), page.through, 100).await.unwrap();
    assert_eq!((page.rows.len(), page.rows[0].id, page.through), (1, Uuid::max(), None));
    // Sealed for another id, so that it does not open: it is looked at, told, and left.
    assert_eq!(rotate(store, &both, &clock).await.left.len(), 2);
}

/// What is counted before the turn is counted again when somebody took it meanwhile.
async fn a_key_that_comes_back_during_the_count_is_not_retired(db: Database) {
    const LAST: u128 = 40;
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let both = keys.ring(&["new", "old"]);
    keys::enter(store, &keys.ring(&["old"]), None, clock.now()).await.unwrap().unwrap();
    keys::enter(store, &both, None, clock.now()).await.unwrap().unwrap();
    let old = "old".parse().unwrap();
    let mut refused = 0;
    // From one that has not begun to one that is over, whatever a step is on a machine that does something else.
    for polls in 0..=LAST {
        // A retirement that has come so far when another process begins to serve with the key in front.
        let mut retiring = Box::pin(keys::retire(store, &both, &old, clock.now()));
        let mut retired = None;
        if polls == LAST {
            retired = Some(retiring.as_mut().await);
        }
        for _ in 0..polls {
            if retired.is_some() {
                break;
            }
            if let std::task::Poll::Ready(done) = futures_util::poll!(retiring.as_mut()) {
                retired = Some(done);
            }
            tokio::task::yield_now().await;
        }
        let (serving, front) = (Uuid::from_u128(polls), keys.ring(&["old", "new"]));
        let entering = keys::enter(store, &front, Some(serving), clock.now());
        let (entered, retired) = match retired {
            Some(retired) => (entering.await, retired),
            None if polls == 0 => (entering.await, retiring.await),
            None => tokio::join!(entering, retiring),
        };
        let (entered, retired) = (entered.unwrap(), retired.unwrap());
        assert_ne!(entered.is_ok(), retired.is_ok(), "either it is retired, or it seals");
        refused += usize::from(retired.is_err());
        super::raw::empty(&db).await;
        keys::enter(store, &keys.ring(&["old"]), None, clock.now()).await.unwrap().unwrap();
        keys::enter(store, &both, None, clock.now()).await.unwrap().unwrap();
    }
    assert!((1..=LAST as usize).contains(&refused), "{refused}");
}

/// F30: dropped after any number of steps, as by kill -9, it goes on where it was, and everything opens meanwhile.
async fn f30_a_rotation_that_died_goes_on(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let (old, both) = (keys.ring(&["old"]), keys.ring(&["new", "old"]));
    for user in 0..30 {
        let owner = Subject::new("https://id.example", format!("user-{user}")).unwrap();
        seed::connect(store, &old, ("files", "acme"), &owner, clock.now()).await.unwrap();
    }
    let mut total = 0;
    for polls in [1, 3, 5, 9, 17, 33] {
        let mut ignored = |_| ();
        model::dies(keys::rotate(store, &both, &clock, None, &mut ignored), polls).await;
        for connection in store.connections(ConnectionFilter::default(), 100).await.unwrap() {
            seed::opened(&both, &connection);
        }
    }
    for count in store.count_keys().await.unwrap() {
        total += if count.key.as_ref() == Some(both.current_key()) { count.rows } else { 0 };
    }
    let rotation = rotate(store, &both, &clock).await;
    assert_eq!(rotation.left, []);
    // What SQLite was told to write when the future was dropped may have come after the count.
    assert!(rotation.resealed + total <= 60, "nothing twice");
    assert!(store.resealings().await.unwrap().iter().all(|one| one.finished_at.is_some()));
}

/// R102: it is not deleted, not overwritten, and keeps its key from being retired.
async fn r102_what_does_not_open_is_left_and_told(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let (old, both) = (keys.ring(&["old"]), keys.ring(&["new", "old"]));
    keys::enter(store, &old, None, clock.now()).await.unwrap().unwrap();
    let owner = |name: &str| Subject::new("https://id.example", name).unwrap();
    let good = seed::connect(store, &old, ("files", "acme"), &owner("good"), clock.now()).await.unwrap();
    let bad = seed::connect(store, &old, ("files", "acme"), &owner("bad"), clock.now()).await.unwrap();
    // Another row's value, as somebody who writes to the database would put it.
    let row = store.to_reseal("connections", both.current_key(), None, 10).await.unwrap();
    let row = row.rows.iter().find(|row| row.id == bad.id.0).unwrap();
    let cell = consentry::vault::Cell::ConnectionAccess;
    assert!(store.reseal(cell, row, &bad.access, &good.access).await.unwrap());
    assert!(!store.reseal(cell, row, &bad.access, &good.access).await.unwrap(), "only over what was read");

    keys::enter(store, &both, None, clock.now()).await.unwrap().unwrap();
    let rotation = rotate(store, &both, &clock).await;
    assert_eq!(rotation.left.len(), 1);
    assert_eq!((rotation.left[0].cell.as_str(), rotation.left[0].rows), ("connections.access", 1));
    let stored = store.connection(&bad.server, bad.id).await.unwrap().unwrap();
    assert_eq!(stored.access, good.access);
    let hindrance = keys::retire(store, &both, &"old".parse().unwrap(), clock.now()).await.unwrap();
    assert_eq!(hindrance, Err(Hindrance::Rows(1)));
}

/// R101: one value in each cell of the register; each is found, sealed anew and opens.
async fn r101_every_sealed_cell_is_sealed_anew(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let (old, both, new) = (keys.ring(&["old"]), keys.ring(&["new", "old"]), keys.ring(&["new"]));
    let (alice, bob) = ("alice", "bob").map_both(|sub| Subject::new("https://id.example", sub).unwrap());
    seed::connect(store, &old, ("files", "acme"), &alice, clock.now()).await.unwrap();
    let (asked, attempt) = seed::attempt(store, &old, ("files", "acme"), &bob, clock.now()).await;
    let cell = |column| seed::attempt_place(&asked, attempt, column);
    let (parked, offer) = (old.seal(&cell("parked"), b"parked"), old.seal(&cell("offer"), b"an offer"));
    let revoked = Uuid::from_u128(7);
    let token =
        consentry::vault::Place { table: "revocations", column: "token", row: revoked, ..cell("parked") };
    let token = old.seal(&token, b"a token");
    let mut raw = Raw::connect(&db).await;
    let (parked, offer, token) =
        (raw.bytes(parked.as_bytes()), raw.bytes(offer.as_bytes()), raw.bytes(token.as_bytes()));
    let id = raw.uuid(attempt.0);
    raw.run(&format!("UPDATE attempts SET parked = {parked}, offer = {offer} WHERE id = {id}")).await;
    let id = raw.uuid(revoked);
    raw.run(&format!(
        "INSERT INTO revocations (id, connection, server, issuer, sub, provider, token, hint, state, tries, next_at_ms, \
         created_at_ms) VALUES ({id}, {id}, 'files', 'https://id.example', 'bob', 'acme', {token}, 'access_token', 'due', \
         0, 0, 0)"
    ))
    .await;

    let client =
        consentry::registration::secret_place(revoked, "files", "https://id.tools.example", "tools", 1);
    let client = raw.bytes(old.seal(&client, b"a secret").as_bytes());
    raw.run(&format!(
        "INSERT INTO client_registrations (id, issuer, redirect_uri, server, provider, generation, client_id, secret, refusals, \
         claimed_until_ms, next_at_ms, created_at_ms) VALUES ({id}, 'https://id.tools.example', 'https://a.example/', 'files', \
         'tools', 1, 'client', {client}, 0, 0, 0, 0)"
    ))
    .await;

    let sealed = async |vault: &Vault| {
        let counts = store.count_keys().await.unwrap().into_iter();
        let mine = counts.filter(|one| one.key.as_ref() == Some(vault.current_key()) && one.is_sealed());
        let mut cells: Vec<String> = mine.map(|one| one.cell).collect();
        cells.sort();
        cells
    };
    let mut all: Vec<&str> = Cell::ALL.iter().map(|cell| cell.name()).collect();
    all.sort_unstable();
    assert_eq!(sealed(&old).await, all);
    assert_eq!(rotate(store, &both, &clock).await.left, []);
    assert_eq!(
        (sealed(&old).await.len(), sealed(&new).await),
        (0, all.iter().map(|name| (*name).to_owned()).collect())
    );
    let stored = store.attempt(asked.id, attempt).await.unwrap().unwrap();
    for (column, value, plain) in [
        ("verifier", stored.verifier, &b"a verifier"[..]),
        ("parked", stored.parked, b"parked"),
        ("offer", stored.offer, b"an offer"),
    ] {
        assert_eq!(new.open(&cell(column), &value.unwrap()).unwrap().expose(), plain);
    }
    let registration =
        store.registration("https://id.tools.example", "https://a.example/").await.unwrap().unwrap();
    let secret = registration.secret.as_ref().unwrap();
    assert_eq!(new.open(&registration.place(), secret).unwrap().expose(), b"a secret");
    let tables: std::collections::BTreeSet<&str> = Cell::ALL.iter().map(|cell| cell.table()).collect();
    assert_eq!(tables, SEALED_TABLES.into_iter().collect());
}

/// A pair, each through the same function.
trait Both<T> {
    fn map_both<U>(self, each: impl Fn(T) -> U) -> (U, U);
}

impl<T> Both<T> for (T, T) {
    fn map_both<U>(self, each: impl Fn(T) -> U) -> (U, U) {
        (each(self.0), each(self.1))
    }
}

/// R102: also a key of which nothing was noted must be there.
async fn a_database_of_before_keys_were_noted_is_counted_once(db: Database) {
    let keys = Keys::new(&["old", "new"]);
    let (clock, store) = (Clock::manual(), &db.store);
    let alice = Subject::new("https://id.example", "alice").unwrap();
    seed::connect(store, &keys.ring(&["old"]), ("files", "acme"), &alice, clock.now()).await.unwrap();
    assert!(store.sealing_keys().await.unwrap().is_empty());
    let entered = keys::enter(store, &keys.ring(&["new"]), None, clock.now()).await.unwrap();
    assert_eq!(entered, Err(Barred::Missing("old".to_owned())));
}

/// Whatever holds bytes is in the register of sealed cells, or is known to hold none that are sealed.
#[tokio::test]
async fn r98_every_column_of_bytes_is_sealed_or_known_not_to_be() {
    const NOT_SEALED: [&str; 16] = [
        "attempts.fingerprint",
        "attempts.state_hash",
        "attempts.binding_hash",
        "attempts.page_code_hash",
        "audit.previous",
        "audit.tag",
        "browser_codes.code_tag",
        "browser_codes.cookie_hash",
        "code_tries.client_hash",
        "connections.fingerprint",
        "elicitations.reuse_key",
        "idempotency_keys.body_hash",
        "idempotency_keys.key_hash",
        "revocations.fingerprint",
        "sessions.id_hash",
        "webhook_receivers.url_hash",
    ];
    let db = Database::start(Engine::Postgres).await;
    let columns = "SELECT table_name || '.' || column_name FROM information_schema.columns \
                   WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name <> '_sqlx_migrations' ORDER BY 1";
    for column in Raw::connect(&db).await.texts(columns).await {
        let is_sealed = Cell::ALL.iter().any(|cell| cell.name() == column);
        let is_known = NOT_SEALED.contains(&column.as_str());
        assert!(
            is_sealed != is_known,
            "{column}: put it into the register of `vault/cell.rs`, or in this list"
        );
    }
}
