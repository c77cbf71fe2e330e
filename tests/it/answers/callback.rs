//! What the way back says beside a code: signed, kept, and which permissions were given.

use aws_lc_rs::hmac;
use consentry::{
    config::{CallbackSignature, CaptureFrom, SignatureStyle},
    scope::Scopes,
};
use reqwest::Url;
use serde_json::json;

use super::{capture, files, ready};
use crate::{
    engine::Database,
    rows::rows,
    world::{Browser, FILES, Link, World},
};

on_both_engines! {
    what_the_way_back_says_is_kept,
    r59_a_code_without_the_right_signature_is_not_used,
    what_was_granted_may_be_said_on_the_way_back,
}

/// Alice has approved, and has not taken the way back.
async fn about_to_return(world: &World) -> (Browser, Link, Url) {
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(world, &link).await;
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    let callback = alice.approves("octocat").await.location().expect("the way back");
    (alice, link, callback)
}

fn with(url: &Url, name: &str, value: &str) -> Url {
    let mut url = url.clone();
    url.query_pairs_mut().append_pair(name, value);
    url
}

/// As the provider signs, with this key.
fn signed(url: &Url, key: &str) -> Url {
    let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    pairs.sort();
    let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()), text.as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    with(url, "hmac", &hex)
}

async fn what_the_way_back_says_is_kept(db: Database) {
    let world = World::start_with(db, |settings| {
        let captures = &mut files(settings).reads.captures;
        captures.insert("realm_id".into(), capture(CaptureFrom::Callback, "realmId", &[]));
        captures.insert("shop".into(), capture(CaptureFrom::Callback, "shop", &[".files.example"]));
    })
    .await;
    let api = world.api("files");
    let (mut alice, link, callback) = about_to_return(&world).await;
    // R73: a host that is not the provider's, and one that is missing. The code is not used.
    for shop in ["evil.example", "one.files.example.evil.example"] {
        let back = with(&with(&callback, "realmId", "42"), "shop", shop);
        alice.opens(back.as_str()).await.is("provider-unreachable");
        assert_eq!(world.redeemed(), 0, "{shop}");
        alice.opens(&link.url).await.is("ready");
        alice.agrees().await.is("leaving");
        alice.leaves().await;
        alice.approves("octocat").await;
    }
    let callback = alice.page().location().expect("the way back");
    let back = with(&with(&callback, "realmId", "42"), "shop", "One.files.example");
    alice.opens(back.as_str()).await.is("connected");
    let values = json!({"realm_id": "42", "shop": "one.files.example"});
    assert_eq!(api.resolves("alice", FILES).await["credential"]["values"], values);
}

/// R59, R61: the code is used only when the whole of the way back is signed with the client's secret.
async fn r59_a_code_without_the_right_signature_is_not_used(db: Database) {
    let world = World::start_with(db, |settings| {
        files(settings).reads.callback_signature =
            Some(CallbackSignature { param: "hmac".into(), style: SignatureStyle::SortedQueryHex });
    })
    .await;
    let secrets = world.secrets();
    let secret = &secrets.iter().find(|(what, _)| *what == "the client secret").expect("it has one").1;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let good = signed(&with(&callback, "shop", "one"), secret);
    let moved = Url::parse(&good.as_str().replace("shop=one", "shop=two")).unwrap();
    let forged = signed(&with(&callback, "shop", "one"), "guess");
    let empty = with(&callback, "hmac", "");
    for bad in [&callback, &moved, &forged, &empty] {
        alice.opens(bad.as_str()).await.is("provider-mismatch");
        assert_eq!(world.files.token_requests().len(), 0, "{bad}");
        assert!(rows(&world.database).await["connections"].is_empty());
    }
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "authorizing");
    // Nothing was spent by it.
    alice.opens(good.as_str()).await.is("connected");
    assert_eq!(world.redeemed(), 1);
}

async fn what_was_granted_may_be_said_on_the_way_back(db: Database) {
    let world = World::start_with(db, |settings| {
        let provider = files(settings);
        provider.reads.answer.scope = Some("nowhere".into());
        provider.reads.answer.scope_from_callback = Some("scope".into());
        provider.scopes = Scopes::new(["files.read", "profile"]).unwrap();
    })
    .await;
    let (mut alice, _, callback) = about_to_return(&world).await;
    alice.opens(with(&callback, "scope", "files.read,other").as_str()).await.is("partly-connected");
    let credential = world.api("files").resolves("alice", FILES).await["credential"].clone();
    assert_eq!(credential["scopes"], json!(["files.read", "other"]));
    assert_eq!(credential["missing_scopes"], json!(["profile"]));
}
