//! What a person does with their own connections: sees them wherever they are signed in, disconnects, connects again; and
//! that nobody else can.

use std::time::Duration;

use consentry_fakes::{Answer, AuthorizationServer, Client, Listen};
use serde_json::json;

use crate::{
    engine::Database,
    rows,
    world::{Browser, FILES, NOTES, World},
};

on_both_engines! {
    alice_sees_everything_that_she_has_connected,
    r45_a_disconnect_is_told_on_a_page_that_can_be_reloaded,
    another_connection_with_the_same_account_stays_and_is_named,
    a_provider_that_does_not_answer_has_not_confirmed,
    r3_nobody_sees_or_ends_anothers,
    whoever_is_not_signed_in_is_asked_to,
    people_of_two_authorization_servers_are_shown_together,
    a_broken_connection_is_connected_again_from_the_page,
    everything_can_be_disconnected_at_once,
    the_past_of_a_connection_is_told,
}

/// Alice, signed in, with an account of [`FILES`] under `server`.
async fn connected(world: &World, server: &str, alice: &mut Browser, account: &str) {
    let link = world.api(server).asks("alice", FILES).await;
    alice.opens(&link.url).await;
    if alice.page().name().as_deref() == Some("sign-in") {
        alice.signs_in("alice").await;
    }
    alice.page().is("ready");
    alice.connects(account).await.is("connected");
}

async fn id_of(world: &World, server: &str) -> String {
    let answer = world.api(server).resolves("alice", FILES).await;
    answer["connection"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn alice_sees_everything_that_she_has_connected(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    connected(&world, "notes", &mut alice, "hubot").await;
    for path in ["/connections", "/connections?server=files", "/connections?server=notes"] {
        let text = alice.opens(&format!("{}{path}", world.public_url)).await.is("connections").text();
        for word in [
            "Used by The files tools",
            "Used by The notes tools",
            "Account octocat",
            "Account hubot",
            "See the names of your files",
            "Connected on",
        ] {
            assert!(text.contains(word), "{word} is not on {path}: {text}");
        }
    }
    let id = id_of(&world, "files").await;
    let details = alice.page().link_to(&id);
    let text = alice.clicks(details).await.is("connection").text();
    assert!(text.contains("octocat") && !text.contains("hubot"), "{text}");
    for nowhere in [
        "/connections?server=unknown",
        "/connections?server=../x",
        "/connections/x",
        "/connections/disconnected",
    ] {
        alice.opens(&format!("{}{nowhere}", world.public_url)).await.is("not-found");
    }
}

async fn r45_a_disconnect_is_told_on_a_page_that_can_be_reloaded(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    let id = id_of(&world, "files").await;
    let text = alice
        .opens(&format!("{}/connections/{id}/disconnect", world.public_url))
        .await
        .is("disconnect")
        .text();
    assert!(
        text.contains("can then no longer use octocat") && text.contains("We tell Example Files"),
        "{text}"
    );
    assert_eq!(id_of(&world, "files").await, id, "looking changes nothing");
    let form = alice.page().form_to("/disconnect");
    assert_eq!(alice.submits(form.clone()).await.status, 303);
    let text = alice.follows().await.is("disconnected").text();
    assert!(text.contains("Example Files has confirmed that the access has ended"), "{text}");
    for _ in 0..2 {
        alice.reloads().await.is("disconnected");
    }
    assert_eq!(world.files.revocations().len(), 1);
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "action_required");
    // Once more, from a page that was left open.
    alice.submits(form).await;
    alice.follows().await.is("not-found");
    alice.opens(&format!("{}/connections", world.public_url)).await.is("connections");
    assert!(alice.page().text().contains("Nothing is connected"));
}

async fn another_connection_with_the_same_account_stays_and_is_named(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    connected(&world, "notes", &mut alice, "octocat").await;
    let id = id_of(&world, "files").await;
    let text = alice.opens(&format!("{}/connections/{id}/disconnect", world.public_url)).await.text();
    assert!(text.contains("The notes tools has a connection of its own with this account"), "{text}");
    let text = alice.presses("/disconnect").await.is("disconnected").text();
    assert!(text.contains("Another connection uses the same"), "{text}");
    assert!(world.files.revocations().is_empty());
    assert_eq!(world.api("notes").resolves("alice", FILES).await["status"], "ready");
}

async fn a_provider_that_does_not_answer_has_not_confirmed(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    let id = id_of(&world, "files").await;
    world.files.always_answer("/revoke", Answer::status(503));
    alice.opens(&format!("{}/connections/{id}/disconnect", world.public_url)).await.is("disconnect");
    let form = alice.page().form_to("/disconnect");
    // The page does not wait for long, and time stands still here.
    let ((), text) = tokio::join!(
        async {
            world
                .until(async || {
                    !world.files.revocations().is_empty()
                        || world.files.log().entries().iter().any(|one| one.path == "/revoke")
                })
                .await;
            world.advance(Duration::from_secs(6));
        },
        async {
            alice.submits(form).await;
            alice.follows().await.is("disconnected").text()
        }
    );
    assert!(text.contains("has not confirmed it yet"), "{text}");
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "action_required");
}

async fn r3_nobody_sees_or_ends_anothers(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    let id = id_of(&world, "files").await;
    let mut bob = world.browser();
    let link = world.api("files").asks("bob", FILES).await;
    bob.opens(&link.url).await;
    bob.signs_in("bob").await.is("ready");
    let csrf =
        bob.page().form_to("/continue").fields.iter().find(|(name, _)| name == "csrf").unwrap().1.clone();
    let text = bob.opens(&format!("{}/connections", world.public_url)).await.is("connections").text();
    assert!(!text.contains("octocat"), "{text}");
    let unknown = uuid::Uuid::nil();
    for path in [
        format!("/connections/{id}"),
        format!("/connections/{id}/disconnect"),
        format!("/connections/{unknown}"),
    ] {
        assert_eq!(bob.opens(&format!("{}{path}", world.public_url)).await.is("not-found").status, 404);
    }
    for action in ["disconnect", "reconnect"] {
        bob.opens(&link.url).await.is("ready");
        let mut form = bob.page().form_to("/continue").set("csrf", &csrf);
        form.action = format!("{}/connections/{id}/{action}", world.public_url).parse().unwrap();
        bob.submits(form).await.is("not-found");
    }
    // What alice was told of her own is nobody else's to read.
    alice.opens(&format!("{}/connections/{id}/disconnect", world.public_url)).await;
    let told = alice.presses("/disconnect").await.is("disconnected").url.clone();
    bob.opens(told.as_str()).await.is("not-found");
    alice.opens(told.as_str()).await.is("disconnected");
    alice.opens(&told.as_str().replace("was=", "was=A")).await.is("not-found");
}

async fn whoever_is_not_signed_in_is_asked_to(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    let id = id_of(&world, "files").await;
    let mut fresh = world.browser();
    for path in [
        format!("/connections/{id}"),
        format!("/connections/{}", uuid::Uuid::nil()),
        "/connections/disconnect-all".into(),
    ] {
        fresh.opens(&format!("{}{path}", world.public_url)).await.is("sign-in");
    }
    fresh.opens(&format!("{}/connections", world.public_url)).await.is("sign-in");
    let text = fresh.signs_in("alice").await.is("connections").text();
    assert!(text.contains("octocat"), "{text}");
    assert_eq!(fresh.page().url.path(), "/connections");
    fresh.opens(&format!("{}/sign-in?as=unknown", world.public_url)).await.is("not-found");
    fresh.opens(&format!("{}/sign-in?as=example-id&server=files", world.public_url)).await.is("not-found");
}

async fn people_of_two_authorization_servers_are_shown_together(db: Database) {
    let other = AuthorizationServer::start(Listen::on([127, 0, 0, 6])).await.unwrap();
    let world = World::start_with(db, |settings| {
        let mut second = settings.authorization_servers[0].clone();
        second.id = "other-id".to_owned();
        second.name = None;
        second.issuer = other.base_url().to_owned();
        let secret = second.client_secret.as_ref().unwrap().expose().to_owned();
        let back = settings.public_url.join("/sign-in/callback/other-id");
        other.register(Client::basic("consentry", &secret).name("Consentry").redirect_uri(back));
        settings.authorization_servers.push(second);
        settings.mcp_servers[1].authorization_server = Some("other-id".to_owned());
    })
    .await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    let api = world.api("notes");
    let mut question = api.question("bob", NOTES);
    question["subject"] = json!({ "sub": "bob" });
    let asked = api.post("/v1/credentials/resolve", &question).await.expect(200);
    alice.opens(&crate::world::link(&asked["elicitation"]).url).await.is("sign-in");
    alice.signs_in("bob").await.is("ready");
    alice.connects("hubot").await.is("connected");
    let text = alice.opens(&format!("{}/connections", world.public_url)).await.is("connections").text();
    for word in ["Used by The files tools , as alice", "octocat", "Used by The notes tools , as bob", "hubot"]
    {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
    // Of one server's issuer, its own people alone.
    let text = alice.opens(&format!("{}/connections?server=files", world.public_url)).await.text();
    assert!(text.contains("octocat") && !text.contains("hubot"), "{text}");

    let mut fresh = world.browser();
    let text = fresh.opens(&format!("{}/connections", world.public_url)).await.is("sign-in").text();
    assert!(text.contains("Example ID") && text.contains("127.0.0.6"), "{text}");
    let text = fresh.signs_in("alice").await.is("connections").text();
    assert!(
        text.contains("octocat") && !text.contains("hubot") && text.contains("There may be more"),
        "{text}"
    );
    let more = fresh.page().link_to("/sign-in");
    fresh.clicks(more).await;
    let text = fresh.answers_as("bob").await.is("connections").text();
    assert!(text.contains("octocat") && text.contains("hubot"), "{text}");
}

async fn a_broken_connection_is_connected_again_from_the_page(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    let id = id_of(&world, "files").await;
    for (status, reason, says) in [
        ("needs_reconnect", "rotation_lost", "broke off while Example Files was renewing it"),
        ("needs_reconnect", "refused_by_provider", "Example Files no longer accepts it"),
        ("needs_reconnect", "consent_expired", "for a limited time only"),
        ("quarantined", "account_mismatch", "answered for a different account"),
    ] {
        // What lives is handed out to its end; it has ended.
        let broken = format!(
            "UPDATE connections SET status = '{status}', reason = '{reason}', access_expires_at_ms = 1"
        );
        rows::change(&world.database, &broken).await;
        let text = alice.opens(&format!("{}/connections", world.public_url)).await.is("connections").text();
        assert!(text.contains(says), "{says}: {text}");
        // The same on the link that a tool asks for.
        let link = api.asks("alice", FILES).await;
        let text = alice.opens(&link.url).await.is("ready").text();
        assert!(text.contains(says) && text.contains("Connect Example Files again?"), "{text}");
        assert!(text.contains("will be able to do again"), "{text}");

        alice.opens(&format!("{}/connections/{id}", world.public_url)).await.is("connection");
        let text = alice.presses("/reconnect").await.is("ready").text();
        assert!(text.contains(says), "{says}: {text}");
        let connected = alice.connects("octocat").await.is("connected").text();
        assert!(!connected.contains("Go back") && connected.contains("Your connections"), "{connected}");
        assert_eq!(id_of(&world, "files").await, id);
        assert_eq!(api.elicitation(&link.id).await["state"], "completed", "it is satisfied by the same");
    }
    // Two presses make one question, and no client is told of it as its own.
    rows::change(&world.database, "UPDATE connections SET status = 'needs_reconnect', reason = NULL").await;
    let mut places = Vec::new();
    for _ in 0..2 {
        alice.opens(&format!("{}/connections", world.public_url)).await;
        places.push(alice.presses("/reconnect").await.is("ready").url.clone());
    }
    assert_eq!(places[0], places[1]);
}

async fn everything_can_be_disconnected_at_once(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    connected(&world, "files", &mut alice, "octocat").await;
    connected(&world, "notes", &mut alice, "hubot").await;
    alice.opens(&format!("{}/connections", world.public_url)).await.is("connections");
    let all = alice.page().link_to("/disconnect-all");
    let text = alice.clicks(all).await.is("disconnect-all").text();
    assert!(text.contains("octocat") && text.contains("hubot"), "{text}");
    let forged = alice.page().form_to("/disconnect-all").set("csrf", "");
    assert_eq!(alice.submits(forged).await.status, 403);
    alice.opens(&format!("{}/connections/disconnect-all", world.public_url)).await;
    let text = alice.presses("/disconnect-all").await.is("disconnected").text();
    assert!(text.contains("Everything is disconnected") && text.contains("octocat"), "{text}");
    alice.reloads().await.is("disconnected");
    for server in ["files", "notes"] {
        assert_eq!(world.api(server).resolves("alice", FILES).await["status"], "action_required");
    }
    assert_eq!(world.files.revocations().len(), 2);
    alice.opens(&format!("{}/connections/disconnect-all", world.public_url)).await.is("disconnect-all");
    alice.presses("/disconnect-all").await.is("connections");
}

async fn the_past_of_a_connection_is_told(db: Database) {
    let world = World::start(db).await;
    let mut alice = world.browser();
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.declines().await.is("declined");
    world.advance(Duration::from_secs(86_400));
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.connects("octocat").await.is("connected");
    let id = id_of(&world, "files").await;
    let text = alice.opens(&format!("{}/connections/{id}", world.public_url)).await.is("connection").text();
    let declined = text.find("you said no, asked in Some Client").expect("the no");
    let connected = text.find("connected, as asked in Some Client").expect("the yes");
    assert!(connected < declined, "{text}");
}
