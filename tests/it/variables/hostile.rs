//! Values and browsers that want it to lead elsewhere.

use std::time::Duration;

use consentry_fakes::{Answer, Listen, Provider};
use serde_json::{Value, json};

use super::{FIRST, SECOND, Stand, types};
use crate::{
    engine::Database,
    world::{FILES, Form, link},
};

on_both_engines!(
    r73_no_value_leads_out_of_the_providers_hosts,
    r73_a_stored_value_is_held_against_the_rules_again,
    r87_one_host_does_not_hold_the_others_back,
    r3_nobody_else_says_where_it_is,
    r39_a_form_from_elsewhere_says_nothing,
);

/// What an attacker would type to receive a code, or to reach what is not on the internet.
const HOSTILE: [&str; 31] = [
    "127.0.0.66",
    "evil.com#",
    "evil.com#.127.0.0.13",
    "a.b/..",
    "127.0.0.13/../evil",
    "user@127.0.0.66",
    "127.0.0.13@127.0.0.66",
    "127.0.0.13:80@127.0.0.66",
    "127.0.0.13.",
    "127.0.0.13.evil.com",
    "xn--127-0-0-13",
    "１２７.0.0.13",
    "127.0.0.13\\@127.0.0.66",
    "169.254.169.254",
    "[::1]",
    "localhost",
    "2130706433",
    "0x7f000001",
    "127.0.0.66:443",
    "127.0.0.13:443",
    "127.0.0.13%2e",
    "127%2E0.0.66",
    "127。0。0。66",
    "127.0.0.13\u{200b}",
    "[::ffff:127.0.0.66]",
    "127.0.0.13?x",
    "//127.0.0.66",
    "https://127.0.0.66/",
    "https:127.0.0.66",
    "{client_secret}",
    "..",
];

async fn r73_no_value_leads_out_of_the_providers_hosts(db: Database) {
    let stand = Stand::new(db).await;
    let port = stand.world.files.address().port();
    let evil = Provider::start(Listen::on(std::net::Ipv4Addr::new(127, 0, 0, 66)).port(port)).await.unwrap();
    let mut alice = stand.opens(&stand.resolves(Value::Null).await).await;
    for value in HOSTILE {
        let body = stand.tries(json!({ "site": value })).await.expect(400);
        assert_eq!(body["code"], "variable_invalid", "{value}: {body}");
        let form = alice.page().form_to("/input").set("site", value);
        alice.submits(form).await.is("needs-input");
    }
    assert_eq!(evil.log().entries().len(), 0);
    assert_eq!(stand.redeemed(), [0, 0]);
}

/// Whoever writes into the database does not choose the host either.
async fn r73_a_stored_value_is_held_against_the_rules_again(db: Database) {
    let stand = Stand::new(db).await;
    let answer = stand.resolves(Value::Null).await;
    let mut alice = stand.opens(&answer).await;
    types(&mut alice, SECOND).await;
    let mut raw = crate::contract::raw::Raw::connect(&stand.world.database).await;
    assert_eq!(raw.run("UPDATE elicitations SET typed_json = '{\"site\":\"127.0.0.66\"}'").await, 1);
    alice.opens(&link(&answer["elicitation"]).url).await.is("needs-input");
    types(&mut alice, SECOND).await;
    alice.connects("octocat").await.is("connected");
    assert_eq!(raw.run("UPDATE connections SET values_json = '{\"site\":\"127.0.0.66\"}'").await, 1);
    // It leads nowhere now: nothing is sent, and alice is asked.
    assert_eq!(stand.resolves(Value::Null).await["status"], "action_required");
    assert_eq!(stand.redeemed(), [0, 1]);
}

/// Who answers at one customer's host has no say over the others' refreshes: neither by refusing our client nor by failing.
async fn r87_one_host_does_not_hold_the_others_back(db: Database) {
    let stand = Stand::new(db).await;
    let api = stand.world.api("files");
    let mut alice = stand.opens(&stand.resolves(json!({ "site": SECOND })).await).await;
    alice.connects("octocat").await.is("connected");
    let mut bobs = api.question("bob", FILES);
    bobs["variables"] = json!({ "site": FIRST });
    let asked = api.post("/v1/credentials/resolve", &bobs).await.expect(200);
    let mut bob = stand.world.browser();
    bob.opens(&link(&asked["elicitation"]).url).await;
    bob.signs_in("bob").await.is("ready");
    bob.connects("hubot").await.is("connected");
    for (generation, answer) in
        [(2, Answer::json(401, &json!({ "error": "invalid_client" }))), (3, Answer::status(503))]
    {
        stand.world.advance(Duration::from_secs(3_700));
        stand.second.clock().advance(Duration::from_secs(3_700));
        for _ in 0..6 {
            stand.second.next_token_answer(answer.clone());
            stand.tries(Value::Null).await.expect(503);
            stand.world.advance(Duration::from_secs(31));
        }
        let answer = api.resolves("bob", FILES).await;
        assert_eq!(
            (&answer["status"], &answer["connection"]["generation"]),
            (&json!("ready"), &json!(generation))
        );
    }
}

async fn r3_nobody_else_says_where_it_is(db: Database) {
    let stand = Stand::new(db).await;
    let answer = stand.resolves(Value::Null).await;
    let alice = stand.opens(&answer).await;
    let asked = link(&answer["elicitation"]);
    let mut bob = stand.world.browser();
    bob.opens(&asked.url).await;
    bob.signs_in("bob").await.is("wrong-account");
    // With a form of his own, for the same page.
    let api = stand.world.api("files");
    let bobs = api.asks("bob", super::FILES).await;
    bob.opens(&bobs.url).await.is("needs-input");
    let form = bob.page().form_to("/input").set("site", SECOND);
    let form = Form { action: alice.page().form_to("/input").action, ..form };
    bob.submits(form).await.is("wrong-account");
    let id = asked.id.parse().unwrap();
    assert!(stand.world.database.store.elicitation(id).await.unwrap().unwrap().typed.is_empty());
}

async fn r39_a_form_from_elsewhere_says_nothing(db: Database) {
    let stand = Stand::new(db).await;
    let answer = stand.resolves(Value::Null).await;
    let mut alice = stand.opens(&answer).await;
    let form = alice.page().form_to("/input").set("site", SECOND).set("csrf", "guessed");
    alice.submits(form).await.is("bad-request");
    let id = link(&answer["elicitation"]).id.parse().unwrap();
    assert!(stand.world.database.store.elicitation(id).await.unwrap().unwrap().typed.is_empty());
}
