//! Changing the key while everything runs: nothing ever fails to open, and no key goes that something needs.

pub(crate) mod model;
pub(crate) mod seed;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use consentry::{
    clock::Clock,
    keys::{self, Hindrance},
    store::{ConnectionFilter, Store},
    subject::Subject,
    vault::Vault,
};

use self::seed::Keys;
use crate::{
    engine::{Database, Engine},
    world::{FILES, World},
};

const USERS: usize = 24;
/// Times that everything is sealed anew under load.
const ROTATIONS: usize = 4;

pub(crate) async fn rotate(store: &Store, vault: &Vault, clock: &Clock) -> keys::Rotation {
    keys::rotate(store, vault, clock, None, &mut |_| ()).await.unwrap()
}

/// F30, R101: two servers whose rings are in different order, callers on both, reconnections sealed by either, and the
/// key changed back and forth meanwhile. Every call is answered with the right token.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f30_r101_the_key_changes_under_load_on_two_replicas() {
    let keys = Arc::new(Keys::new(&["next"]));
    let database = Database::start(Engine::Postgres).await;
    let also = Arc::clone(&keys);
    let world = World::start_with(database, |settings| settings.keys.push(also.key("next"))).await;
    let replica = world.replica_with(|settings| settings.keys.insert(0, also.key("next"))).await;
    let text = world.secrets().into_iter().find(|one| one.0 == "the encryption key").unwrap().1;
    let keys = Keys::new(&[]).with("test", &text).with("next", &keys.text("next"));
    let rings = [keys.ring(&["test", "next"]), keys.ring(&["next", "test"])];

    let owner = |user: usize| Subject::new(world.id.base_url(), format!("user-{user}")).unwrap();
    let (store, now) = (&world.database.store, world.clock.now());
    for user in 0..USERS {
        seed::connect(store, &rings[user % 2], ("files", FILES), &owner(user), now).await.unwrap();
    }

    let done = Arc::new(AtomicBool::new(false));
    let answers = Arc::new(AtomicUsize::new(0));
    let mut working = tokio::task::JoinSet::new();
    for caller in 0..6 {
        let api = if caller % 2 == 0 { world.api("files") } else { world.api_at(&replica, "files") };
        let (done, answers) = (Arc::clone(&done), Arc::clone(&answers));
        working.spawn(async move {
            let mut user = caller;
            while !done.load(Ordering::Relaxed) {
                user = (user + 1) % USERS;
                let sub = format!("user-{user}");
                let answer = api.resolves(&sub, FILES).await;
                assert_eq!(answer["status"], "ready", "{answer}");
                let generation = answer["connection"]["generation"].as_i64().unwrap();
                assert_eq!(answer["credential"]["access_token"], seed::token(&sub, generation));
                answers.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    working.spawn({
        let (done, store, rings) = (Arc::clone(&done), store.clone(), rings.clone());
        let owners: Vec<Subject> = (0..USERS).map(owner).collect();
        async move {
            for turn in (0..).take_while(|_| !done.load(Ordering::Relaxed)) {
                let owner = &owners[turn % USERS];
                seed::connect(&store, &rings[turn % 2], ("files", FILES), owner, now).await.unwrap();
            }
        }
    });
    for turn in 0..ROTATIONS {
        let before = answers.load(Ordering::Relaxed);
        rotate(store, &rings[(turn + 1) % 2], &world.clock).await;
        world.until(async || answers.load(Ordering::Relaxed) > before + 50).await;
    }
    done.store(true, Ordering::Relaxed);
    while let Some(ended) = working.join_next().await {
        ended.unwrap();
    }

    assert_eq!(rotate(store, &rings[1], &world.clock).await.left, []);
    for connection in store.connections(ConnectionFilter::default(), 100).await.unwrap() {
        assert_eq!(connection.access.key_id().as_ref(), Some(rings[1].current_key()));
        assert_eq!(
            seed::opened(&rings[1], &connection),
            seed::token(&connection.owner.sub, connection.generation)
        );
    }
    // The world's own server still seals with it.
    let test = "test".parse().unwrap();
    let hindrance = keys::retire(store, &rings[1], &test, world.clock.now()).await.unwrap();
    assert_eq!(hindrance, Err(Hindrance::Replicas(1)));
    replica.stops().await;
}
