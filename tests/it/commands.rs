//! The command line beside a server: what it leaves alone, what it refuses, and what it says of the record that it writes.

use consentry::{app::App, server::Server, workers};
use serde_json::Value;

use crate::{
    contract::raw::Raw,
    engine::Database,
    rows,
    world::{FILES, NOTES, World},
};

on_both_engines! {
    r101_a_command_takes_up_no_key_that_it_does_not_need,
    r85_an_id_that_nobody_knows_is_an_error,
    r85_the_kill_switch_works_when_nobody_is_left,
    r85_the_kill_switch_ends_questions_of_people_without_a_connection,
    what_a_disconnect_says_of_the_provider_is_true,
    a_command_says_where_its_chain_ends,
    a_purge_that_fails_keeps_no_other_from_working,
    what_nobody_posts_is_not_said_to_be_posted,
}

async fn connected(world: &World) {
    let mut alice = world.browser();
    alice.opens(&world.api("files").asks("alice", FILES).await.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.connects("octocat").await.is("connected");
}

async fn keys(database: &Database) -> Vec<String> {
    let keys = database.store.sealing_keys().await.unwrap();
    keys.into_iter().map(|key| key.id).collect()
}

/// R101: a key that is noted must be there at every start from then on, so neither a look nor a command that seals
/// nothing notes one, nor any beside a server that could not open what it would seal.
async fn r101_a_command_takes_up_no_key_that_it_does_not_need(db: Database) {
    let world = World::start(db.clone()).await;
    connected(&world).await;
    world.runs(&["key", "new", "--id", "new", "--file", "new.key"], 0);
    world.writes_settings("other.toml", |ours| {
        ours.replace("\nkeys = [", "\nkeys = [{ id = \"new\", file = \"new.key\" }, ")
    });
    let before = rows::rows(&db).await;
    for barred in [
        &["connections", "disconnect", "--all", "--dry-run"][..],
        &["connections", "disconnect", "--all", "--yes"],
        &["key", "rotate"],
    ] {
        let told = world.runs_with("other.toml", barred, 2);
        assert!(told["error"].as_str().unwrap().contains("does not have the encryption key new"), "{told}");
    }
    world.runs_with("other.toml", &["key", "status"], 0);
    assert!(rows::rows(&db).await == before, "nothing was written");

    // Without a server there is nobody who could not open it: still, a look is a look.
    let other = World::start(Database::start(db.engine).await).await;
    other.runs(&["key", "new", "--id", "new", "--file", "new.key"], 0);
    other.writes_settings("other.toml", |ours| {
        ours.replace("\nkeys = [", "\nkeys = [{ id = \"new\", file = \"new.key\" }, ")
    });
    rows::run(&other.database, "DELETE FROM replicas").await;
    other.runs_with("other.toml", &["connections", "disconnect", "--all", "--dry-run"], 0);
    other.runs_with("other.toml", &["connections", "disconnect", "--all", "--yes"], 0);
    other.runs_with("other.toml", &["key", "rotate"], 0);
    assert_eq!(keys(&other.database).await, ["test"]);
    connected(&other).await;
    other.runs_with("other.toml", &["connections", "disconnect", "--all", "--dry-run"], 0);
    assert_eq!(keys(&other.database).await, ["test"]);
    other.runs_with("other.toml", &["connections", "disconnect", "--all", "--yes"], 0);
    assert_eq!(keys(&other.database).await, ["test", "new"], "what is told to the provider is sealed");
}

/// R85: in a hurry, a slip must not look like a success.
async fn r85_an_id_that_nobody_knows_is_an_error(db: Database) {
    let world = World::start(db).await;
    connected(&world).await;
    for unknown in [
        &["connections", "disconnect", "--server", "flies", "--yes"][..],
        &["connections", "disconnect", "--provider", "githbu", "--yes"],
        &["connections", "disconnect", "--user", "alice", "--issuer", "https://nobody.example", "--dry-run"],
        &["connections", "list", "--server", "flies"],
        &["connections", "list", "--provider", "githbu"],
        &["connections", "list", "--issuer", "https://nobody.example"],
        &["elicitations", "list", "--server", "flies"],
        &["audit", "list", "--server", "flies"],
        &["webhooks", "list", "--server", "flies"],
        &["webhooks", "enable", "--server", "flies"],
        &["webhooks", "replay", "--dead", "--server", "flies"],
    ] {
        let told = world.runs(unknown, 2);
        assert_eq!(told["ok"], false, "{unknown:?}");
        assert!(told["error"].as_str().unwrap().contains(if unknown.contains(&"githbu") {
            "no provider"
        } else if unknown.contains(&"--issuer") {
            "no issuer"
        } else {
            "no MCP server"
        }));
    }
    let nobody = "00000000-0000-4000-8000-000000000000";
    world.runs(&["audit", "list", "--connection", nobody], 1);
    world.runs(&["connections", "show", nobody], 1);
    world.runs(&["connections", "disconnect", nobody, "--yes"], 1);
    // What is known and has nothing is no error; nor is what was taken out of the settings and still has rows.
    world.runs(&["connections", "list", "--server", "notes"], 0);
    without_files(&world);
    let listed = world.runs_with("without.toml", &["connections", "list", "--provider", FILES], 0);
    assert_eq!(listed["connections"].as_array().unwrap().len(), 1);
}

/// R85: run once more, it says that nothing is left, and that is what was wanted.
async fn r85_the_kill_switch_works_when_nobody_is_left(db: Database) {
    let world = World::start(db).await;
    connected(&world).await;
    let kill = || world.runs(&["connections", "disconnect", "--provider", FILES, "--yes"], 0);
    assert_eq!(kill()["removed"], 1);
    assert_eq!(kill()["removed"], 0);
    world.runs(&["connections", "disconnect", "--provider", NOTES, "--yes"], 0);
}

/// R85: bob has no connection yet, and is on his way to one.
async fn r85_the_kill_switch_ends_questions_of_people_without_a_connection(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("bob", FILES).await;
    let other = world.api("files").asks("bob", NOTES).await;
    let mut bob = world.browser();
    bob.opens(&link.url).await;
    bob.signs_in("bob").await.is("ready");
    let told = world.runs(&["connections", "disconnect", "--provider", FILES, "--yes"], 0);
    assert_eq!((&told["cancelled"], &told["removed"]), (&Value::from(1), &Value::from(0)));
    bob.opens(&link.url).await.is("cancelled");
    assert_eq!(world.api("files").elicitation(&link.id).await["reason"], "disconnected");
    assert_eq!(world.api("files").elicitation(&other.id).await["state"], "pending");
}

/// A credential that does not open is not the same as a provider that cannot be told.
async fn what_a_disconnect_says_of_the_provider_is_true(db: Database) {
    let world = World::start(db.clone()).await;
    connected(&world).await;
    // Another one, that opens: with none at all the keys would be taken for the wrong ones.
    let mut bob = world.browser();
    bob.opens(&world.api("notes").asks("bob", NOTES).await.url).await;
    bob.signs_in("bob").await.is("ready");
    bob.connects("hubot").await.is("connected");
    let list = ["connections", "list", "--provider", FILES];
    let id = |told: &Value| told["connections"][0]["id"].as_str().unwrap().to_owned();
    let mine = id(&world.runs(&list, 0));
    rows::run(&db, &format!("UPDATE connections SET generation = generation + 1 WHERE provider = '{FILES}'"))
        .await;
    let told = world.runs(&["connections", "disconnect", &mine, "--yes"], 0);
    assert_eq!(told["revocation"], "unreadable", "{told}");
    connected(&world).await;
    let mine = id(&world.runs(&list, 0));
    without_files(&world);
    let told = world.runs_with("without.toml", &["connections", "disconnect", &mine, "--yes"], 0);
    assert_eq!(told["revocation"], "unconfigured", "{told}");
}

/// Settings in which the third party has another id.
fn without_files(world: &World) {
    world.writes_settings("without.toml", |ours| {
        let renamed = ours.replace(&format!("id = \"{FILES}\""), "id = \"renamed\"");
        renamed.replace(&format!("providers = [\"{FILES}\""), "providers = [\"renamed\"")
    });
}

/// A command's chain is its own, and may have one row: nothing but its end, kept elsewhere, shows that it was taken out.
async fn a_command_says_where_its_chain_ends(db: Database) {
    let world = World::start(db.clone()).await;
    connected(&world).await;
    let link = world.api("notes").asks("bob", NOTES).await;
    let told = [
        world.runs(&["elicitations", "cancel", &link.id], 0),
        world.runs(&["connections", "disconnect", "--all", "--yes"], 0),
    ];
    assert_eq!(
        world.runs(&["connections", "disconnect", "--all", "--dry-run"], 0)["audit_heads"],
        Value::Array(vec![])
    );
    for told in told {
        let heads = told["audit_heads"].as_array().unwrap();
        assert!(!heads.is_empty(), "{told}");
        for head in heads {
            let head = head.as_str().unwrap();
            world.runs(&["audit", "verify", "--expect", head], 0);
            let chain = head.split(':').next().unwrap().parse().unwrap();
            let mut raw = Raw::connect(&db).await;
            let chain = raw.uuid(chain);
            raw.run(&format!("DELETE FROM audit WHERE chain = {chain}")).await;
            world.runs(&["audit", "verify"], 0);
            world.runs(&["audit", "verify", "--expect", head], 1);
        }
    }
}

/// One table that cannot be purged is no reason for the others to grow.
async fn a_purge_that_fails_keeps_no_other_from_working(db: Database) {
    let world = World::start(db.clone()).await;
    let link = world.api("files").asks("alice", FILES).await;
    world.runs(&["elicitations", "cancel", &link.id], 0);
    let server = Server::build(world.settings(), world.clock.clone()).await.unwrap();
    let app: App = server.app().clone();
    rows::run(&db, "ALTER TABLE deliveries RENAME TO elsewhere").await;
    world.advance(std::time::Duration::from_secs(400 * 24 * 3600));
    assert!(workers::purge(&app).await.is_err());
    let left = Raw::connect(&db).await.number("SELECT COUNT(*) FROM elicitations").await;
    rows::run(&db, "ALTER TABLE elsewhere RENAME TO deliveries").await;
    assert_eq!(left, 0);
    workers::purge(&app).await.unwrap();
    app.shutdown.cancel();
}

async fn what_nobody_posts_is_not_said_to_be_posted(db: Database) {
    let world = World::start(db).await;
    let told = world.runs(&["webhooks", "replay", "--dead", "--server", "files"], 2);
    assert!(told["error"].as_str().unwrap().contains("has no webhook"), "{told}");
    world.runs(&["webhooks", "enable", "--server", "files"], 2);
}
