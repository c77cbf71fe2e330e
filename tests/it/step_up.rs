//! Asking for more: what a person sees, what the third party is asked for, what is stored and reported; and that nobody
//! is asked for ever.

use consentry_fakes::Answer;
use serde_json::{Value, json};

use crate::{
    engine::Database,
    world::{Browser, FILES, World, link},
};

on_both_engines! {
    a_step_up_shows_what_is_new_and_asks_for_both,
    what_was_refused_once_is_asked_for_again_only_on_purpose,
    a_step_up_that_loses_something_says_so,
    a_provider_that_renames_what_it_gives_is_not_asked_for_ever,
    a_name_that_the_settings_know_is_no_missing_permission,
    what_comes_along_is_not_asked_for,
    another_account_at_a_step_up_is_asked_about,
    what_is_missing_can_be_given_from_the_outcome_itself,
}

const READ: &str = "files.read";
const WRITE: &str = "files.write";
const PROFILE: &str = "profile";

/// What a tool gets that needs these.
async fn needs(world: &World, scopes: &[&str]) -> Value {
    let api = world.api("files");
    let mut question = api.question("alice", FILES);
    question["scopes"] = json!(scopes);
    question["client"]["ref"] = json!(scopes.join("+"));
    api.post("/v1/credentials/resolve", &question).await.expect(200)
}

/// The same, where alice must act: she opens the link.
async fn opens_for(world: &World, alice: &mut Browser, scopes: &[&str]) {
    let answer = needs(world, scopes).await;
    assert_eq!(answer["status"], "action_required", "{answer}");
    alice.opens(&link(&answer["elicitation"]).url).await;
    if alice.page().name().as_deref() == Some("sign-in") {
        alice.signs_in("alice").await;
    }
}

/// She agrees, leaves, and ticks only these at the third party.
async fn ticks(world: &World, alice: &mut Browser, account: &str, scopes: &[&str]) {
    alice.agrees().await.is("leaving");
    let authorize = alice.page().refresh().expect("the way there");
    let back = world.files.approve_with_scopes(authorize.as_str(), account, scopes).unwrap();
    alice.opens(&back).await;
}

/// What the third party was asked for last.
fn asked(world: &World) -> Vec<String> {
    let log = world.files.authorize_log();
    let scopes = log.last().unwrap().parameters.iter().find(|(name, _)| name == "scope").unwrap().1.clone();
    scopes.split(' ').map(str::to_owned).collect()
}

async fn a_step_up_shows_what_is_new_and_asks_for_both(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ]).await;
    alice.connects("octocat").await.is("connected");
    opens_for(&world, &mut alice, &[WRITE]).await;
    let text = alice.page().is("ready").text();
    let (new, already) = (text.find("New permissions").unwrap(), text.find("Already allowed").unwrap());
    assert!(new < text.find(WRITE).unwrap() && text.find(WRITE).unwrap() < already, "{text}");
    assert!(already < text.find("See the names of your files").unwrap(), "{text}");
    assert!(text.contains("octocat , and now asks for more"), "{text}");
    alice.connects("octocat").await.is("connected");
    assert_eq!(asked(&world), [READ, WRITE]);
    for scopes in [&[READ][..], &[WRITE], &[READ, WRITE]] {
        let answer = needs(&world, scopes).await;
        assert_eq!(answer["status"], "ready", "{answer}");
        assert_eq!(answer["credential"]["scopes"], json!([READ, WRITE]));
        assert_eq!(answer["credential"]["missing_scopes"], json!([]));
    }
    assert_eq!(needs(&world, &[READ]).await["connection"]["generation"], 2);
}

async fn what_was_refused_once_is_asked_for_again_only_on_purpose(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ, WRITE]).await;
    ticks(&world, &mut alice, "octocat", &[READ]).await;
    let text = alice.page().is("partly-connected").text();
    assert!(text.contains(WRITE) && text.contains("some things will not work"), "{text}");
    let answer = needs(&world, &[WRITE]).await;
    assert_eq!(
        (&answer["status"], &answer["credential"]["missing_scopes"]),
        (&json!("ready"), &json!([WRITE]))
    );
    assert_eq!(answer["credential"]["scopes"], json!([READ]));

    let mut question = api.question("alice", FILES);
    question["scopes"] = json!([READ, WRITE]);
    let again = link(&api.post("/v1/elicitations", &question).await.expect(201)["elicitation"]);
    let text = alice.opens(&again.url).await.is("already-connected").text();
    assert!(text.contains("needs more permissions") && text.contains(WRITE), "{text}");
    ticks(&world, &mut alice, "octocat", &[READ, WRITE]).await;
    alice.page().is("connected");
    assert_eq!(api.elicitation(&again.id).await["reason"], "connected");
    assert_eq!(needs(&world, &[WRITE]).await["credential"]["missing_scopes"], json!([]));
}

async fn a_step_up_that_loses_something_says_so(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ, WRITE]).await;
    alice.connects("octocat").await.is("connected");
    opens_for(&world, &mut alice, &[PROFILE]).await;
    ticks(&world, &mut alice, "octocat", &[READ, PROFILE]).await;
    assert_eq!(asked(&world), [READ, WRITE, PROFILE]);
    let text = alice.page().is("partly-connected").text();
    assert!(text.contains("had these permissions before") && text.contains(WRITE), "{text}");
    assert!(!text.contains("See the names of your files"), "{text}");
    let answer = needs(&world, &[PROFILE]).await;
    assert_eq!(answer["credential"]["scopes"], json!([READ, PROFILE]));
    let answer = needs(&world, &[WRITE]).await;
    assert_eq!(
        (&answer["status"], &answer["credential"]["missing_scopes"]),
        (&json!("ready"), &json!([WRITE]))
    );
}

async fn a_provider_that_renames_what_it_gives_is_not_asked_for_ever(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ]).await;
    world.files.next_token_answer(Answer::with_member("scope", json!("api.v2.read")));
    alice.connects("octocat").await.is("partly-connected");
    let answer = needs(&world, &[READ]).await;
    assert_eq!(answer["status"], "ready", "{answer}");
    assert_eq!(answer["credential"]["scopes"], json!(["api.v2.read"]));
    assert_eq!(answer["credential"]["missing_scopes"], json!([READ]));
    // Its own name for it may be none that can be asked for: what was asked for before is asked for.
    opens_for(&world, &mut alice, &[WRITE]).await;
    alice.page().is("ready");
    alice.connects("octocat").await.is("connected");
    assert_eq!(asked(&world), [READ, WRITE]);
    assert_eq!(needs(&world, &[READ, WRITE]).await["status"], "ready");
}

async fn a_name_that_the_settings_know_is_no_missing_permission(db: Database) {
    let world = World::start_with(db, |settings| {
        let files = settings.providers.iter_mut().find(|one| one.id.as_str() == FILES).unwrap();
        files.scope_aliases.insert("api.v2.read".to_owned(), READ.to_owned());
    })
    .await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ]).await;
    world.files.next_token_answer(Answer::with_member("scope", json!("api.v2.read")));
    alice.connects("octocat").await.is("connected");
    assert_eq!(needs(&world, &[READ]).await["credential"]["scopes"], json!([READ]));
}

async fn what_comes_along_is_not_asked_for(db: Database) {
    let world = World::start_with(db, |settings| {
        let files = settings.providers.iter_mut().find(|one| one.id.as_str() == FILES).unwrap();
        files.scope_includes.insert(WRITE.to_owned(), files.scopes.clone());
    })
    .await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[WRITE]).await;
    alice.connects("octocat").await.is("connected");
    let answer = needs(&world, &[READ]).await;
    assert_eq!((&answer["status"], &answer["credential"]["missing_scopes"]), (&json!("ready"), &json!([])));
    // And more than was asked for is taken as given.
    world.files.next_token_answer(Answer::with_member("scope", json!([READ, WRITE, PROFILE].join(" "))));
    let link = world.api("notes").asks("alice", FILES).await;
    alice.opens(&link.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
    let mut question = world.api("notes").question("alice", FILES);
    question["scopes"] = json!([PROFILE]);
    let answer = world.api("notes").post("/v1/credentials/resolve", &question).await.expect(200);
    assert_eq!(answer["status"], "ready", "{answer}");
}

async fn another_account_at_a_step_up_is_asked_about(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ]).await;
    alice.connects("octocat").await.is("connected");
    opens_for(&world, &mut alice, &[WRITE]).await;
    alice.connects("hubot").await.is("account-changed");
    let answer = needs(&world, &[READ]).await;
    assert_eq!(answer["connection"]["account"]["label"], "octocat", "{answer}");
    assert_eq!(answer["credential"]["scopes"], json!([READ]));
    let form =
        alice.page().forms().into_iter().find(|form| form.fields.contains(&("use".into(), "new".into())));
    alice.submits(form.expect("the new one can be used")).await;
    alice.follows().await.is("connected");
    let answer = needs(&world, &[WRITE]).await;
    assert_eq!(answer["connection"]["account"]["label"], "hubot", "{answer}");
    assert_eq!(answer["status"], "ready");
}

async fn what_is_missing_can_be_given_from_the_outcome_itself(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    opens_for(&world, &mut alice, &[READ, WRITE]).await;
    ticks(&world, &mut alice, "octocat", &[READ]).await;
    alice.page().is("partly-connected");
    alice.presses("/reconnect").await.is("ready");
    assert!(alice.page().text().contains("More permissions"), "{}", alice.page().text());
    alice.connects("octocat").await.is("connected");
    assert_eq!(asked(&world), [READ, WRITE]);
    assert_eq!(needs(&world, &[WRITE]).await["credential"]["missing_scopes"], json!([]));
}
