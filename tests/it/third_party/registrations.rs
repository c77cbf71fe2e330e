//! Clients that Consentry registers by itself: once, sealed, and again only when that is the only way on.

use std::time::Duration;

use consentry_fakes::{Answer, Person};
use serde_json::{Value, json};

use super::{DYNAMIC, Stand, TOOLS};
use crate::{engine::Database, rows::rows};

on_both_engines!(
    two_that_begin_at_once_register_once,
    each_mcp_server_has_a_client_of_its_own,
    what_is_registered_is_asked_for_plainly_and_kept_sealed,
    an_ended_secret_is_replaced,
    a_client_that_is_not_known_any_more_is_registered_again,
    a_registration_that_fails_is_not_tried_at_once_again,
    one_odd_refusal_of_a_refresh_disconnects_nobody,
);

/// In one process and in another, which share nothing but the database.
async fn two_that_begin_at_once_register_once(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    let replica = stand.world.replica().await;
    let mut alice = stand.arrives(&stand.asks().await).await;
    let (api, mut bob, mut carol) = (stand.world.api("files"), stand.world.browser(), stand.world.browser());
    stand.world.id.add_person(Person::new("carol", "Carol"));
    for (browser, person) in [(&mut bob, "bob"), (&mut carol, "carol")] {
        browser.opens(&api.asks(person, TOOLS).await.url).await;
        browser.signs_in(person).await.is("ready");
    }
    let own = stand.world.public_url.strip_prefix("http://").unwrap();
    let mut form = carol.page().form_to("/continue");
    let cookie = carol.jar().header(&form.action, false, stand.world.clock.now()).unwrap();
    form.action = form.action.as_str().replacen(own, &replica.address, 1).parse().unwrap();
    for (name, value) in [
        ("host", own),
        ("cookie", &cookie),
        ("origin", &stand.world.public_url),
        ("sec-fetch-site", "same-origin"),
    ] {
        carol.more_headers.insert(name, value.parse().unwrap());
    }
    stand.third.always_answer("/register", Answer::genuine().delayed(Duration::from_millis(300)));
    tokio::join!(alice.agrees(), bob.agrees(), carol.submits(form));
    for page in [alice.page(), bob.page()] {
        page.is("leaving");
    }
    assert!(carol.page().location().unwrap().path().ends_with("/leaving"), "{}", carol.page().text());
    assert_eq!(stand.asked("/register"), 1);
    replica.stops().await;
}

async fn each_mcp_server_has_a_client_of_its_own(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    stand.connected().await;
    let link = stand.world.api("notes").asks("alice", TOOLS).await;
    let mut alice = stand.arrives(&link).await;
    stand.allows(&mut alice).await;
    alice.page().is("connected");
    assert_eq!(stand.asked("/register"), 2);
    let log = stand.third.token_log();
    assert_ne!(log[0].client_id, log[1].client_id);
}

fn registered(stand: &Stand) -> Vec<Value> {
    let log = stand.third.log().entries().into_iter();
    log.filter(|one| one.path == "/register").map(|one| serde_json::from_slice(&one.body).unwrap()).collect()
}

async fn what_is_registered_is_asked_for_plainly_and_kept_sealed(db: Database) {
    let token = "issuer = \"{issuer}\"\nregistration_token = { value = \"the-initial-token-of-tools\" }";
    let stand = Stand::with(db.clone(), &format!("{DYNAMIC}\n{token}\nscopes = [\"mcp\"]")).await;
    stand.connected().await;
    let expected = json!({
        "client_name": "The files tools",
        "redirect_uris": [format!("{}/callback/files/{TOOLS}", stand.world.public_url)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "application_type": "native",
        "scope": "mcp offline_access",
    });
    assert_eq!(registered(&stand), [expected]);
    let entries = stand.third.log().entries();
    let with_token: Vec<&str> = entries
        .iter()
        .filter(|one| one.headers.iter().any(|(_, value)| value.contains("the-initial-token-of-tools")))
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(with_token, ["/register"]);
    // R98: its secret is nowhere in the clear.
    let id = stand.third.token_log()[0].client_id.clone().unwrap();
    let client = stand.third.client(&id).unwrap();
    let consentry_fakes::Authentication::Basic(secret) = client.authentication else { panic!("{client:?}") };
    let stored = rows(&db).await;
    assert!(stored["client_registrations"].iter().any(|row| row.contains(&id)), "{stored:?}");
    assert!(stored.values().flatten().all(|row| !row.contains(&secret)));
}

async fn an_ended_secret_is_replaced(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    let end = stand.third.clock().now_s() + 2 * 3_600;
    stand.third.next_answer("/register", Answer::with_member("client_secret_expires_at", json!(end)));
    stand.connected().await;
    stand.advance(Duration::from_secs(3_700));
    assert_eq!(stand.resolves().await["connection"]["generation"], 2);
    assert_eq!(stand.asked("/register"), 1);
    // The grant is of a client that can prove itself no more.
    stand.advance(Duration::from_secs(3_700));
    let link = stand.asks().await;
    assert_eq!((stand.asked("/register"), stand.third.token_log().len()), (2, 2));
    let mut alice = stand.arrives(&link).await;
    stand.allows(&mut alice).await;
    alice.page().is("connected");
    assert_eq!(stand.asked("/register"), 2);
}

async fn a_client_that_is_not_known_any_more_is_registered_again(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    stand.connected().await;
    let id = stand.third.token_log()[0].client_id.clone().unwrap();
    stand.third.forget(&id);
    stand.advance(Duration::from_secs(3_700));
    let api = stand.world.api("files");
    let question = api.question("alice", TOOLS);
    // Refused, and once more; then there is another client, and what the former one was granted is over.
    stand
        .world
        .until(async || {
            stand.advance(Duration::from_secs(31));
            let answer = api.post("/v1/credentials/resolve", &question).await;
            answer.status == 200 && answer.body["status"] == "action_required"
        })
        .await;
    assert_eq!(stand.asked("/register"), 2);
    let mut alice = stand.arrives(&stand.asks().await).await;
    stand.allows(&mut alice).await;
    alice.page().is("connected");
    assert_eq!(stand.asked("/register"), 2);
    // With a code it needs no second word, and the same link goes on. Not at once: a client is registered once in a while.
    let bob = api.asks("bob", TOOLS).await;
    let mut bob_at = stand.world.browser();
    bob_at.opens(&bob.url).await;
    bob_at.signs_in("bob").await;
    let authorize = stand.leaves(&mut bob_at).await;
    let back = stand.third.approve(&authorize, "bob").await.unwrap();
    stand.third.next_token_answer(Answer::error(401, "invalid_client"));
    bob_at.opens(&back).await.is("provider-misconfigured");
    bob_at.opens(&bob.url).await;
    bob_at.agrees().await.is("provider-unreachable");
    assert_eq!(stand.asked("/register"), 2);
    stand.advance(Duration::from_secs(601));
    bob_at.opens(&bob.url).await;
    bob_at.agrees().await.is("leaving");
    assert_eq!(stand.asked("/register"), 3);
}

async fn a_registration_that_fails_is_not_tried_at_once_again(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    stand.third.always_answer("/register", Answer::error(400, "invalid_client_metadata"));
    let mut alice = stand.arrives(&stand.asks().await).await;
    alice.agrees().await.is("provider-misconfigured");
    let link = stand.asks().await;
    for _ in 0..3 {
        alice.opens(&link.url).await;
        alice.agrees().await.is("provider-unreachable");
    }
    assert_eq!(stand.asked("/register"), 1);
    stand.third.answer_normally("/register");
    stand.advance(Duration::from_secs(31));
    alice.opens(&link.url).await;
    alice.agrees().await.is("leaving");
}

async fn one_odd_refusal_of_a_refresh_disconnects_nobody(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    stand.connected().await;
    stand.third.next_token_answer(Answer::error(401, "invalid_client"));
    stand.advance(Duration::from_secs(3_700));
    let api = stand.world.api("files");
    let question = api.question("alice", TOOLS);
    stand
        .world
        .until(async || {
            stand.advance(Duration::from_secs(31));
            let answer = api.post("/v1/credentials/resolve", &question).await;
            answer.status == 200 && answer.body["status"] == "ready"
        })
        .await;
    assert_eq!(stand.asked("/register"), 1);
}
