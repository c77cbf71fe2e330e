//! Where nobody can sign in: what the API tells the MCP server to ask, and what a code that was passed on does. Every
//! reply goes through a client that obeys the protocol to the letter.

use std::time::Duration;

use consentry::{
    connect::{self, Browser, CodeCookie, Refusal},
    elicitation::{ElicitationId, State},
    secret::Hash,
};
use consentry_elicitation::{Capability, Client, Model, Prefer, ProtocolVersion};
use serde_json::{Value, json};

use super::{bench::Bench, calls::Caller};
use crate::engine::Database;

on_both_engines!(
    a_legacy_client_is_asked_for_the_code_within_the_call,
    a_modern_client_is_asked_for_the_code_in_a_round_of_its_own,
    r3_three_wrong_codes_end_it,
    r3_twelve_wrong_codes_of_many_clients_end_it,
    wrong_codes_end_nothing_that_has_its_browser,
    r3_a_code_of_another_elicitation_is_wrong,
    the_next_call_asks_for_the_code_where_no_link_is_sent,
    a_client_without_forms_is_told_so,
    several_codes_are_asked_for_one_after_the_other,
    a_no_to_the_form_is_a_no,
    a_lost_browser_is_replaced_by_one_that_shows_a_newer_code,
    r3_codes_of_strangers_shorten_no_wait_and_lengthen_no_rounds,
    a_legacy_client_is_asked_again_for_a_newer_code,
    e7_an_answer_to_the_form_is_heard_from_who_declared_forms,
    codes_are_taken_where_they_are_used,
);

/// A browser that has asked for a code.
struct Shown {
    id: ElicitationId,
    cookie: Hash,
    code: String,
}

impl Shown {
    async fn by(bench: &Bench, id: ElicitationId) -> Self {
        let app = &bench.app;
        let nobody = Browser { session: None, code: &|_| None };
        let visit = connect::look(app, id, nobody).await.unwrap();
        assert!(matches!(connect::open(app, visit.clone()), Err(Refusal::NotSignedIn)));
        let minted = connect::mint(app, &visit).await.unwrap().expect("a code");
        let cookie = CodeCookie::open(&app.vault, id, &minted.cookie).unwrap();
        Self { id, cookie: cookie.hash(), code: cookie.shown().expose().to_owned() }
    }

    /// Whether it is proven to be the owner's, here and now.
    async fn is_proven(&self, bench: &Bench) -> bool {
        let code = |_| Some(self.cookie);
        let visit = connect::look(&bench.app, self.id, Browser { session: None, code: &code }).await.unwrap();
        connect::open(&bench.app, visit).is_ok()
    }
}

fn ask(version: &str, declared: &Value, reference: &str) -> Value {
    json!({
        "provider": "acme",
        "subject": { "sub": "alice" },
        "client": {
            "protocol_version": version,
            "elicitation": declared,
            "method": "tools/call",
            "target": "list_files",
            "ref": reference,
        }
    })
}

fn both() -> Value {
    json!({ "form": {}, "url": {} })
}

fn with_code(body: &Value, code: &str) -> Value {
    let mut body = body.clone();
    body["client"]["code"] = json!(code);
    body
}

/// What the client of this body makes of the reply: nothing is wrong with it.
#[track_caller]
fn takes(body: &Value, reply: &Value) {
    let client = &body["client"];
    let version: ProtocolVersion = client["protocol_version"].as_str().unwrap().parse().unwrap();
    let declared = Capability::declared(Some(&client["elicitation"])).unwrap();
    let prefer = if client["prefer"] == "error" { Prefer::Error } else { Prefer::Request };
    let client = Client::new(version, declared, client["method"].as_str().unwrap()).prefer(prefer);
    assert_eq!(Model::new(&client).receive_value(reply), [], "{reply}");
}

fn id_of(elicitation: &Value) -> ElicitationId {
    elicitation["id"].as_str().unwrap().parse().unwrap()
}

async fn resolves(caller: Caller<'_>, body: &Value) -> Value {
    let answer = caller.resolve(body).await.ok(200);
    if answer["status"] != "ready" {
        takes(body, &answer["reply"]);
    }
    answer
}

/// The form for the code, which holds no code and no link.
#[track_caller]
fn form_of(params: &Value) -> &str {
    assert_eq!(params["mode"], "form", "{params}");
    let fields = params["requestedSchema"]["properties"].as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["code"]);
    assert_eq!(params["requestedSchema"]["required"], json!(["code"]));
    assert!(!params.to_string().contains("://"));
    params["message"].as_str().unwrap()
}

async fn a_legacy_client_is_asked_for_the_code_within_the_call(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2025-11-25", &both(), "one");
    let answer = resolves(bench.coded(), &body).await;
    assert_eq!(answer["reply"]["kind"], "elicitation_request");
    assert_eq!(answer["reply"]["body"]["mode"], "url");
    let id = id_of(&answer["elicitation"]);
    assert_eq!(bench.elicitation(id).await.owner.issuer, "urn:consentry:mcp-server:coded");

    // The client says that the user opened it: now the form.
    let response = json!({ "action": "accept", "client": body["client"] });
    let path = format!("/v1/elicitations/{id}/response");
    let accepted = bench.coded().post(&path, &response).await.ok(200);
    takes(&body, &accepted["reply"]);
    let message = form_of(&accepted["reply"]["body"]);
    assert!(message.contains("localhost:8080") && message.contains("The coded") && message.contains("Acme"));
    let unsaid = bench.coded().post(&path, &json!({ "action": "accept" })).await.ok(200);
    assert_eq!(unsaid["reply"], accepted["reply"]);

    let (hers, mallorys) = (Shown::by(&bench, id).await, Shown::by(&bench, id).await);
    let wrong = resolves(bench.coded(), &with_code(&body, "BBBB-BBBB")).await;
    assert_eq!(wrong["status"], "action_required");
    assert!(form_of(&wrong["reply"]["body"]).ends_with("Tries left: 2."), "{wrong}");
    assert!(!hers.is_proven(&bench).await);

    let typed = with_code(&body, &hers.code.to_lowercase().replace('-', " "));
    for _ in 0..4 {
        let right = resolves(bench.coded(), &typed).await;
        assert_eq!(right["reply"]["kind"], "tool_result", "the page goes on; a link twice helps nobody");
        assert_eq!(id_of(&right["elicitation"]), id);
    }
    assert!(hers.is_proven(&bench).await && !mallorys.is_proven(&bench).await);
    assert!(bench.coded().post(&path, &response).await.ok(200).get("reply").is_none());
    bench.complete(id).await;
    let mut waiting = typed.clone();
    waiting["wait_seconds"] = json!(50);
    assert_eq!(resolves(bench.coded(), &waiting).await["status"], "ready");
}

async fn a_modern_client_is_asked_for_the_code_in_a_round_of_its_own(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2026-07-28", &both(), "");
    let answer = resolves(bench.coded(), &body).await;
    let id = id_of(&answer["elicitation"]);
    let requests = answer["reply"]["body"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["connect-acme"]);
    let retry = |state: &Value, responses: Value| {
        let mut body = body.clone();
        body["request_state"] = state["reply"]["body"]["requestState"].clone();
        body["input_responses"] = responses;
        body["wait_seconds"] = json!(50);
        body
    };
    // No wait before the code: nothing could come of it.
    let accepted = retry(&answer, json!({ "connect-acme": { "action": "accept" } }));
    let second = resolves(bench.coded(), &accepted).await;
    form_of(&second["reply"]["body"]["inputRequests"]["code-acme"]["params"]);
    assert_eq!(second["reply"]["body"]["inputRequests"].as_object().unwrap().len(), 1);
    // An honest replay is told the same.
    assert_eq!(
        resolves(bench.coded(), &accepted).await["reply"]["body"]["inputRequests"],
        second["reply"]["body"]["inputRequests"]
    );

    let hers = Shown::by(&bench, id).await;
    let typed = |code: &str| json!({ "code-acme": { "action": "accept", "content": { "code": code } } });
    let wrong = resolves(bench.coded(), &retry(&second, typed("BBBBBBBB"))).await;
    let message = form_of(&wrong["reply"]["body"]["inputRequests"]["code-acme"]["params"]);
    assert!(message.ends_with("Tries left: 2."), "{message}");
    let mut right = retry(&wrong, typed(&hers.code));
    right["wait_seconds"] = json!(0);
    let waiting = resolves(bench.coded(), &right).await;
    assert_eq!(waiting["reply"]["body"]["inputRequests"], json!({}), "a round that only waits");
    assert!(hers.is_proven(&bench).await);
    bench.complete(id).await;
    assert_eq!(resolves(bench.coded(), &retry(&waiting, json!({}))).await["status"], "ready");
}

/// What has its browser is not ended by codes that come later, however wrong.
async fn wrong_codes_end_nothing_that_has_its_browser(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2025-11-25", &both(), "one");
    let id = id_of(&resolves(bench.coded(), &body).await["elicitation"]);
    let hers = Shown::by(&bench, id).await;
    resolves(bench.coded(), &with_code(&body, &hers.code)).await;
    for _ in 0..5 {
        let answer = resolves(bench.coded(), &with_code(&body, "BBBB-BBBB")).await;
        assert_eq!(answer["status"], "action_required");
    }
    assert!(hers.is_proven(&bench).await);
    assert!(bench.elicitation(id).await.stored.is_open());
    // Another provider's question of the same client keeps tries of its own.
    let mut globex = body.clone();
    globex["provider"] = json!("globex");
    resolves(bench.coded(), &globex).await;
    let mut two = body.clone();
    two.as_object_mut().unwrap().remove("provider");
    two["requests"] = json!([{ "provider": "acme" }, { "provider": "globex" }]);
    let answer = resolves(bench.coded(), &with_code(&two, "BBBB-BBBB")).await;
    assert!(form_of(&answer["reply"]["body"]).ends_with("Tries left: 2."), "{answer}");
}

/// Three for one elicitation and client, then it ends; asking again gives another link.
async fn r3_three_wrong_codes_end_it(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2025-11-25", &both(), "one");
    let id = id_of(&resolves(bench.coded(), &body).await["elicitation"]);
    let hers = Shown::by(&bench, id).await;
    for left in [2, 1] {
        let wrong = resolves(bench.coded(), &with_code(&body, "not a code")).await;
        assert!(form_of(&wrong["reply"]["body"]).ends_with(&format!("Tries left: {left}.")));
    }
    let last = resolves(bench.coded(), &with_code(&body, "BBBB-BBBB")).await;
    assert_eq!((&last["status"], &last["outcome"]), (&json!("refused"), &json!("failed")));
    assert_eq!(last["reply"]["kind"], "tool_result");
    let ended = bench.elicitation(id).await;
    assert_eq!((ended.stored, ended.reason.as_deref()), (State::Failed, Some("code_tries_spent")));
    // The right one comes too late: it is for nothing that is open.
    let late = resolves(bench.coded(), &with_code(&body, &hers.code)).await;
    assert_eq!(late["status"], "action_required");
    assert_ne!(id_of(&late["elicitation"]), id);
    assert!(!hers.is_proven(&bench).await);
    let events = bench.app.metrics.text();
    assert!(events.contains("security_events_total{code=\"code_refused\"} 3"), "{events}");
}

/// However many clients a link goes to, and however the MCP server names them.
async fn r3_twelve_wrong_codes_of_many_clients_end_it(db: Database) {
    let bench = Bench::new(db).await;
    let mut body = ask("2026-07-28", &both(), "");
    let answer = resolves(bench.coded(), &body).await;
    let id = id_of(&answer["elicitation"]);
    body["request_state"] = answer["reply"]["body"]["requestState"].clone();
    body["input_responses"] =
        json!({ "code-acme": { "action": "accept", "content": { "code": "BBBB-BBBB" } } });
    for (client, left) in (0..12).zip([2; 10].into_iter().chain([1, 0])) {
        body["client"]["ref"] = json!(format!("client {client}"));
        let answer = resolves(bench.coded(), &body).await;
        if left == 0 {
            assert_eq!((&answer["status"], &answer["outcome"]), (&json!("refused"), &json!("failed")));
            continue;
        }
        let form = &answer["reply"]["body"]["inputRequests"]["code-acme"]["params"];
        assert!(form_of(form).ends_with(&format!("Tries left: {left}.")), "{client}: {form}");
    }
    let ended = bench.elicitation(id).await;
    assert_eq!((ended.stored, ended.reason.as_deref()), (State::Failed, Some("code_tries_spent")));
}

async fn r3_a_code_of_another_elicitation_is_wrong(db: Database) {
    let bench = Bench::new(db).await;
    let hers = ask("2025-11-25", &both(), "one");
    let mut bobs = ask("2025-11-25", &both(), "two");
    bobs["subject"]["sub"] = json!("bob");
    let mut globex = hers.clone();
    globex["provider"] = json!("globex");
    let id = id_of(&resolves(bench.coded(), &hers).await["elicitation"]);
    let shown = Shown::by(&bench, id).await;
    for other in [&bobs, &globex] {
        resolves(bench.coded(), other).await;
        let answer = resolves(bench.coded(), &with_code(other, &shown.code)).await;
        assert!(form_of(&answer["reply"]["body"]).contains("Tries left: 2."));
    }
    assert!(!shown.is_proven(&bench).await);
    // Too old is wrong too, and the page's next one is right.
    bench.clock.advance(Duration::from_mins(5));
    resolves(bench.coded(), &with_code(&hers, &shown.code)).await;
    assert!(!shown.is_proven(&bench).await);
    let next = Shown::by(&bench, id).await;
    resolves(bench.coded(), &with_code(&hers, &next.code)).await;
    assert!(next.is_proven(&bench).await);
}

/// Error -32042 and plain words do not wait for an answer: the client's next call is asked for the code.
async fn the_next_call_asks_for_the_code_where_no_link_is_sent(db: Database) {
    let bench = Bench::new(db).await;
    let mut by_error = ask("2025-11-25", &both(), "one");
    by_error["client"]["prefer"] = json!("error");
    for (body, first) in [
        (by_error, "jsonrpc_error"),
        (ask("2025-11-25", &json!({}), "two"), "tool_result"),
        (ask("2026-07-28", &json!({}), "three"), "tool_result"),
    ] {
        let answer = resolves(bench.coded(), &body).await;
        assert_eq!(answer["reply"]["kind"], first);
        assert!(answer["reply"].to_string().contains(answer["elicitation"]["url"].as_str().unwrap()));
        let id = id_of(&answer["elicitation"]);
        let hers = Shown::by(&bench, id).await;
        let next = resolves(bench.coded(), &body).await;
        let modern = body["client"]["protocol_version"] == "2026-07-28";
        let params = if modern {
            assert!(next["reply"]["body"]["requestState"].is_string());
            &next["reply"]["body"]["inputRequests"]["code-acme"]["params"]
        } else {
            &next["reply"]["body"]
        };
        form_of(params);
        resolves(bench.coded(), &with_code(&body, &hers.code)).await;
        assert!(hers.is_proven(&bench).await);
    }
}

async fn a_client_without_forms_is_told_so(db: Database) {
    let bench = Bench::new(db).await;
    for version in ["2025-11-25", "2026-07-28"] {
        for declared in [json!(null), json!({ "url": {} })] {
            let body = ask(version, &declared, "");
            let answer = resolves(bench.coded(), &body).await;
            assert_eq!(answer["reply"]["kind"], "tool_result");
            let text = answer["reply"]["body"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("code") && text.contains("form") && !text.contains("://"), "{text}");
            let created = bench.coded().post("/v1/elicitations", &body).await.ok(201);
            assert_eq!(created["reply"], answer["reply"]);
        }
    }
    let mut other = ask("2026-07-28", &json!({ "url": {} }), "");
    other["client"]["method"] = json!("prompts/get");
    let reply = resolves(bench.coded(), &other).await["reply"].take();
    assert_eq!((&reply["body"]["code"], &reply["http_status"]), (&json!(-32021), &json!(400)));
    let required = reply["body"]["data"]["requiredCapabilities"]["elicitation"].clone();
    assert_eq!(required, json!({ "form": {} }));
}

async fn several_codes_are_asked_for_one_after_the_other(db: Database) {
    let bench = Bench::new(db).await;
    let mut body = ask("2025-11-25", &both(), "one");
    body.as_object_mut().unwrap().remove("provider");
    body["requests"] = json!([{ "provider": "acme" }, { "provider": "globex" }]);
    let answer = resolves(bench.coded(), &body).await;
    assert_eq!(answer["reply"]["body"]["code"], -32042);
    let ids: Vec<_> = answer["elicitations"].as_array().unwrap().iter().map(id_of).collect();
    let (acme, globex) = (Shown::by(&bench, ids[0]).await, Shown::by(&bench, ids[1]).await);
    let next = resolves(bench.coded(), &body).await;
    assert!(form_of(&next["reply"]["body"]).contains("Acme"));
    let next = resolves(bench.coded(), &with_code(&body, &acme.code)).await;
    assert!(form_of(&next["reply"]["body"]).contains("Globex"));
    assert!(acme.is_proven(&bench).await && !globex.is_proven(&bench).await);
    let next = resolves(bench.coded(), &with_code(&body, &globex.code)).await;
    assert_eq!(next["elicitations"].as_array().unwrap().len(), 2);
    assert!(globex.is_proven(&bench).await);
    for id in ids {
        bench.complete(id).await;
    }
    assert_eq!(resolves(bench.coded(), &body).await["results"].as_array().unwrap().len(), 2);
}

async fn a_no_to_the_form_is_a_no(db: Database) {
    let bench = Bench::new(db).await;
    for (action, outcome) in [("decline", "declined"), ("cancel", "cancelled")] {
        let mut body = ask("2026-07-28", &both(), "");
        let answer = resolves(bench.coded(), &body).await;
        body["request_state"] = answer["reply"]["body"]["requestState"].clone();
        body["input_responses"] = json!({ "code-acme": { "action": action } });
        let answer = resolves(bench.coded(), &body).await;
        assert_eq!((&answer["status"], &answer["outcome"]), (&json!("refused"), &json!(outcome)));
    }
}

fn next_round(body: &Value, state: &Value, responses: Value) -> Value {
    let mut body = body.clone();
    body["request_state"] = state["reply"]["body"]["requestState"].clone();
    body["input_responses"] = responses;
    body
}

fn typed(code: &str) -> Value {
    json!({ "code-acme": { "action": "accept", "content": { "code": code } } })
}

/// The form of a modern round for a code that came after a proven one.
#[track_caller]
fn newer_form(answer: &Value) -> &str {
    let message = form_of(&answer["reply"]["body"]["inputRequests"]["code-acme"]["params"]);
    assert!(message.starts_with("Another page at localhost:8080 shows a code by now."), "{message}");
    message
}

#[track_caller]
fn only_waits(answer: &Value) {
    assert_eq!(answer["reply"]["body"]["inputRequests"], json!({}), "{answer}");
}

/// The owner's private window is closed, and with it the cookie is gone.
async fn a_lost_browser_is_replaced_by_one_that_shows_a_newer_code(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2026-07-28", &both(), "one");
    let first = resolves(bench.coded(), &body).await;
    let id = id_of(&first["elicitation"]);
    let (lost, older) = (Shown::by(&bench, id).await, Shown::by(&bench, id).await);
    only_waits(&resolves(bench.coded(), &next_round(&body, &first, typed(&lost.code))).await);
    // What was shown before, somebody else may have shown as well.
    only_waits(&resolves(bench.coded(), &next_round(&body, &first, json!({}))).await);
    bench.clock.advance(Duration::from_secs(1));
    let newer = Shown::by(&bench, id).await;
    let asking = next_round(&body, &first, json!({}));
    let second = resolves(bench.coded(), &asking).await;
    newer_form(&second);
    // An honest replay is told the same; a later round is not asked for the same code again.
    newer_form(&resolves(bench.coded(), &asking).await);
    only_waits(&resolves(bench.coded(), &next_round(&body, &second, json!({}))).await);
    let wrong = resolves(bench.coded(), &next_round(&body, &second, typed("BBBB-BBBB"))).await;
    assert!(newer_form(&wrong).ends_with("Tries left: 2."), "{wrong}");
    assert!(lost.is_proven(&bench).await && !newer.is_proven(&bench).await);
    only_waits(&resolves(bench.coded(), &next_round(&body, &second, typed(&newer.code))).await);
    assert!(newer.is_proven(&bench).await);
    assert!(!lost.is_proven(&bench).await && !older.is_proven(&bench).await);
    // From then on it is that one, and nothing is asked.
    only_waits(&resolves(bench.coded(), &next_round(&body, &first, json!({}))).await);
    bench.complete(id).await;
    assert_eq!(resolves(bench.coded(), &next_round(&body, &first, json!({}))).await["status"], "ready");
}

/// Whoever has the link can have codes shown; the owner's call waits and ends as it would without them.
async fn r3_codes_of_strangers_shorten_no_wait_and_lengthen_no_rounds(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2026-07-28", &both(), "one");
    let first = resolves(bench.coded(), &body).await;
    let id = id_of(&first["elicitation"]);
    let hers = Shown::by(&bench, id).await;
    resolves(bench.coded(), &next_round(&body, &first, typed(&hers.code))).await;
    let strangers_code = async || {
        bench.clock.advance(Duration::from_secs(1));
        Shown::by(&bench, id).await
    };
    let mut state = first.clone();
    for _ in 0..2 {
        strangers_code().await;
        state = resolves(bench.coded(), &next_round(&body, &state, json!({}))).await;
        newer_form(&state);
    }
    strangers_code().await;
    let last = resolves(bench.coded(), &next_round(&body, &state, json!({}))).await;
    assert_eq!(last["reply"]["kind"], "tool_result", "the rounds are over");
    // Her "no" is one to that page, not to her own.
    for action in ["decline", "cancel"] {
        let no = json!({ "code-acme": { "action": action } });
        let answer = resolves(bench.coded(), &next_round(&body, &first, no)).await;
        assert_eq!(answer["status"], "action_required");
    }
    assert!(hers.is_proven(&bench).await);
    // A client without forms hears nothing of it.
    let mut without = next_round(&body, &first, json!({}));
    without["client"]["elicitation"] = json!({ "url": {} });
    only_waits(&resolves(bench.coded(), &without).await);
    // While there are codes that nobody has been asked for, the call is held all the same.
    let mut held = next_round(&body, &first, json!({}));
    held["wait_seconds"] = json!(50);
    let waiting = async { resolves(bench.coded(), &held).await };
    let finishing = async {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        bench.complete(id).await;
    };
    let (answer, ()) = tokio::join!(waiting, finishing);
    assert_eq!(answer["status"], "ready");
}

async fn a_legacy_client_is_asked_again_for_a_newer_code(db: Database) {
    let bench = Bench::new(db).await;
    let body = ask("2025-11-25", &both(), "one");
    let id = id_of(&resolves(bench.coded(), &body).await["elicitation"]);
    let lost = Shown::by(&bench, id).await;
    resolves(bench.coded(), &with_code(&body, &lost.code)).await;
    let accept = json!({ "action": "accept", "client": body["client"] });
    let path = format!("/v1/elicitations/{id}/response");
    assert!(bench.coded().post(&path, &accept).await.ok(200).get("reply").is_none());
    bench.clock.advance(Duration::from_secs(1));
    let newer = Shown::by(&bench, id).await;
    let accepted = bench.coded().post(&path, &accept).await.ok(200);
    takes(&body, &accepted["reply"]);
    assert!(form_of(&accepted["reply"]["body"]).starts_with("Another page"));
    let mut links_only = accept.clone();
    links_only["client"]["elicitation"] = json!({ "url": {} });
    assert!(bench.coded().post(&path, &links_only).await.ok(200).get("reply").is_none());
    for left in [2, 1] {
        let wrong = resolves(bench.coded(), &with_code(&body, "BBBB-BBBB")).await;
        assert!(form_of(&wrong["reply"]["body"]).ends_with(&format!("Tries left: {left}.")), "{wrong}");
    }
    let right = resolves(bench.coded(), &with_code(&body, &newer.code)).await;
    assert_eq!(right["reply"]["kind"], "tool_result");
    assert!(newer.is_proven(&bench).await && !lost.is_proven(&bench).await);
    // With the tries spent it is not asked again, and what goes on goes on.
    bench.clock.advance(Duration::from_secs(1));
    Shown::by(&bench, id).await;
    let last = resolves(bench.coded(), &with_code(&body, "BBBB-BBBB")).await;
    assert_eq!((&last["status"], &last["reply"]["kind"]), (&json!("action_required"), &json!("tool_result")));
    assert!(newer.is_proven(&bench).await);
    // A client that is not sent links within its calls is asked by its next one.
    let mut words = ask("2025-11-25", &json!({}), "two");
    let id = id_of(&resolves(bench.coded(), &words).await["elicitation"]);
    let lost = Shown::by(&bench, id).await;
    resolves(bench.coded(), &with_code(&words, &lost.code)).await;
    assert_eq!(resolves(bench.coded(), &words).await["reply"]["kind"], "tool_result");
    bench.clock.advance(Duration::from_secs(1));
    let newer = Shown::by(&bench, id).await;
    let next = resolves(bench.coded(), &words).await;
    assert!(form_of(&next["reply"]["body"]).starts_with("Another page"));
    words = with_code(&words, &newer.code);
    resolves(bench.coded(), &words).await;
    assert!(newer.is_proven(&bench).await);
}

/// What was not declared was not asked, and neither a code nor a "no" is taken for an answer to it.
async fn e7_an_answer_to_the_form_is_heard_from_who_declared_forms(db: Database) {
    let bench = Bench::new(db).await;
    let mut body = ask("2026-07-28", &both(), "");
    let answer = resolves(bench.coded(), &body).await;
    let id = id_of(&answer["elicitation"]);
    let hers = Shown::by(&bench, id).await;
    body["request_state"] = answer["reply"]["body"]["requestState"].clone();
    let right = json!({ "action": "accept", "content": { "code": hers.code } });
    let wrong = json!({ "action": "accept", "content": { "code": "BBBB-BBBB" } });
    for declared in [json!(null), json!({ "url": {} })] {
        body["client"]["elicitation"] = declared;
        for said in [&right, &wrong, &json!({ "action": "decline" }), &json!({ "action": "cancel" })] {
            body["input_responses"] = json!({ "code-acme": said });
            assert_eq!(resolves(bench.coded(), &body).await["status"], "action_required");
        }
    }
    assert!(!hers.is_proven(&bench).await);
    assert!(bench.elicitation(id).await.stored.is_open());
    // The same answer, of a client that can have been asked; and no try was counted before.
    body["client"]["elicitation"] = both();
    body["input_responses"] = json!({ "code-acme": wrong });
    let asked = resolves(bench.coded(), &body).await;
    let form = &asked["reply"]["body"]["inputRequests"]["code-acme"]["params"];
    assert!(form_of(form).ends_with("Tries left: 2."), "{form}");
    body["input_responses"] = json!({ "code-acme": right });
    resolves(bench.coded(), &body).await;
    assert!(hers.is_proven(&bench).await);
}

async fn codes_are_taken_where_they_are_used(db: Database) {
    let bench = Bench::new(db).await;
    let typed = with_code(&ask("2025-11-25", &both(), "one"), "BBBB-BBBB");
    bench.files().resolve(&typed).await.refused(400, "invalid_field");
    bench.coded().post("/v1/elicitations", &typed).await.refused(400, "invalid_field");
    for code in ["", &"B".repeat(65)] {
        bench.coded().resolve(&with_code(&typed, code)).await.refused(400, "invalid_field");
    }
    // A model or a model's user who was asked in another way has not been asked.
    for declared in [json!(null), json!({ "url": {} })] {
        let unasked = with_code(&ask("2025-11-25", &declared, "one"), "BBBB-BBBB");
        bench.coded().resolve(&unasked).await.refused(400, "invalid_field");
    }
    // Before anything was asked there is nothing that it could be for.
    let answer = resolves(bench.coded(), &typed).await;
    assert_eq!(answer["reply"]["kind"], "elicitation_request");
    let id = id_of(&answer["elicitation"]);
    let response = json!({ "action": "accept", "client": typed["client"] });
    let path = format!("/v1/elicitations/{id}/response");
    bench.coded().post(&path, &response).await.refused(400, "invalid_field");
    // No page of a server whose users sign in shows a code.
    let files = bench.files().asked(&ask("2025-11-25", &both(), "one")).await;
    let nobody = Browser { session: None, code: &|_| None };
    let visit = connect::look(&bench.app, files, nobody).await.unwrap();
    assert!(matches!(connect::mint(&bench.app, &visit).await, Err(Refusal::NotFound)));
    // Its users are named by itself: no token can be checked, and no issuer is another's.
    let token = json!({ "provider": "acme", "subject_token": "eyJ" });
    bench.coded().resolve(&token).await.refused(400, "invalid_field");
    let mut elsewhere = ask("2025-11-25", &both(), "one");
    elsewhere["subject"]["issuer"] = json!("https://id.example.com");
    bench.coded().resolve(&elsewhere).await.refused(400, "issuer_not_allowed");
    assert_eq!(bench.elicitation(id).await.stored, State::Pending);
}
