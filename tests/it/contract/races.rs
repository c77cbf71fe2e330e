//! Races: the database decides who wins, and whoever loses is told so and has changed nothing.
//!
//! Each runs many rounds, on two replicas of one database, with everybody let go at the same moment. A deadlock is
//! a failure: every move takes its rows in one order.

use std::{future::Future, sync::Arc, time::Duration};

use consentry::{
    clock::Millis,
    connection::ConnectionId,
    elicitation::{AttemptState, Claimed, Elicitation, ElicitationId, NewElicitation, Outcome, State},
    signal::Kind,
    store::{CreatedOnce, Idempotency, Mint, Settled, Store},
};
use tokio::{sync::Barrier, task::JoinSet};

use super::{
    codes::{is_proven, mints_over, types_at},
    given::*,
};
use crate::engine::Database;

on_both_engines! {
    r9_r59_one_of_many_callbacks_wins,
    equal_questions_at_once_are_one_elicitation,
    asking_again_while_it_is_declined_never_fails,
    r9_decline_settlement_and_expiry_end_it_once,
    two_tabs_of_one_link_settle_once,
    two_links_of_one_person_settle_once,
    closing_and_claiming_do_not_wait_in_a_circle,
    closing_and_taking_an_offer_do_not_wait_in_a_circle,
    r3_a_code_is_typed_while_its_browser_asks_for_another,
    r3_of_two_right_codes_at_once_one_browser_is_the_owners,
    r84_disconnecting_wins_over_a_settlement_under_way,
    r112_one_of_many_with_a_key_makes_it,
}

const ROUNDS: usize = 50;

/// Runs everybody's move at the same moment and gives what came of each, in their order.
struct Racers<T> {
    ready: Arc<Barrier>,
    tasks: JoinSet<(usize, T)>,
    count: usize,
}

impl<T: Send + 'static> Racers<T> {
    fn new(count: usize) -> Self {
        Self { ready: Arc::new(Barrier::new(count)), tasks: JoinSet::new(), count: 0 }
    }

    fn add(&mut self, racing: impl Future<Output = T> + Send + 'static) {
        let (ready, place) = (Arc::clone(&self.ready), self.count);
        self.count += 1;
        self.tasks.spawn(async move {
            ready.wait().await;
            (place, racing.await)
        });
    }

    async fn run(mut self) -> Vec<T> {
        let mut all = Vec::new();
        while let Some(one) = self.tasks.join_next().await {
            all.push(one.unwrap());
        }
        all.sort_by_key(|one| one.0);
        all.into_iter().map(|one| one.1).collect()
    }
}

/// A future that owns its store.
macro_rules! with {
    ($store:expr, |$owned:ident| $body:expr) => {{
        let $owned = $store.clone();
        async move { $body }
    }};
}

async fn settle(
    store: &Store,
    claimed: &Claimed,
    account: &str,
    over: Option<(ConnectionId, i64)>,
    now: Millis,
) -> Settled {
    let generation = over.map_or(1, |(_, generation)| generation + 1);
    store.settle(&settling(claimed, credential(account, generation), over), now).await.unwrap()
}

/// How often each elicitation's end was told.
async fn ends(store: &Store, asked: &Elicitation) -> Vec<Kind> {
    let told = store.told(&asked.server).await;
    told.into_iter().filter(|one| one.1 == Some(asked.id)).map(|one| one.0).collect()
}

async fn r9_r59_one_of_many_callbacks_wins(db: Database) {
    let stores = [db.store.clone(), db.replica().await];
    for _ in 0..4 {
        let asked = db.store.given_elicitation(&asked_by("")).await;
        let attempt = db.store.given_attempt(&asked, NOW).await;
        let mut racers = Racers::new(50);
        for at in 0..50 {
            let (mine, attempt) = (owned(&asked), attempt.clone());
            racers.add(with!(stores[at % 2], |store| store
                .claim(mine, &attempt, NOW)
                .await
                .unwrap()
                .is_some()));
        }
        let won = racers.run().await.into_iter().filter(|won| *won).count();
        assert_eq!(won, 1);
    }
}

async fn equal_questions_at_once_are_one_elicitation(db: Database) {
    let stores = [db.store.clone(), db.replica().await];
    for round in 0..10 {
        let mut racers = Racers::new(8);
        for at in 0..8 {
            let new = asked_by(&format!("round {round}"));
            racers.add(with!(stores[at % 2], |store| store.create(&new, NOW).await.unwrap()));
        }
        let made = racers.run().await;
        assert_eq!(made.iter().filter(|one| one.is_new).count(), 1);
        assert!(made.iter().all(|one| one.elicitation.id == made[0].elicitation.id));
    }
}

async fn asking_again_while_it_is_declined_never_fails(db: Database) {
    let replica = db.replica().await;
    for _ in 0..ROUNDS {
        let current = db.store.create(&asked(), NOW).await.unwrap().elicitation;
        let mut racers: Racers<Option<ElicitationId>> = Racers::new(3);
        let mine = owned_open(&current);
        racers.add(with!(db.store, |store| {
            assert!(store.decline(&mine, NOW).await.unwrap());
            None
        }));
        for _ in 0..2 {
            racers
                .add(with!(replica, |store| Some(store.create(&asked(), NOW).await.unwrap().elicitation.id)));
        }
        racers.run().await;
        assert_eq!(ends(&db.store, &current).await, [Kind::ElicitationDeclined]);
    }
}

/// Three replicas whose clocks differ: to one it is open, to one it has just expired, to one its minute is over.
async fn r9_decline_settlement_and_expiry_end_it_once(db: Database) {
    let replica = db.replica().await;
    for round in 0..ROUNDS {
        let alone = format!("round-{round}").parse().unwrap();
        let asked = db.store.given_elicitation(&NewElicitation { provider: alone, ..asked() }).await;
        let expiry = asked.expires_at;
        let claimed = db.store.given_claimed(&asked, expiry.minus(Duration::from_secs(1))).await;
        let mut racers = Racers::new(3);
        let mine = owned_open(&asked);
        racers.add(with!(db.store, |store| {
            let last = expiry.minus(Duration::from_millis(1));
            store.decline(&mine, last).await.unwrap()
        }));
        racers.add(with!(replica, |store| matches!(
            settle(&store, &claimed, "octocat", None, expiry).await,
            Settled::Done { .. }
        )));
        let id = asked.id;
        racers.add(with!(db.store, |store| {
            store.expire(id, expiry.plus(Duration::from_secs(60))).await.unwrap()
        }));
        let won = racers.run().await;
        let winner = won.iter().position(|won| *won).expect("somebody ends it");
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        let end = [State::Declined, State::Completed, State::Expired][winner];
        assert_eq!(db.store.again(&asked).await.stored, end);
        assert_eq!(ends(&db.store, &asked).await, [ending(end)]);
        let stored = db.store.connection_for(&files(), &alice(), &asked.provider).await.unwrap();
        assert_eq!(stored.is_some(), end == State::Completed);
    }
}

async fn two_tabs_of_one_link_settle_once(db: Database) {
    let replica = db.replica().await;
    for round in 0..ROUNDS {
        let alone = format!("round-{round}").parse().unwrap();
        let asked = db.store.given_elicitation(&NewElicitation { provider: alone, ..asked() }).await;
        let first = db.store.given_claimed(&asked, NOW).await;
        let second = db.store.given_claimed(&asked, NOW).await;
        let mut racers = Racers::new(2);
        racers.add(with!(db.store, |store| settle(&store, &first, "octocat", None, NOW).await));
        racers.add(with!(replica, |store| settle(&store, &second, "hubot", None, NOW).await));
        let came = racers.run().await;
        let done = came.iter().filter(|one| matches!(one, Settled::Done { .. })).count();
        assert_eq!(done, 1, "{came:?}");
        assert_eq!(ends(&db.store, &asked).await, [Kind::ElicitationCompleted]);
    }
}

async fn two_links_of_one_person_settle_once(db: Database) {
    let replica = db.replica().await;
    for round in 0..ROUNDS {
        let alone: consentry::elicitation::ProviderId = format!("round-{round}").parse().unwrap();
        let one = NewElicitation { provider: alone.clone(), ..asked_by("1") };
        let two = NewElicitation { provider: alone.clone(), ..asked_by("2") };
        let (one, two) = (db.store.given_elicitation(&one).await, db.store.given_elicitation(&two).await);
        let first = db.store.given_claimed(&one, NOW).await;
        let second = db.store.given_claimed(&two, NOW).await;
        let mut racers = Racers::new(2);
        racers.add(with!(db.store, |store| settle(&store, &first, "octocat", None, NOW).await));
        racers.add(with!(replica, |store| settle(&store, &second, "hubot", None, NOW).await));
        let came = racers.run().await;
        assert_eq!(came.iter().filter(|one| matches!(one, Settled::Done { .. })).count(), 1, "{came:?}");
        for asked in [&one, &two] {
            assert_eq!(ends(&db.store, asked).await, [Kind::ElicitationCompleted], "each is told once");
        }
    }
}

async fn closing_and_claiming_do_not_wait_in_a_circle(db: Database) {
    let replica = db.replica().await;
    for _ in 0..ROUNDS {
        let asked = db.store.given_elicitation(&asked_by("")).await;
        let claiming = db.store.given_attempt(&asked, NOW).await;
        let spending = db.store.given_claimed(&asked, NOW).await.attempt;
        let mut racers = Racers::new(4);
        let mine = owned_open(&asked);
        racers.add(with!(db.store, |store| store.decline(&mine, NOW).await.unwrap()));
        let (mine, attempt) = (owned(&asked), claiming.clone());
        racers.add(with!(replica, |store| store.claim(mine, &attempt, NOW).await.unwrap().is_some()));
        let attempt = spending.clone();
        racers.add(with!(replica, |store| {
            store.spend(&attempt, AttemptState::Claimed, Outcome::Denied, None, NOW).await.unwrap()
        }));
        let (mine, new) = (owned_open(&asked), trip(NOW));
        racers.add(with!(db.store, |store| store.begin(&mine, &new, NOW).await.unwrap()));
        let won = racers.run().await;
        assert!(won[0] && won[2], "only claiming and beginning need it open");
        let claimed = db.store.attempt_now(&claiming).await;
        let expected = if won[1] { AttemptState::Claimed } else { AttemptState::Settled };
        assert_eq!(claimed.state, expected);
        assert_eq!(ends(&db.store, &asked).await, [Kind::ElicitationDeclined]);
    }
}

async fn closing_and_taking_an_offer_do_not_wait_in_a_circle(db: Database) {
    let replica = db.replica().await;
    let mut current = db.store.given_connection("octocat").await;
    for _ in 0..ROUNDS {
        let asked = db.store.given_elicitation(&asked_by("")).await;
        let offered = db.store.given_offered(&asked, NOW).await;
        let other = db.store.given_attempt(&asked, NOW).await;
        let over = Some((current.id, current.generation));
        let mut racers = Racers::new(3);
        let mine = owned_open(&asked);
        racers.add(with!(db.store, |store| store.decline(&mine, NOW).await.unwrap()));
        let (mine, generation) = (owned(&asked), current.generation + 1);
        racers.add(with!(replica, |store| {
            let settlement = consentry::store::Settlement {
                from: AttemptState::Offered,
                mine: &mine,
                attempt: &offered,
                connection: credential("hubot", generation),
                over,
                outcome: Outcome::Connected,
            };
            matches!(store.settle(&settlement, NOW).await.unwrap(), Settled::Done { .. })
        }));
        let mine = owned(&asked);
        racers.add(with!(db.store, |store| {
            store.claim(mine, &other, NOW).await.unwrap();
            false
        }));
        let won = racers.run().await;
        assert!(won[0] != won[1], "{won:?}");
        let end = if won[0] { State::Declined } else { State::Completed };
        assert_eq!(ends(&db.store, &asked).await, [ending(end)]);
        current = db.store.connection(&files(), current.id).await.unwrap().unwrap();
        assert_eq!(current.generation == generation, won[1]);
    }
}

/// Either the code that was typed is proven and its browser keeps it, or it is gone and the browser shows the other.
async fn r3_a_code_is_typed_while_its_browser_asks_for_another(db: Database) {
    let replica = db.replica().await;
    for round in 0..ROUNDS {
        let asked = db.store.given_elicitation(&asked_by("")).await;
        let (old, new) = (format!("old {round}"), format!("new {round}"));
        assert_eq!(mints_over(&db.store, &asked, &old, "AAAA", None).await, Mint::Done);
        let mut racers = Racers::new(2);
        let (one, former, cookie) = (asked.clone(), old.clone(), new.clone());
        racers.add(with!(db.store, |store| {
            mints_over(&store, &one, &cookie, "BBBB", Some(&former)).await == Mint::Done
        }));
        let one = asked.clone();
        racers.add(with!(replica, |store| types_at(&store, &[one], "AAAA", "c", NOW).await.is_ok()));
        let [minted, proven] = racers.run().await[..] else { panic!("two raced") };
        assert_ne!(minted, proven);
        assert_eq!(is_proven(&db, &asked, &old, NOW).await, proven);
        let typed = types_at(&db.store, std::slice::from_ref(&asked), "BBBB", "d", NOW).await;
        assert_eq!(typed.is_ok(), minted);
    }
}

async fn r3_of_two_right_codes_at_once_one_browser_is_the_owners(db: Database) {
    let replica = db.replica().await;
    for round in 0..ROUNDS {
        let asked = db.store.given_elicitation(&asked_by("")).await;
        let cookies = [format!("first {round}"), format!("second {round}")];
        let mut racers = Racers::new(2);
        for (at, (cookie, shown)) in cookies.iter().zip(["AAAA", "BBBB"]).enumerate() {
            assert_eq!(mints_over(&db.store, &asked, cookie, shown, None).await, Mint::Done);
            let (one, store) = (asked.clone(), if at == 0 { &db.store } else { &replica });
            racers.add(with!(store, |store| types_at(&store, &[one], shown, shown, NOW).await.is_ok()));
        }
        assert_eq!(racers.run().await, [true, true]);
        let first = is_proven(&db, &asked, &cookies[0], NOW).await;
        assert_ne!(first, is_proven(&db, &asked, &cookies[1], NOW).await);
    }
}

async fn r84_disconnecting_wins_over_a_settlement_under_way(db: Database) {
    let replica = db.replica().await;
    for _ in 0..ROUNDS {
        let connection = db.store.given_connection("octocat").await;
        let over = Some((connection.id, connection.generation));
        let asked = db.store.given_elicitation(&asked_by("")).await;
        let pending = db.store.given_elicitation(&asked_by("")).await;
        let claimed = db.store.given_claimed(&asked, NOW).await;
        let mut racers = Racers::new(3);
        racers.add(with!(db.store, |store| {
            store.disconnect(&files(), connection.id, "by_user", |_| None, NOW).await.unwrap().is_some()
        }));
        racers.add(with!(replica, |store| matches!(
            settle(&store, &claimed, "octocat", over, NOW).await,
            Settled::Done { .. }
        )));
        let mine = owned_open(&pending);
        racers.add(with!(replica, |store| store.decline(&mine, NOW).await.unwrap()));
        let won = racers.run().await;
        assert!(won[0]);
        assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
        let end = if won[1] { State::Completed } else { State::Cancelled };
        assert_eq!(ends(&db.store, &asked).await, [ending(end)]);
        assert_eq!(ends(&db.store, &pending).await.len(), 1);
    }
}

async fn r112_one_of_many_with_a_key_makes_it(db: Database) {
    let stores = [db.store.clone(), db.replica().await];
    let mut racers = Racers::new(20);
    for at in 0..20 {
        racers.add(with!(stores[at % 2], |store| {
            let key = Idempotency { key: digest("key"), body: digest("body") };
            match store.create_once(&asked_by(""), key, NOW).await.unwrap() {
                CreatedOnce::Now(made) => (true, made.elicitation.id),
                CreatedOnce::Before(before) => (false, before.id),
            }
        }));
    }
    let came = racers.run().await;
    assert_eq!(came.iter().filter(|one| one.0).count(), 1);
    assert!(came.iter().all(|one| one.1 == came[0].1));
}
