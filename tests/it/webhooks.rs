//! Webhooks end to end: what receivers get, when, and what they can do to one another, which is nothing.

pub(crate) mod receiver;
mod signature;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use consentry::{delivery::State, signals::Event};
use consentry_client::{EventKind, webhook};
use consentry_fakes::{Answer, Gate, Provider};
use serde_json::json;

use self::receiver::{Receivers, SECRETS, secret};
use crate::{
    engine::Database,
    world::{FILES, Link, World, link},
};

on_both_engines!(
    r113_r115_what_is_sent_is_signed_and_holds_no_secret,
    f31_a_receiver_that_is_away_for_hours_misses_nothing,
    f32_a_receiver_that_hangs_delays_no_other,
    f33_a_redirect_is_a_failure_and_is_never_followed,
    f33_a_receiver_that_says_410_gets_nothing_more_until_it_is_enabled,
    f33_what_a_receiver_asks_for_is_heeded,
    f34_what_was_posted_and_not_noted_comes_again_with_the_same_id_and_a_new_timestamp,
    f35_every_post_verifies_while_the_secret_changes,
    f36_what_is_given_up_is_a_dead_letter_and_can_be_replayed,
    r115_nothing_is_posted_once_the_webhook_is_removed,
    r114_every_ending_is_posted_exactly_once,
);

/// R113, R115: each verifies, the first try is at once, and neither a token nor a label is in it.
async fn r113_r115_what_is_sent_is_signed_and_holds_no_secret(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await.is("sign-in");
    alice.signs_in("alice").await.is("ready");
    alice.connects("octocat").await.is("connected");
    let posts = receivers.files.posts(2).await;
    let resolved = world.api("files").resolves("alice", FILES).await;
    let text = |pointer: &str| resolved.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let store = &world.database.store;
    let signals = store.signals_after(&"files".parse().unwrap(), 0, 100).await.unwrap();
    assert_eq!(posts.len(), signals.len());
    for post in &posts {
        let event = post.verified(&[SECRETS[0]], world.clock.now());
        let told = signals.iter().find(|told| told.sequence.unsigned_abs() == event.data.sequence).unwrap();
        let told = serde_json::to_value(Event::from(told)).unwrap();
        assert_eq!(post.json(), told, "the same in every channel");
        let mut canaries = world.secrets();
        canaries.extend(SECRETS.map(|name| ("a webhook secret", secret(name))));
        canaries.push(("a token", text("/credential/access_token")));
        canaries.push(("a label", text("/connection/account/label")));
        canaries.push(("an account", text("/connection/account/id")));
        for token in world.files.token_log() {
            canaries.extend(token.code.map(|code| ("a code", code)));
        }
        let whole = post.everything();
        for (what, canary) in canaries {
            let bare = canary.trim_start_matches("whsec_");
            assert!(!whole.contains(bare), "{what} is in {whole}");
        }
    }
    let completed = posts.iter().map(|post| post.verified(&[SECRETS[0]], world.clock.now()));
    let completed: Vec<_> = completed.filter(|event| event.kind == EventKind::ElicitationCompleted).collect();
    assert_eq!(completed[0].data.elicitation_id.as_deref(), Some(link.id.as_str()));
    assert!(receivers.notes.sink.log().is_empty(), "another tenant's receiver");
}

/// F31: down for hours, then up: everything is delivered, at the latest when the schedule says.
async fn f31_a_receiver_that_is_away_for_hours_misses_nothing(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    receivers.files.sink.accept_connections(false).await.unwrap();
    let mut asked = BTreeSet::new();
    for n in 0..20 {
        asked.insert(cancelled(&world, &format!("s{n}")).await);
        world.advance(Duration::from_mins(9));
    }
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            let due = world.database.store.deliveries(None, Some(State::Due), 100).await.unwrap();
            due.iter().all(|one| one.tries >= 4)
        })
        .await;
    receivers.files.sink.accept_connections(true).await.unwrap();
    let told = async || {
        receivers.comes_round(&world).await;
        receivers.files.elicitations().is_superset(&asked)
    };
    world.until(told).await;
    assert!(world.database.store.deliveries(None, Some(State::Dead), 10).await.unwrap().is_empty());
}

/// F32: with every hand at a receiver that does not answer, another's post comes at once.
async fn f32_a_receiver_that_hangs_delays_no_other(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    let gate = Gate::shut();
    receivers.files.sink.always_answer(Answer::genuine().held(&gate));
    for n in 0..12 {
        cancelled(&world, &format!("s{n}")).await;
    }
    let hands = usize::try_from(world.settings().webhooks.concurrent).unwrap();
    receivers.files.posts(hands).await;
    let api = world.api("notes");
    let link = api.asks("alice", FILES).await;
    api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
    receivers.notes.posts(1).await;
    assert_eq!(receivers.files.sink.log().len(), hands, "no more at once than the settings say");
    gate.open();
    receivers.files.posts(12).await;
}

async fn f33_a_redirect_is_a_failure_and_is_never_followed(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    let elsewhere = Provider::start(consentry_fakes::Listen::default()).await.unwrap();
    for status in [301, 302, 307, 308] {
        let answer = Answer::status(status).header("location", elsewhere.base_url());
        receivers.files.sink.next_answer(answer);
    }
    let id = cancelled(&world, "s").await;
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            receivers.files.sink.log().len() >= 5
        })
        .await;
    assert!(elsewhere.log().is_empty());
    assert!(receivers.files.elicitations().contains(&id));
    let ids: BTreeSet<String> = receivers.files.posts(5).await.iter().map(|post| post.id()).collect();
    assert_eq!(ids.len(), 1, "one id over all tries");
}

async fn f33_a_receiver_that_says_410_gets_nothing_more_until_it_is_enabled(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    receivers.files.sink.always_answer(Answer::status(410));
    cancelled(&world, "first").await;
    receivers.files.posts(1).await;
    let store = &world.database.store;
    let files = "files".parse().unwrap();
    let receiver = receivers.files.hash();
    world.until(|| async { store.receiver_disabled(&files, &receiver).await.unwrap().is_some() }).await;
    receivers.files.sink.answer_normally();
    let second = cancelled(&world, "second").await;
    for _ in 0..20 {
        world.advance(Duration::from_hours(1));
        tokio::task::yield_now().await;
    }
    assert_eq!(receivers.files.sink.log().len(), 1);
    assert!(store.enable_receiver(&files, world.clock.now()).await.unwrap());
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            receivers.files.elicitations().len() == 2
        })
        .await;
    assert!(receivers.files.elicitations().contains(&second));
}

async fn f33_what_a_receiver_asks_for_is_heeded(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    receivers.files.sink.next_answer(Answer::too_many("600"));
    cancelled(&world, "s").await;
    receivers.files.posts(1).await;
    let store = &world.database.store;
    world
        .until(|| async {
            store.deliveries(None, Some(State::Due), 1).await.unwrap()[0].last_status == Some(429)
        })
        .await;
    let put_off = store.deliveries(None, Some(State::Due), 1).await.unwrap().remove(0);
    assert_eq!(world.clock.now().until(put_off.next_at), Duration::from_mins(10));
    world.advance(Duration::from_mins(10));
    receivers.files.posts(2).await;
}

/// F34, as a crash looks from outside: the receiver has it, and nobody has noted so.
async fn f34_what_was_posted_and_not_noted_comes_again_with_the_same_id_and_a_new_timestamp(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    let gate = Gate::shut();
    receivers.files.sink.next_answer(Answer::genuine().held(&gate));
    cancelled(&world, "s").await;
    let first = receivers.files.posts(1).await.remove(0);
    first.verified(&[SECRETS[0]], world.clock.now());
    world.advance(Duration::from_mins(2));
    let second = receivers.files.posts(2).await.remove(1);
    second.verified(&[SECRETS[0]], world.clock.now());
    assert_eq!(first.id(), second.id());
    assert!(second.timestamp() >= first.timestamp() + 60);
    assert_eq!(first.json(), second.json());
    gate.open();
    world
        .until(|| async {
            world.database.store.deliveries(None, Some(State::Delivered), 1).await.unwrap().len() == 1
        })
        .await;
}

/// F35: receivers change over one by one; whichever secret they have, every post verifies.
async fn f35_every_post_verifies_while_the_secret_changes(db: Database) {
    let receivers = Receivers::start().await;
    {
        let world = receivers.world(db.clone()).await;
        receivers.files.sink.accept_connections(false).await.unwrap();
        for n in 0..5 {
            cancelled(&world, &format!("s{n}")).await;
        }
    }
    // Started again with both secrets, over the backlog.
    let world = receivers.changing_world(db).await;
    receivers.files.sink.accept_connections(true).await.unwrap();
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            receivers.files.elicitations().len() == 5
        })
        .await;
    for post in receivers.files.posts(5).await {
        let at = consentry::clock::Millis::from_seconds(post.timestamp());
        post.verified(&[SECRETS[0]], at);
        post.verified(&[SECRETS[1]], at);
        post.verified(&SECRETS, at);
        assert!(post.verify(&["a third one"], at).is_err());
    }
}

/// F36: listed, counted, replayed.
async fn f36_what_is_given_up_is_a_dead_letter_and_can_be_replayed(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    receivers.files.sink.always_answer(Answer::status(500));
    let id = cancelled(&world, "s").await;
    let store = &world.database.store;
    let begun = world.clock.now();
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            store.deliveries(None, Some(State::Dead), 10).await.unwrap().len() == 1
        })
        .await;
    assert!(begun.until(world.clock.now()) >= Duration::from_hours(72), "for three days");
    assert!(receivers.files.sink.log().len() >= 16);
    receivers.files.sink.answer_normally();
    // A poisoned one holds up nothing.
    let healthy = cancelled(&world, "t").await;
    world.until(|| async { receivers.files.elicitations().contains(&healthy) }).await;
    assert_eq!(store.replay_dead(&"files".parse().unwrap(), world.clock.now()).await.unwrap(), 1);
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            store.deliveries(None, Some(State::Delivered), 10).await.unwrap().len() == 2
        })
        .await;
    assert!(receivers.files.elicitations().contains(&id));
}

/// R115: with a thousand queued, none is posted after the webhook has gone from the settings.
async fn r115_nothing_is_posted_once_the_webhook_is_removed(db: Database) {
    let receivers = Receivers::start().await;
    receivers.files.sink.accept_connections(false).await.unwrap();
    {
        let world = receivers.world(db.clone()).await;
        for n in 0..10 {
            cancelled(&world, &format!("s{n}")).await;
        }
    }
    receivers.files.sink.accept_connections(true).await.unwrap();
    let world = World::start(db).await;
    for _ in 0..12 {
        world.advance(Duration::from_mins(20));
        receivers.files.sink.log().until(Duration::from_millis(20), |came| !came.is_empty()).await;
    }
    assert!(receivers.files.sink.log().is_empty());
    // What the clean-up does once in ten minutes.
    let now = world.clock.now();
    let store = &world.database.store;
    store.drop_unposted(now.minus(Duration::from_hours(1)), now).await.unwrap();
    assert_eq!(store.deliveries(None, Some(State::Dropped), 100).await.unwrap().len(), 10);
}

/// R114: each way to end, seen by the receiver: one post for each elicitation, of its kind and with a reason.
async fn r114_every_ending_is_posted_exactly_once(db: Database) {
    let receivers = Receivers::start().await;
    let world = receivers.world(db).await;
    let api = world.api("files");
    let mut expected = Vec::new();

    // Withdrawn, and refused at the client.
    expected.push((cancelled(&world, "withdrawn").await, "elicitation.cancelled"));
    let refused = asked(&world, "alice", "refused").await;
    let response = format!("/v1/elicitations/{}/response", refused.id);
    api.post(&response, &json!({ "action": "decline" })).await.expect(200);
    expected.push((refused.id, "elicitation.declined"));

    // Declined on the page; the browser is signed in from here on.
    let mut alice = world.browser();
    let declined = asked(&world, "alice", "declined").await;
    alice.opens(&declined.url).await.is("sign-in");
    alice.signs_in("alice").await.is("ready");
    alice.declines().await.is("declined");
    expected.push((declined.id, "elicitation.declined"));

    // Our client is refused: no further trip can mend it.
    let failed = asked(&world, "alice", "failed").await;
    world.files.next_token_answer(Answer::error(401, "invalid_client"));
    alice.opens(&failed.url).await.is("ready");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.approves("octocat").await;
    alice.returns().await;
    assert_eq!(api.elicitation(&failed.id).await["state"], "failed");
    expected.push((failed.id, "elicitation.failed"));

    // One trip answers two questions, and a third one is open when the connection goes.
    let (completed, satisfied) = (asked(&world, "alice", "one").await, asked(&world, "alice", "two").await);
    alice.opens(&completed.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
    expected.push((completed.id, "elicitation.completed"));
    expected.push((satisfied.id, "elicitation.completed"));
    let left_open = asked(&world, "alice", "left open").await;
    let connections = api.get("/v1/connections").await.expect(200);
    let connection = connections["connections"][0]["id"].as_str().unwrap();
    api.delete(&format!("/v1/connections/{connection}")).await.expect(204);
    expected.push((left_open.id, "elicitation.cancelled"));

    // Two that nobody ever opens: one is closed by its successor, the other by the sweeper.
    let predecessor = asked(&world, "bob", "again").await;
    let unopened = asked(&world, "bob", "unopened").await;
    world.clock.advance(Duration::from_mins(31));
    let successor = asked(&world, "bob", "again").await;
    assert_ne!(predecessor.id, successor.id);
    for id in [predecessor.id, unopened.id] {
        expected.push((id, "elicitation.expired"));
    }
    api.post(&format!("/v1/elicitations/{}/cancel", successor.id), &json!({})).await.expect(200);
    expected.push((successor.id, "elicitation.cancelled"));

    let ends = || {
        let posts = receivers.files.sink.log().entries();
        let ends = posts.iter().filter_map(|post| {
            let event = post.json()?;
            let id = event["data"]["elicitation_id"].as_str()?.to_owned();
            assert!(event["data"]["reason"].is_string(), "{event}");
            Some((post.header("webhook-id")?.to_owned(), (id, event["type"].as_str()?.to_owned())))
        });
        // A post may come twice, under one id; an ending told twice would have two.
        ends.collect::<BTreeMap<_, _>>()
    };
    world
        .until(|| async {
            receivers.comes_round(&world).await;
            ends().len() >= expected.len()
        })
        .await;
    // Whatever would come twice has its time.
    world.clock.advance(Duration::from_mins(40));
    receivers.notes.sink.log().until(Duration::from_millis(300), |came| !came.is_empty()).await;
    let mut told: Vec<_> = ends().into_values().collect();
    told.sort();
    let mut expected: Vec<_> = expected.into_iter().map(|(id, kind)| (id, kind.to_owned())).collect();
    expected.sort();
    assert_eq!(told, expected);
}

async fn asked(world: &World, sub: &str, client_ref: &str) -> Link {
    let api = world.api("files");
    let mut question = api.question(sub, FILES);
    question["client"]["ref"] = client_ref.into();
    link(&api.post("/v1/elicitations", &question).await.expect(201)["elicitation"])
}

/// Asks Alice and withdraws it: one signal. Gives the elicitation's id.
async fn cancelled(world: &World, client_ref: &str) -> String {
    let api = world.api("files");
    let mut question = api.question("alice", FILES);
    question["client"]["ref"] = client_ref.into();
    let asked = api.post("/v1/elicitations", &question).await.expect(201);
    let id = asked["elicitation"]["id"].as_str().unwrap().to_owned();
    api.post(&format!("/v1/elicitations/{id}/cancel"), &json!({})).await.expect(200);
    id
}

#[test]
fn the_receivers_secrets_are_of_the_format() {
    for name in SECRETS {
        assert!(webhook::Key::new(&secret(name)).is_ok());
    }
}
