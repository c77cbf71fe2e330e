//! The audit record as a whole server keeps it: every hand-out counted, refusals recorded, nothing written by a read.

use std::time::Duration;

use consentry::{
    audit::{About, Actor, Entry, Kind, Row, Sealer},
    store::{AuditFilter, Store},
};
use serde_json::Value;

use crate::{
    contract::raw::Raw,
    engine::Database,
    keys::seed::Keys,
    world::{FILES, NOTES, World},
};

on_both_engines! {
    r111_every_hand_out_is_counted_in_its_minute,
    a_drain_writes_what_is_left,
    a_resolve_writes_nothing,
    refusals_are_recorded_with_who_and_what,
    when_a_connection_was_last_used_is_shown,
    r85_the_kill_switch_ends_what_matches,
    the_operator_lists_the_record_and_finds_what_was_tampered_with,
    what_cannot_be_verified_is_said,
}

const OVER: Duration = Duration::from_secs(61);

async fn rows(store: &Store) -> Vec<Row> {
    store.audit_rows(AuditFilter::default(), 1_000).await.unwrap()
}

async fn of_kind(store: &Store, kind: &str) -> Vec<Row> {
    let mut rows = rows(store).await;
    rows.retain(|row| row.kind == kind);
    rows
}

/// Alice's connections of both third parties.
async fn connected(world: &World) {
    let api = world.api("files");
    let mut alice = world.browser();
    for provider in [FILES, NOTES] {
        alice.opens(&api.asks("alice", provider).await.url).await;
        if alice.page().name().as_deref() == Some("sign-in") {
            alice.signs_in("alice").await.is("ready");
        }
        alice.connects("octocat").await.is("connected");
    }
}

/// Lets minutes pass until the record has what it should: one that passes while it is being written counts for nobody.
async fn rounds<F: Future<Output = bool>>(world: &World, mut is_so: impl FnMut() -> F) {
    world
        .until(|| {
            world.advance(OVER);
            is_so()
        })
        .await;
}

async fn ready(world: &World, provider: &str) -> Value {
    let answer = world.api("files").resolves("alice", provider).await;
    assert_eq!(answer["status"], "ready", "{answer}");
    answer
}

async fn r111_every_hand_out_is_counted_in_its_minute(db: Database) {
    let store = db.store.clone();
    let world = World::start(db).await;
    connected(&world).await;
    let mut expected = Vec::new();
    for (files, notes) in [(3_i64, 1_i64), (2, 0), (7, 4)] {
        for (provider, times) in [(FILES, files), (NOTES, notes)] {
            for _ in 0..times {
                ready(&world, provider).await;
            }
            expected.extend((times > 0).then(|| (provider.to_owned(), times)));
        }
        world.advance(OVER);
    }
    // Both in one answer, which is two hand-outs; and one that hands out nothing, for something is missing.
    let mut both = world.api("files").question("alice", FILES);
    let body = both.as_object_mut().unwrap();
    let only = body.remove("provider").unwrap();
    body.insert("requests".into(), serde_json::json!([{ "provider": only }, { "provider": NOTES }]));
    world.api("files").post("/v1/credentials/resolve", &both).await.expect(200);
    expected.extend([(FILES.to_owned(), 1), (NOTES.to_owned(), 1)]);
    world.api("files").asks("bob", FILES).await;
    rounds(&world, async || of_kind(&store, "handed_out").await.len() == expected.len()).await;
    let mut found: Vec<_> = of_kind(&store, "handed_out")
        .await
        .into_iter()
        .map(|row| {
            assert_eq!((row.actor.as_str(), row.server.as_deref()), ("server", Some("files")));
            assert!(row.connection.is_some() && row.subject.is_some());
            (row.provider.unwrap(), row.times)
        })
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

async fn a_drain_writes_what_is_left(db: Database) {
    let store = db.replica().await;
    let world = World::start(db.clone()).await;
    connected(&world).await;
    for _ in 0..5 {
        ready(&world, FILES).await;
    }
    assert!(of_kind(&store, "handed_out").await.is_empty(), "the minute is not over");
    drop(world);
    let found = of_kind(&store, "handed_out").await;
    assert_eq!(found.iter().map(|row| row.times).collect::<Vec<_>>(), [5]);
}

async fn a_resolve_writes_nothing(db: Database) {
    let database = db.clone();
    let world = World::start(db).await;
    connected(&world).await;
    let before = crate::rows::rows(&database).await;
    for _ in 0..50 {
        ready(&world, FILES).await;
    }
    assert!(crate::rows::rows(&database).await == before);
}

async fn refusals_are_recorded_with_who_and_what(db: Database) {
    let store = db.store.clone();
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut bob = world.browser();
    bob.opens(&link.url).await;
    bob.signs_in("bob").await.is("wrong-account");
    bob.opens(&link.url).await.is("wrong-account");
    world.api("files").with_key("nobody's").get("/v1/providers").await.expect(401);
    bob.opens(&format!("{}/callback/files/{FILES}?code=c&state=made-up", world.public_url))
        .await
        .is("other-browser");
    let kinds = ["wrong_account", "api_key_refused", "other_browser"];
    rounds(&world, async || {
        let rows = rows(&store).await;
        kinds.iter().all(|kind| rows.iter().any(|row| row.kind == *kind))
    })
    .await;
    let wrong = of_kind(&store, "wrong_account").await;
    assert_eq!(wrong.iter().map(|row| row.times).sum::<i64>(), 2);
    let first = &wrong[0];
    assert_eq!((first.actor.as_str(), first.result.as_str()), ("person", "refused"));
    assert_eq!(first.elicitation.map(|id| id.to_string()), Some(link.id));
    assert!(first.subject.is_some(), "who came");
    let key = &of_kind(&store, "api_key_refused").await[0];
    assert_eq!((key.actor.as_str(), &key.server, &key.subject), ("unknown", &None, &None));
}

async fn when_a_connection_was_last_used_is_shown(db: Database) {
    let world = World::start(db).await;
    connected(&world).await;
    let api = world.api("files");
    let id = ready(&world, FILES).await["connection"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/connections/{id}");
    assert_eq!(api.get(&path).await.expect(200)["last_used_at"], Value::Null, "not yet");
    let used = world.clock.now().rfc3339();
    rounds(&world, async || !api.get(&path).await.expect(200)["last_used_at"].is_null()).await;
    assert_eq!(api.get(&path).await.expect(200)["last_used_at"], used);
    let page = api.get("/v1/connections?sub=alice").await.expect(200);
    let seen: Vec<_> =
        page["connections"].as_array().unwrap().iter().map(|one| &one["last_used_at"]).collect();
    assert!(seen.contains(&&Value::from(used)) && seen.contains(&&Value::Null), "{page}");
}

async fn r85_the_kill_switch_ends_what_matches(db: Database) {
    let world = World::start(db).await;
    connected(&world).await;
    let kill = |more: &[&str], code| world.runs(&[&["connections", "disconnect"], more].concat(), code);
    let dry = kill(&["--user", "alice", "--dry-run"], 0);
    assert_eq!((&dry["matched"], dry["by"].as_array().unwrap().len()), (&Value::from(2), 2));
    kill(&["--user", "alice"], 2);
    kill(&["--yes"], 2);
    kill(&["--all", "--user", "alice", "--yes"], 2);
    ready(&world, FILES).await;
    let gone = kill(&["--user", "alice", "--provider", FILES, "--yes"], 0);
    assert_eq!((&gone["taken_out"], &gone["removed"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "action_required");
    ready(&world, NOTES).await;
    assert_eq!(kill(&["--all", "--yes"], 0)["removed"], 1);
    assert_eq!(world.api("files").resolves("alice", NOTES).await["status"], "action_required");
    // The server that runs tells the third parties.
    for provider in [&world.files, &world.notes] {
        rounds(&world, async || !provider.revocations().entries().is_empty()).await;
    }
    let told = world.runs(&["audit", "list", "--kind", "kill_switch"], 0);
    let times: Vec<_> = told["rows"].as_array().unwrap().iter().map(|row| &row["times"]).collect();
    assert_eq!(times, [1, 1]);
}

async fn the_operator_lists_the_record_and_finds_what_was_tampered_with(db: Database) {
    let database = db.clone();
    let world = World::start(db).await;
    connected(&world).await;
    let kinds = |more: &[&str]| -> Vec<String> {
        let told = world.runs(&[&["audit", "list"], more].concat(), 0);
        let rows = told["rows"].as_array().unwrap();
        rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&["--user", "alice", "--kind", "connected"]), ["connected", "connected"]);
    assert!(kinds(&["--user", "bob", "--kind", "connected"]).is_empty());
    assert!(kinds(&["--server", "notes", "--kind", "connected"]).is_empty());
    assert!(kinds(&["--until", "2020-01-01T00:00:00Z"]).is_empty());
    world.runs(&["audit", "list", "--kind", "nonsense"], 2);
    world.runs(&["audit", "list", "--since", "yesterday"], 2);

    let whole = world.runs(&["audit", "verify"], 0);
    assert_eq!(whole["ok"], true);
    let heads: Vec<&str> =
        whole["chains"].as_array().unwrap().iter().map(|chain| chain["head"].as_str().unwrap()).collect();
    let expected: Vec<&str> = heads.iter().flat_map(|head| ["--expect", head]).collect();
    let verify = |code| world.runs(&[&["audit", "verify"], &*expected].concat(), code);
    verify(0);
    world.runs(&["audit", "verify", "--expect", "nonsense"], 2);
    crate::rows::run(&database, "UPDATE audit SET actor = 'operator' WHERE kind = 'connected'").await;
    let told = verify(1);
    let flaws: Vec<&Value> = told["chains"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|chain| chain["flaws"].as_array().unwrap())
        .collect();
    assert_eq!(flaws.iter().map(|flaw| &flaw["code"]).collect::<Vec<_>>(), ["changed", "changed"]);
    // A chain that is gone as a whole is missed by who has seen its end.
    crate::rows::run(&database, "DELETE FROM audit").await;
    world.runs(&["audit", "verify"], 0);
    assert_eq!(verify(1)["chains"][0]["flaws"][0]["code"], "not_as_seen");
}

/// Without its key a row is anybody's: that is said, is a failure unless it is known, and hides no row that was put into
/// a chain of another key.
async fn what_cannot_be_verified_is_said(db: Database) {
    let world = World::start(db.clone()).await;
    connected(&world).await;
    let gone = Keys::new(&["gone"]).ring(&["gone"]);
    let store = Store::open(&db.url, 2).await.unwrap().recorded(Sealer::new(gone, false));
    let entry = Entry::new(Kind::Declined, Actor::Person, About::default(), world.clock.now());
    store.audit(vec![entry; 3]).await.unwrap();
    store.shut_down().await;
    let verify = |more: &[&str], code| world.runs(&[&["audit", "verify"], more].concat(), code);
    let codes = |told: &Value| -> Vec<String> {
        let chains = told["chains"].as_array().unwrap().iter();
        let flaws = chains.flat_map(|chain| chain["flaws"].as_array().unwrap());
        flaws.map(|flaw| flaw["code"].as_str().unwrap().to_owned()).collect()
    };
    let left = serde_json::json!([{ "key": "gone", "chains": 1, "rows": 3 }]);
    let told = verify(&[], 1);
    assert_eq!((codes(&told), &told["unverified"]), (vec!["key_missing".to_owned()], &left));
    verify(&["--without-key", "another"], 1);
    let told = verify(&["--without-key", "gone"], 0);
    assert_eq!((&told["ok"], &told["unverified"]), (&Value::from(true), &left));

    let chain = told["chains"].as_array().unwrap().iter().find(|chain| chain["unverified"] == 3).unwrap();
    let mut raw = Raw::connect(&db).await;
    let chain = raw.uuid(chain["chain"].as_str().unwrap().parse().unwrap());
    let tag = raw.bytes(&[&[1, 4][..], b"gone", &[7; 32]].concat());
    raw.run(&format!(
        "INSERT INTO audit (chain, number, at_ms, kind, actor, result, times, previous, tag) \
         SELECT chain, number + 1, at_ms, 'disconnected', 'operator', 'done', 1, tag, {tag} FROM audit a \
         WHERE chain <> {chain} AND number = (SELECT MAX(number) FROM audit b WHERE b.chain = a.chain)"
    ))
    .await;
    let told = codes(&verify(&["--without-key", "gone"], 1));
    assert!(!told.is_empty() && told.iter().all(|code| code == "changed"), "{told:?}");
}
