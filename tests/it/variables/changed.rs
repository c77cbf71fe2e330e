//! A provider that is another place by the settings of now (R63): nothing that was stored is sent there.

use std::time::Duration;

use consentry::{
    config::Settings,
    random::Random,
    revocation::{Hint, NewRevocation, RevocationId, State},
    vault::Sealed,
};
use consentry_fakes::{Listen, Provider};
use serde_json::{Value, json};

use crate::{
    engine::Database,
    world::{FILES, Replica, World},
};

on_both_engines!(
    r63_a_changed_issuer_gets_nothing_that_was_stored,
    r63_a_token_that_is_queued_for_another_place_is_not_sent,
    r63_a_code_of_the_former_place_is_not_redeemed_at_the_new_one,
    r63_what_has_no_fingerprint_takes_the_present_one,
);

async fn connected(world: &World) -> Value {
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice.connects("octocat").await.is("connected");
    api.resolves("alice", FILES).await["connection"].clone()
}

/// Where the operator sends it from now on.
async fn hook() -> Provider {
    Provider::start(Listen::on(std::net::Ipv4Addr::new(127, 0, 0, 66))).await.unwrap()
}

fn moved(settings: &mut Settings, to: &Provider) {
    let files = settings.providers.iter_mut().find(|one| one.id.as_str() == FILES).unwrap();
    files.issuer = Some(to.base_url().to_owned());
    files.probe = None;
}

async fn resolves(world: &World, replica: &Replica) -> Value {
    world.api_at(replica, "files").resolves("alice", FILES).await
}

async fn r63_a_changed_issuer_gets_nothing_that_was_stored(db: Database) {
    let world = World::start(db).await;
    let connection = connected(&world).await;
    let id = connection["id"].as_str().unwrap();
    let hook = hook().await;
    let replica = world.replica_with(|settings| moved(settings, &hook)).await;
    // Also where a refresh would be needed first.
    world.advance(Duration::from_secs(3_700));
    for _ in 0..2 {
        let answer = resolves(&world, &replica).await;
        assert_eq!(answer["status"], "action_required", "{answer}");
    }
    let shown = world.api("files").get(&format!("/v1/connections/{id}")).await.expect(200);
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("needs_reconnect"), &json!("provider_changed")));
    let told = world.api("files").told().await;
    let ends = told.iter().filter(|(kind, _)| kind == "connection.needs_reconnect").count();
    assert_eq!(ends, 1, "{told:?}");
    // Its end is told to neither: here is not where it is from.
    world.api_at(&replica, "files").delete(&format!("/v1/connections/{id}")).await.expect(204);
    assert!(hook.token_log().is_empty() && hook.revocations().entries().is_empty());
    assert_eq!(world.files.token_log().len(), 1);
    replica.stops().await;
}

async fn r63_a_token_that_is_queued_for_another_place_is_not_sent(db: Database) {
    let world = World::start(db).await;
    let connection = connected(&world).await;
    let owner = consentry::subject::Subject::new(world.id.base_url(), "nobody").unwrap();
    let new = NewRevocation {
        id: RevocationId(Random.row_id(world.clock.now())),
        connection: Some(connection["id"].as_str().unwrap().parse().unwrap()),
        server: "files".parse().unwrap(),
        owner,
        provider: FILES.parse().unwrap(),
        account_id: Some("somebody".to_owned()),
        hint: Hint::Refresh,
        token: Sealed::from_bytes(b"of another place".to_vec()),
        values: consentry::values::Values::default(),
        fingerprint: Some(consentry::secret::Hash::of(b"another place")),
    };
    world.database.store.queue_revocation(&new, world.clock.now()).await.unwrap();
    let standing = async || world.database.store.revocation_standing(new.id).await.unwrap().unwrap().state;
    world
        .until(async || {
            world.advance(Duration::from_millis(500));
            standing().await != State::Due
        })
        .await;
    assert_eq!(standing().await, State::Impossible);
    assert!(world.files.revocations().entries().is_empty());
}

async fn r63_a_code_of_the_former_place_is_not_redeemed_at_the_new_one(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice.agrees().await.is("leaving");
    let authorize = alice.page().refresh().unwrap();
    // As if it had been begun under other settings.
    let mut raw = crate::contract::raw::Raw::connect(&world.database).await;
    let former = match world.database.engine {
        crate::engine::Engine::Sqlite => "x'00'",
        crate::engine::Engine::Postgres => "decode('00', 'hex')",
    };
    let zeros = former.replace("00", &"00".repeat(32));
    assert_eq!(raw.run(&format!("UPDATE attempts SET fingerprint = {zeros}")).await, 1);
    let back = world.files.approve(authorize.as_str(), "octocat").unwrap();
    alice.opens(&back).await.is("provider-misconfigured");
    assert!(world.files.token_log().is_empty());
}

async fn r63_what_has_no_fingerprint_takes_the_present_one(db: Database) {
    let world = World::start(db).await;
    let connection = connected(&world).await;
    let id = connection["id"].as_str().unwrap().parse().unwrap();
    let mut raw = crate::contract::raw::Raw::connect(&world.database).await;
    assert_eq!(raw.run("UPDATE connections SET fingerprint = NULL").await, 1);
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "ready");
    let now = world.database.store.any_connection(id).await.unwrap().unwrap();
    assert!(now.fingerprint.is_some());
    let hook = hook().await;
    let replica = world.replica_with(|settings| moved(settings, &hook)).await;
    assert_eq!(resolves(&world, &replica).await["status"], "action_required");
    replica.stops().await;
}
