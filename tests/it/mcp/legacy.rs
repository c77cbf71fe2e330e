//! The legacy era: sessions that belong to a person, questions within a call, `-32042`, and the notification of completion.

use std::time::Duration;

use consentry_elicitation::{
    Capability,
    ElicitAction::{Accept, Cancel, Decline},
    Prefer,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::desk::{Desk, SETTLED, data, id_of, link, options, said};
use crate::{engine::Database, world::FILES};

on_both_engines! {
    a_handshake_agrees_on_a_version_that_is_spoken,
    e3_e13_e14_e15_m30_a_form_and_a_link_within_the_call_and_then_the_completion,
    e21_every_other_answer_of_a_client_is_handled,
    e16_e17_e18_e19_a_client_may_be_given_the_link_by_an_error,
    e14_m29_only_the_session_that_asked_is_told_once,
    e7_a_session_is_asked_only_as_it_declared,
    e22_p17_p18_p19_a_session_is_its_persons_and_proves_nothing,
    a_session_that_was_ended_is_unknown,
    e30_a_strangers_answer_is_heard_by_nobody,
    e20_common_failures_have_their_errors,
    a_link_that_is_used_before_the_client_answers_ends_the_wait,
    p17_a_stream_ends_with_the_token_that_opened_it,
    a_stream_ends_with_its_session,
    m31_a_call_that_waits_for_a_person_gives_signs_of_life,
    e43_a_call_keeps_its_seat_while_it_waits_for_the_link,
}

fn nothing() -> Value {
    json!({})
}

fn files() -> Value {
    json!({ "server": "files", "provider": FILES })
}

async fn a_handshake_agrees_on_a_version_that_is_spoken(db: Database) {
    let desk = Desk::start(db).await;
    for (wanted, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("draft", "2025-11-25"),
    ] {
        let mut codex = desk.client("alice", Capability::BOTH);
        let result = codex.begins(wanted).await;
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!((&result["capabilities"], result.get("resultType")), (&json!({ "tools": {} }), None));
        assert_eq!(result["serverInfo"]["name"], "consentry");
        assert_eq!(codex.says("ping", nothing()).await.json()["result"], nothing());
        let listed = codex.says("tools/list", nothing()).await.json()["result"].take();
        assert_eq!(listed["tools"].as_array().unwrap().len(), 3);
        assert!(listed.get("ttlMs").is_none() && listed.get("_meta").is_none(), "of the other era: {listed}");
    }
}

async fn e3_e13_e14_e15_m30_a_form_and_a_link_within_the_call_and_then_the_completion(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let mut talk = codex.begins_call("connect", nothing()).await;
    let (id, params) = talk.question().await;
    let place = options(&params, "connection")[0].0.clone();
    assert_eq!(place, format!("files/{FILES}"));
    talk.answers(&id, Accept, Some(json!({ "connection": place }))).await;
    let (id, params) = talk.question().await;
    let link = link(&params);
    assert_eq!(params["elicitationId"], id_of(&link).to_string());
    talk.answers(&id, Accept, None).await;
    let mut alice = desk.world.browser();
    alice.opens(&link).await;
    let ready = alice.signs_in("alice").await.is("ready").text();
    assert!(ready.contains("A strict client"), "P15: {ready}");
    alice.connects("octocat").await.is("connected");
    assert_eq!(talk.completion().await, params["elicitationId"]);
    let result = talk.result().await;
    assert_eq!(data(&result)["connection"]["account"], "octocat");
    assert!(result["body"].get("resultType").is_none() && result["body"].get("_meta").is_none());

    // The MCP server whose connection it is learns of it, and is not asked to notify anybody.
    let page = desk.world.api("files").get("/v1/events?after=0").await.expect(200);
    let ended =
        page["events"].as_array().unwrap().iter().find(|it| it["type"] == "elicitation.completed").unwrap();
    assert!(ended["data"].get("mcp").is_none() && ended["data"]["client_ref"].is_null(), "{ended}");

    let mut talk = codex.begins_call("disconnect", nothing()).await;
    let (id, params) = talk.question().await;
    let connection = options(&params, "connection")[0].0.clone();
    talk.answers(&id, Accept, Some(json!({ "connection": connection, "confirm": true }))).await;
    assert_eq!(data(&talk.result().await)["disconnected"], true);
    let listed = codex.begins_call("list_connections", nothing()).await.result().await;
    assert_eq!(data(&listed), &json!({ "connections": [] }));
}

async fn e21_every_other_answer_of_a_client_is_handled(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    for (action, word) in [(Decline, "declined"), (Cancel, "cancelled")] {
        let mut talk = codex.begins_call("connect", nothing()).await;
        let (id, _) = talk.question().await;
        talk.answers(&id, action, None).await;
        assert!(said(&talk.result().await).contains(word));
        let mut talk = codex.begins_call("connect", files()).await;
        let (id, params) = talk.question().await;
        talk.answers(&id, action, None).await;
        assert!(said(&talk.result().await).contains(word));
        let asked = desk.world.api("files").elicitation(&id_of(&link(&params)).to_string()).await;
        assert_eq!(asked["state"], word);
    }
    // Values that do not fit are asked for again, three times at most.
    let mut talk = codex.begins_call("connect", nothing()).await;
    for _ in 0..3 {
        let (id, _) = talk.question().await;
        talk.answers(&id, Accept, Some(json!({ "connection": "elsewhere" }))).await;
    }
    assert!(said(&talk.result().await).contains("cannot be used"));
    // It fails the request, or answers what is no answer: the link in words.
    for answer in [json!({ "error": { "code": -32603, "message": "m" } }), json!({ "result": 7 })] {
        let mut talk = codex.begins_call("connect", files()).await;
        let (id, params) = talk.question().await;
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        assert_eq!(talk.agent.posts(&message).await.status, 202);
        assert!(said(&talk.result().await).contains(&link(&params)));
    }
    // It accepts, and nobody opens the link.
    let mut talk = codex.begins_call("connect", files()).await;
    let (id, params) = talk.question().await;
    talk.answers(&id, Accept, None).await;
    let told = desk.while_a_leg_passes(talk.result()).await;
    assert!(said(&told).contains(&link(&params)) && said(&told).contains("still waiting"), "{told}");
    // It is gone in the middle; the link stays good.
    let mut talk = codex.begins_call("connect", files()).await;
    let (_, params) = talk.question().await;
    drop(talk);
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link(&params), "octocat").await;
}

async fn e16_e17_e18_e19_a_client_may_be_given_the_link_by_an_error(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.mcp.iter_mut().for_each(|mcp| mcp.legacy_links = Prefer::Error);
    })
    .await;
    let mut code = desk.session("alice", Capability::BOTH).await;
    let mut stream = code.listens().await;
    let error = code.begins_call("connect", files()).await.result().await;
    assert_eq!(error["body"]["code"], -32042, "{error}");
    let asked = error["body"]["data"]["elicitations"][0].clone();
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link(&asked), "octocat").await;
    let told = stream.message().await;
    assert_eq!(told["params"]["elicitationId"], asked["elicitationId"]);
    let result = code.begins_call("connect", files()).await.result().await;
    assert_eq!(data(&result)["connected"], true);
    // What repeating would ask again is asked within the call.
    let mut again = files();
    again["again"] = true.into();
    let mut talk = code.begins_call("connect", again).await;
    let (id, _) = talk.question().await;
    talk.answers(&id, Decline, None).await;
    said(&talk.result().await);
    // A client without links is told in words, and never by that error.
    let mut none = desk.session("bob", Capability::FORM).await;
    assert!(said(&none.begins_call("connect", files()).await.result().await).contains("/connect?"));
}

async fn e14_m29_only_the_session_that_asked_is_told_once(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.mcp.iter_mut().for_each(|mcp| mcp.legacy_links = Prefer::Error);
    })
    .await;
    let (mut one, two) =
        (desk.session("alice", Capability::BOTH).await, desk.session("alice", Capability::BOTH).await);
    let bobs = desk.session("bob", Capability::BOTH).await;
    let (mut ones, mut twos, mut bobs) = (one.listens().await, two.listens().await, bobs.listens().await);
    let error = one.begins_call("connect", files()).await.result().await;
    let asked = error["body"]["data"]["elicitations"][0].clone();
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link(&asked), "octocat").await;
    assert_eq!(ones.message().await["params"]["elicitationId"], asked["elicitationId"]);
    // What was asked within a call is told on that call's stream alone.
    let mut again = files();
    again["again"] = true.into();
    let mut talk = one.begins_call("connect", again).await;
    let (id, params) = talk.question().await;
    alice.opens(&link(&params)).await.is("already-connected");
    alice.connects("octocat").await.is("connected");
    talk.answers(&id, Accept, None).await;
    assert_eq!(talk.completion().await, params["elicitationId"]);
    data(&talk.result().await);
    for stream in [&mut ones, &mut twos, &mut bobs] {
        assert_eq!(stream.silent().await, None);
    }
}

async fn e7_a_session_is_asked_only_as_it_declared(db: Database) {
    let desk = Desk::start(db).await;
    let mut forms = desk.session("alice", Capability::FORM).await;
    let mut talk = forms.begins_call("connect", nothing()).await;
    let (id, params) = talk.question().await;
    let place = options(&params, "connection")[0].0.clone();
    talk.answers(&id, Accept, Some(json!({ "connection": place }))).await;
    assert!(said(&talk.result().await).contains("/connect?elicitationId="));
    let mut none = desk.session("alice", Capability::NONE).await;
    for (arguments, words) in [(nothing(), "`provider`"), (files(), "/connect?elicitationId=")] {
        let reply = none.begins_call("connect", arguments).await.result().await;
        assert!(said(&reply).contains(words), "{reply}");
    }
    // One that declares links with an older version is served as it declares, in that version's words.
    let mut codex = desk.client("alice", Capability::BOTH);
    codex.begins("2025-06-18").await;
    let mut talk = codex.begins_call("connect", nothing()).await;
    let (id, params) = talk.question().await;
    assert_eq!(params.get("mode"), None);
    let names = params["requestedSchema"]["properties"]["connection"]["enumNames"].as_array().unwrap();
    assert_eq!(names.len(), 4);
    let place = params["requestedSchema"]["properties"]["connection"]["enum"][0].clone();
    talk.answers(&id, Accept, Some(json!({ "connection": place }))).await;
    let (id, _) = talk.question().await;
    talk.answers(&id, Decline, None).await;
    said(&talk.result().await);
}

async fn e22_p17_p18_p19_a_session_is_its_persons_and_proves_nothing(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let session = codex.session.clone().unwrap();
    assert!(session.bytes().all(|byte| byte.is_ascii_graphic()));
    let other = desk.session("alice", Capability::BOTH).await;
    assert_ne!(other.session, codex.session, "no two are alike");
    // Another's token in alice's session, on each way in.
    let mut bobs = codex.with_token(&desk.token("bob"));
    for got in [
        bobs.says("tools/list", nothing()).await,
        bobs.posts(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await,
        bobs.posts(&json!({ "jsonrpc": "2.0", "id": "x", "result": {} })).await,
        super::desk::Got::read(bobs.request(Method::GET).send().await.unwrap()).await,
        super::desk::Got::read(bobs.request(Method::DELETE).send().await.unwrap()).await,
    ] {
        assert_eq!(got.refused(), (404, -32600), "{got:?}");
    }
    // Without a token it opens nothing.
    let mut nobody = codex.clone();
    nobody.token = None;
    assert_eq!(nobody.says("tools/list", nothing()).await.status, 401);
    // Forged, cut, or none at all.
    let flipped =
        format!("{}{}", &session[..session.len() - 1], if session.ends_with('A') { "Q" } else { "A" });
    for forged in [&flipped, &session[1..], "x", &"A".repeat(5_000)] {
        let mut forged = codex.clone().in_session(forged);
        assert_eq!(forged.says("ping", nothing()).await.refused(), (404, -32600));
    }
    let mut without = codex.clone();
    without.session = None;
    assert_eq!(without.says("ping", nothing()).await.refused(), (400, -32600));
    codex.says("ping", nothing()).await.json();
    // It ends by itself.
    desk.world.advance(Duration::from_secs(12 * 3_600));
    let mut later = codex.with_token(&desk.token("alice"));
    assert_eq!(later.says("ping", nothing()).await.status, 404);
}

async fn a_session_that_was_ended_is_unknown(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let mut other = desk.session("alice", Capability::BOTH).await;
    assert_eq!(codex.request(Method::DELETE).send().await.unwrap().status(), 204);
    assert_eq!(codex.says("ping", nothing()).await.status, 404);
    assert_eq!(codex.request(Method::DELETE).send().await.unwrap().status(), 404);
    assert_eq!(other.says("ping", nothing()).await.status, 200);
}

async fn p17_a_stream_ends_with_the_token_that_opened_it(db: Database) {
    let desk = Desk::start(db).await;
    let codex = desk.session("alice", Capability::BOTH).await;
    let stream = codex.listens().await;
    // An hour, and half a minute of leeway.
    let steps = stream.ends_after(&desk, Duration::from_secs(605)).await;
    assert!(steps.is_some_and(|steps| steps >= 6), "{steps:?}");
    let codex = codex.with_token(&desk.token("alice"));
    assert_eq!(codex.listens().await.silent().await, None, "the session goes on");
}

/// At every process; this one is told of it no sooner than another.
async fn a_stream_ends_with_its_session(db: Database) {
    let desk = Desk::start(db).await;
    let codex = desk.session("alice", Capability::BOTH).await;
    let other = desk.session("alice", Capability::BOTH).await;
    let (stream, mut others) = (codex.listens().await, other.listens().await);
    assert_eq!(codex.request(Method::DELETE).send().await.unwrap().status(), 204);
    assert!(stream.ends_after(&desk, Duration::from_secs(15)).await.is_some(), "long before the token does");
    assert_eq!(others.silent().await, None);
}

async fn e30_a_strangers_answer_is_heard_by_nobody(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let others = [desk.session("bob", Capability::BOTH).await, desk.session("alice", Capability::BOTH).await];
    let mut talk = codex.begins_call("connect", files()).await;
    let (id, params) = talk.question().await;
    for other in others {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "decline" } });
        assert_eq!(
            other.posts(&message).await.status,
            202,
            "it says nothing of whether there is such a question"
        );
    }
    let state = desk.world.api("files").elicitation(&id_of(&link(&params)).to_string()).await;
    assert_eq!(state["state"], "pending");
    talk.answers(&id, Cancel, None).await;
    // The first answer stands.
    talk.answers(&id, Accept, None).await;
    assert!(said(&talk.result().await).contains("cancelled"));
}

async fn e20_common_failures_have_their_errors(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    for (method, params, code) in [
        ("server/discover", nothing(), -32601),
        ("prompts/list", nothing(), -32601),
        ("tools/call", nothing(), -32602),
        ("tools/call", json!({ "name": "elsewhere" }), -32602),
        ("tools/call", json!({ "name": "connect", "arguments": [] }), -32602),
    ] {
        assert_eq!(codex.says(method, params).await.refused(), (200, code), "{method}");
    }
    let mut fresh = desk.client("alice", Capability::BOTH);
    for params in [
        nothing(),
        json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
        json!({ "protocolVersion": "2025-11-25", "clientInfo": {} }),
        json!({ "protocolVersion": "2025-11-25", "clientInfo": {}, "capabilities": { "elicitation": 7 } }),
    ] {
        assert_eq!(fresh.says("initialize", params).await.refused(), (200, -32602));
    }
    // What a tool does not take is told to the model.
    let reply = codex.begins_call("connect", json!({ "provider": "elsewhere" })).await.result().await;
    assert!(said(&reply).contains("cannot be connected here"), "{reply}");
    let reply = codex.begins_call("list_connections", json!({ "x": 1 })).await.result().await;
    assert!(said(&reply).contains("another argument"), "{reply}");
    // Another version than was agreed on.
    let got = codex.request(Method::POST).header("mcp-protocol-version", "2025-06-18");
    let got = got.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).send().await.unwrap();
    assert_eq!(got.status(), 400, "it is there twice");
    let mut other = codex.clone();
    other.version = "2025-06-18".parse().unwrap();
    assert_eq!(other.says("ping", nothing()).await.refused(), (400, -32600));
}

async fn a_link_that_is_used_before_the_client_answers_ends_the_wait(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let mut talk = codex.begins_call("connect", files()).await;
    let (id, params) = talk.question().await;
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link(&params), "octocat").await;
    assert_eq!(talk.completion().await, params["elicitationId"]);
    let late = talk.agent.clone();
    data(&talk.result().await);
    let message = json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept" } });
    assert_eq!(late.posts(&message).await.status, 202);
}

/// Until the person has decided, as long as a question lives; a proxy does not take it for dead.
async fn m31_a_call_that_waits_for_a_person_gives_signs_of_life(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let mut talk = codex.begins_call("connect", nothing()).await;
    let (id, _) = talk.question().await;
    for _ in 0..20 {
        desk.world.advance(Duration::from_secs(60));
        assert_eq!(talk.block().await, ": still here");
    }
    talk.answers(&id, Decline, None).await;
    assert!(said(&talk.result().await).contains("declined"));
    let talk = codex.begins_call("disconnect", nothing()).await;
    assert!(said(&talk.result().await).contains("connected nothing"), "what cannot be asked is said at once");
}

/// One person has sixteen, and a client's yes makes none free: the call behind it still waits.
async fn e43_a_call_keeps_its_seat_while_it_waits_for_the_link(db: Database) {
    let desk = Desk::start(db).await;
    let mut codex = desk.session("alice", Capability::BOTH).await;
    let mut talks = Vec::new();
    for _ in 0..16 {
        let mut talk = codex.begins_call("connect", files()).await;
        let (id, _) = talk.question().await;
        talk.answers(&id, Accept, None).await;
        talks.push(talk);
    }
    for talk in &mut talks {
        let quiet = tokio::time::timeout(SETTLED, talk.block()).await;
        assert!(quiet.is_err(), "it waits, and the answer has been heard meanwhile");
    }
    for arguments in [files(), nothing()] {
        let call = json!({ "name": "connect", "arguments": arguments });
        assert_eq!(codex.says("tools/call", call).await.refused(), (200, -32600));
    }
    let mut bobs = desk.session("bob", Capability::BOTH).await;
    let mut talk = bobs.begins_call("connect", files()).await;
    let (id, _) = talk.question().await;
    talk.answers(&id, Decline, None).await;
    said(&talk.result().await);
    // The leg's end frees them.
    for talk in talks {
        assert!(said(&desk.while_a_leg_passes(talk.result()).await).contains("still waiting"));
    }
    let mut talk = codex.begins_call("connect", files()).await;
    let (id, _) = talk.question().await;
    talk.answers(&id, Decline, None).await;
    said(&talk.result().await);
}
