//! What others do with the form: nothing of it reaches the service, and nothing is stored.

use reqwest::Method;

use super::{KEY, KEYS, at_the_form, start};
use crate::{
    engine::Database,
    rows::rows,
    world::{Browser, encode},
};

on_both_engines! {
    r3_nobody_types_for_another,
    r39_a_form_from_elsewhere_is_refused,
    r52_a_form_is_read_strictly,
    r70_tries_are_counted_for_one_person_alone,
}

fn fields(pairs: &[(&str, &str)]) -> String {
    encode(&pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>())
}

fn token(browser: &Browser) -> String {
    let form = browser.key_form();
    form.fields.into_iter().find(|(name, _)| name == "csrf").expect("a token").1
}

/// The comparison stands before the form and before what is posted.
async fn r3_nobody_types_for_another(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let (alices, bobs) = (api.asks("alice", KEYS).await, api.asks("bob", KEYS).await);
    let mut bob = at_the_form(&world, "bob", &bobs.url).await;
    let form = bob.key_form().set("api_key", KEY);
    let before = rows(&world.database).await["connections"].clone();
    bob.opens(&alices.url).await.is("wrong-account");
    let url = format!("{}/connect/{}/secret", world.public_url, alices.id).parse().unwrap();
    let answer = bob.request(Method::POST, url, Some(encode(&form.fields))).await.is("wrong-account").clone();
    assert_eq!(answer.status, 403);
    // Without a sign-in there is no form and no answer to one.
    let mut nobody = world.browser();
    nobody.opens(&alices.url).await.is("sign-in");
    let url = format!("{}/connect/{}/secret", world.public_url, alices.id).parse().unwrap();
    nobody.request(Method::POST, url, Some(fields(&[("api_key", KEY)]))).await;
    nobody.follows().await.is("sign-in");
    assert!(service.log().entries().is_empty());
    assert_eq!(rows(&world.database).await["connections"], before);
    assert_eq!(api.elicitation(&alices.id).await["state"], "pending");
}

async fn r39_a_form_from_elsewhere_is_refused(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let (alices, bobs) = (api.asks("alice", KEYS).await, api.asks("bob", KEYS).await);
    let alice = at_the_form(&world, "alice", &alices.url).await;
    let bob = at_the_form(&world, "bob", &bobs.url).await;
    let (own, foreign) = (token(&alice), token(&bob));
    let forgeries: [(&str, &str); 5] = [
        ("", "same-origin"),
        (&foreign, "same-origin"),
        (&own[1..], "same-origin"),
        (&own, "cross-site"),
        (&own, "same-site"),
    ];
    for (csrf, site) in forgeries {
        let mut tab = alice.tab();
        tab.more_headers.insert("sec-fetch-site", site.parse().unwrap());
        let url = format!("{}/connect/{}/secret", world.public_url, alices.id).parse().unwrap();
        let body = fields(&[("csrf", csrf), ("api_key", KEY), ("save", "unchecked")]);
        assert_eq!(tab.request(Method::POST, url, Some(body)).await.status, 403, "{site}");
    }
    assert!(service.log().entries().is_empty() && rows(&world.database).await["connections"].is_empty());
}

async fn r52_a_form_is_read_strictly(db: Database) {
    let (world, service) = start(db).await;
    let link = world.api("files").asks("alice", KEYS).await;
    let mut alice = at_the_form(&world, "alice", &link.url).await;
    let csrf = token(&alice);
    let url: reqwest::Url = format!("{}/connect/{}/secret", world.public_url, link.id).parse().unwrap();
    let huge = "x".repeat(3 << 20);
    let long = format!("sk_{}", "x".repeat(5_000));
    for (pairs, status) in [
        (vec![("csrf", &*csrf), ("api_key", KEY), ("api_key", KEY)], 400),
        (vec![("csrf", &*csrf), ("api_key", KEY), ("save", "please")], 400),
        (vec![("csrf", &*csrf), ("api_key", &*huge)], 413),
        (vec![("csrf", &*csrf), ("api_key", &*long)], 422),
        (vec![("csrf", &*csrf), ("api_key", "sk_a\r\nX-Evil: 1")], 422),
        (vec![("csrf", &*csrf), ("api_key", "sk_a\0b")], 422),
        (vec![("csrf", &*csrf), ("api_key", KEY), ("plan", "c")], 422),
        (vec![("csrf", &*csrf), ("API_KEY", KEY)], 422),
    ] {
        let answer = alice.request(Method::POST, url.clone(), Some(fields(&pairs))).await.clone();
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(!answer.html.contains(KEY) && !answer.html.contains("X-Evil"));
    }
    // In the address it is never read.
    let address = format!("{url}?api_key={KEY}").parse().unwrap();
    let answer = alice.request(Method::POST, address, Some(fields(&[("csrf", &csrf)]))).await.clone();
    assert_eq!(answer.status, 422);
    assert!(service.log().entries().is_empty() && rows(&world.database).await["connections"].is_empty());
}

async fn r70_tries_are_counted_for_one_person_alone(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let (alices, bobs) = (api.asks("alice", KEYS).await, api.asks("bob", KEYS).await);
    let mut alice = at_the_form(&world, "alice", &alices.url).await;
    let form = alice.key_form().set("api_key", super::WRONG);
    let mut statuses = Vec::new();
    while statuses.last() != Some(&429) && statuses.len() < 50 {
        statuses.push(alice.submits(form.clone()).await.status.as_u16());
    }
    assert_eq!(statuses.len(), 11, "{statuses:?}");
    alice.page().is("too-many-requests");
    assert!(!alice.page().header("retry-after").is_empty());
    let mut bob = at_the_form(&world, "bob", &bobs.url).await;
    let form = bob.key_form().set("api_key", super::WRONG);
    bob.submits(form).await.is("secret-rejected");
    assert_eq!(service.log().entries().len(), 11);
    // It spends nothing: later the right one is taken.
    world.advance(std::time::Duration::from_secs(60));
    alice.opens(&alices.url).await.is("secret-form");
    let form = alice.key_form().set("api_key", KEY);
    alice.submits(form).await;
    alice.follows().await.is("connected");
}
