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

use consentry_fakes::Answer;

use self::seed::Keys;
use crate::{
    answers::slots::{connected, renewed, with_user},
    engine::{Database, Engine},
    secrets,
    world::{FILES, World},
};

const USERS: usize = 24;
/// Times that everything is sealed anew under load.
const ROTATIONS: usize = 4;

pub(crate) async fn rotate(store: &Store, vault: &Vault, clock: &Clock) -> keys::Rotation {
    keys::rotate(store, vault, clock, None, &mut |_| ()).await.unwrap()
}

on_both_engines! {
    r101_typed_keys_and_further_tokens_are_sealed_anew,
}

/// R101: what a form holds and every token of a grant lie in one cell each, which goes with the others.
async fn r101_typed_keys_and_further_tokens_are_sealed_anew(database: Database) {
    let keys = Arc::new(Keys::new(&["next"]));
    let (also, service) = (Arc::clone(&keys), secrets::service().await);
    let base = service.base_url().to_owned();
    let world = World::start_with(database, |settings| {
        settings.keys.push(also.key("next"));
        with_user(settings);
        secrets::offer(settings, secrets::form(&base));
    })
    .await;
    let (api, store) = (world.api("files"), &world.database.store);
    connected(&world, 3_600, 3_600).await;
    let link = api.asks("alice", secrets::KEYS).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("secret-form");
    alice.types(secrets::KEY).await.is("connected");
    let handed = async || {
        let grant = api.resolves("alice", FILES).await["credential"].clone();
        assert_eq!(grant["slots"]["user"]["access_token"], "user-1");
        let typed = api.resolves("alice", secrets::KEYS).await["credential"].clone();
        assert_eq!(typed["fields"]["api_key"], secrets::KEY);
        (grant, typed)
    };
    let before = handed().await;

    let text = world.secrets().into_iter().find(|one| one.0 == "the encryption key").unwrap().1;
    let ring = Keys::new(&[]).with("test", &text).with("next", &keys.text("next")).ring(&["next", "test"]);
    assert_eq!(rotate(store, &ring, &world.clock).await.left, []);
    let kept = store.connections(ConnectionFilter::default(), 100).await.unwrap();
    assert_eq!(kept.len(), 2);
    for connection in kept {
        let cells = [Some(&connection.access), connection.refresh.as_ref()];
        for cell in cells.into_iter().flatten() {
            assert_eq!(cell.key_id().as_ref(), Some(ring.current_key()), "{}", connection.provider);
        }
    }
    assert_eq!(handed().await, before);
    // The key takes another in its place.
    let made = api.post("/v1/elicitations", &api.question("alice", secrets::KEYS)).await.expect(201);
    alice.opens(made["elicitation"]["url"].as_str().unwrap()).await.is("already-connected");
    alice.agrees().await.is("secret-form");
    service.add_key("sk_live_another_0123456789", "acct_1", "octocat@example.com");
    alice.types("sk_live_another_0123456789").await.is("connected");
    let typed = api.resolves("alice", secrets::KEYS).await;
    assert_eq!(typed["credential"]["fields"]["api_key"], "sk_live_another_0123456789");
    // And the tokens that were sealed anew still refresh, each by itself.
    world.advance(std::time::Duration::from_secs(3_601));
    world.files.next_token_answer(Answer::genuine());
    world.files.next_token_answer(renewed());
    let after = api.resolves("alice", FILES).await["credential"].clone();
    assert_ne!(after["access_token"], before.0["access_token"]);
    assert_eq!(after["slots"]["user"]["access_token"], "user-2");
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
