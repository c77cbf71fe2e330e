//! Forms through the choice of a reply, the strict client, and back.

use super::arbitrary::{clients, form_asks, turns};
use consentry_elicitation::form::{Choice, Choices, Form, Text, Values};
use consentry_elicitation::{
    Asks, Body, Capability, Client, ElicitAction, ElicitResult, Era, FormAsk, FormOutcome, FormRequest,
    Model, Outcome, ProtocolVersion, Reply, Retry, Rule, Turn, choose,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const FIRST: ProtocolVersion = ProtocolVersion::V2025_06_18;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

proptest! {
    #[test]
    fn no_form_breaks_a_rule_and_each_reads_back(client in clients(), ask in form_asks(), turn in turns()) {
        let reply = choose(&client, &ask, turn);
        prop_assert_eq!(Model::new(&client).receive(&reply), []);
        let text = serde_json::to_string(&reply).unwrap();
        prop_assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply, "{}", text);
    }

    /// What a client answers that fills in a form by the rules is what the server takes, through a round and back.
    #[test]
    fn e38_e61_the_answers_of_the_model_are_taken(ask in form_asks()) {
        let client = Client::new(MODERN, Capability::FORM, "tools/call");
        let reply = choose(&client, &ask, Turn::Ask { request_state: Some("v1.sealed") });
        let reply = serde_json::to_value(&reply).unwrap();
        let retry = Model::new(&client).retry(&reply, |_| ElicitAction::Accept).unwrap();
        prop_assert_eq!(retry.request_state.as_deref(), Some("v1.sealed"));
        let retry: Retry = serde_json::from_str(&serde_json::to_string(&retry).unwrap()).unwrap();
        let answer = retry.input_responses.elicited(&ask.key).unwrap();
        // The modern era cannot tell its clients of a pattern.
        let told = ask.request.form().for_version(MODERN).unwrap();
        if answer.action == ElicitAction::Accept {
            prop_assert!(matches!(answer.for_form(&told), Ok(FormOutcome::Accepted(_))), "{:?}", answer);
        }
    }
}

fn asking(form: consentry_elicitation::form::FormBuilder) -> FormAsk {
    FormAsk::new("k", FormRequest::new("Which one?", form.build().unwrap()).unwrap())
}

#[test]
fn e7_m8_m17_a_form_goes_only_to_clients_that_declare_it() {
    let ask = asking(Form::builder().required("name", Text::new().title("Name")));
    let reply = |version: ProtocolVersion, capability, method: &str| {
        let client = Client::new(version, capability, method);
        serde_json::to_value(choose(&client, &ask, Turn::Ask { request_state: Some("s") })).unwrap()
    };
    for capability in [Capability::FORM, Capability::BOTH] {
        assert_eq!(reply(LEGACY, capability, "prompts/get")["kind"], "elicitation_request");
        let round = reply(MODERN, capability, "prompts/get");
        assert_eq!(round["body"]["inputRequests"]["k"]["params"]["mode"], "form");
        assert_eq!(round["body"]["requestState"], "s");
    }
    for capability in [Capability::NONE, Capability::URL] {
        for version in [LEGACY, MODERN] {
            let told = reply(version, capability, "tools/call");
            assert_eq!((&told["kind"], &told["body"]["isError"]), (&json!("tool_result"), &json!(true)));
            let text = told["body"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("Which one?") && text.contains("It asks for: Name."), "{text}");
        }
        let error = reply(MODERN, capability, "prompts/get");
        assert_eq!(
            error["body"]["data"],
            json!({ "requiredCapabilities": { "elicitation": { "form": {} } } })
        );
        assert_eq!(error["http_status"], 400);
        assert_eq!(reply(LEGACY, capability, "prompts/get")["body"]["code"], -32603);
    }
    assert_eq!(reply(MODERN, Capability::FORM, "tools/list")["body"]["code"], -32603);
    assert_eq!(Asks::from(&ask).capability(), Capability::FORM);
}

#[test]
fn a_client_of_the_first_revision_is_sent_what_it_knows_or_words() {
    let client = Client::new(FIRST, Capability::FORM, "tools/call");
    let one = asking(Form::builder().required("x", Choice::titled([("a", "A")])));
    let reply = choose(&client, &one, Turn::Ask { request_state: None });
    let Body::ElicitationRequest(params) = reply.body else { panic!() };
    assert_eq!(
        serde_json::to_string(&params).unwrap(),
        concat!(
            r#"{"message":"Which one?","requestedSchema":{"type":"object","properties":"#,
            r#"{"x":{"type":"string","enum":["a"],"enumNames":["A"]}},"required":["x"]}}"#
        )
    );
    // Two options may have one name, in either spelling.
    let same = asking(Form::builder().required("x", Choice::titled([("a", "A"), ("b", "A")])));
    for version in [FIRST, LEGACY] {
        let client = Client::new(version, Capability::FORM, "tools/call");
        assert_eq!(
            Model::new(&client).receive(&choose(&client, &same, Turn::Ask { request_state: None })),
            []
        );
    }
    let many = asking(Form::builder().required("x", Choices::plain(["a"])));
    let told = choose(&client, &many, Turn::Ask { request_state: None });
    assert!(matches!(told.body, Body::ToolResult(_)));
}

#[test]
fn a_refused_form_is_told_in_words() {
    let ask = asking(Form::builder().required("x", Text::new()));
    for (outcome, words) in [
        (Outcome::Declined, "the user declined"),
        (Outcome::Cancelled, "the question was cancelled"),
        (Outcome::Expired, "there was no answer in time"),
        (Outcome::Failed, "what was answered cannot be used"),
    ] {
        for method in ["tools/call", "prompts/get"] {
            let client = Client::new(LEGACY, Capability::FORM, method);
            let text = serde_json::to_string(&choose(&client, &ask, Turn::Refused(outcome))).unwrap();
            assert!(text.contains("Which one?") && text.contains(words), "{text}");
        }
    }
}

fn request(params: &Value) -> Value {
    json!({ "kind": "elicitation_request", "body": params })
}

fn round(params: &Value) -> Value {
    json!({ "kind": "input_required", "body": {
        "resultType": "input_required",
        "inputRequests": { "k": { "method": "elicitation/create", "params": params } },
        "requestState": "s",
    } })
}

/// What the model says of the parameters, with its places below them.
fn faults(version: ProtocolVersion, capability: Capability, params: &Value) -> Vec<(Rule, String)> {
    let (reply, outer) = match version.era() {
        Era::Legacy => (request(params), "/body"),
        Era::Modern => (round(params), "/body/inputRequests/k/params"),
    };
    let broken = Model::new(&Client::new(version, capability, "tools/call")).receive_value(&reply);
    broken
        .into_iter()
        .map(|broken| (broken.rule, broken.at.strip_prefix(outer).unwrap().to_owned()))
        .collect()
}

fn one(field: &Value) -> Value {
    json!({ "message": "m", "requestedSchema": { "type": "object", "properties": { "x": field } } })
}

fn x(rest: &str) -> String {
    format!("/requestedSchema/properties/x{rest}")
}

#[test]
fn e1_e10_e34_e37_the_faults_of_forms_are_seen_in_every_revision() {
    for version in [FIRST, LEGACY, MODERN] {
        let faults = |params: &Value| faults(version, Capability::FORM, params);
        assert_eq!(faults(&one(&json!({ "type": "string", "format": "date" }))), []);
        for (field, rule, at) in [
            (json!({ "type": "object" }), Rule::Wrong, x("/type")),
            (json!({ "type": "string", "format": "ipv4" }), Rule::Wrong, x("/format")),
            (json!({ "type": "string", "minLength": -1 }), Rule::Wrong, x("/minLength")),
            (json!({ "type": "integer", "multipleOf": 2 }), Rule::Unknown, x("/multipleOf")),
            (json!({ "type": "string", "enum": [] }), Rule::Empty, x("/enum")),
            (json!({ "type": "string", "enum": ["a", "a"] }), Rule::Twice, x("/enum/1")),
            (json!({ "type": "string", "enum": ["a"], "enumNames": [] }), Rule::Wrong, x("/enumNames")),
            (json!({ "type": "number", "minimum": 1, "maximum": 0 }), Rule::Contradiction, x("/minimum")),
            (json!({ "type": "string", "title": "Your password" }), Rule::Secret, x("/title")),
            (
                json!({ "type": "string", "description": "See www.a.example" }),
                Rule::Clickable,
                x("/description"),
            ),
        ] {
            assert_eq!(faults(&one(&field)), [(rule, at)], "{version} {field}");
        }
        let schema = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
        let secret = json!({ "message": "Enter your API key.", "requestedSchema": schema });
        assert_eq!(faults(&secret), [(Rule::Secret, "/message".into())]);
        let schema = json!({ "type": "object", "properties": {}, "required": ["y"] });
        let required = json!({ "message": "m", "requestedSchema": schema });
        assert_eq!(faults(&required), [(Rule::Wrong, "/requestedSchema/required/0".into())]);
        assert_eq!(faults(&json!({ "message": "m" })), [(Rule::Missing, "/requestedSchema".into())]);
        assert_eq!(
            faults(&json!({ "requestedSchema": { "type": "object", "properties": {} } })),
            [(Rule::Missing, "/message".into())]
        );
    }
}

#[test]
fn a_keyword_of_another_revision_is_seen() {
    for (field, at, fits) in [
        (json!({ "type": "string", "default": "a" }), "/default", [false, true, true]),
        (json!({ "type": "boolean", "default": true }), "/default", [true, true, true]),
        (json!({ "type": "string", "pattern": "a" }), "/pattern", [false, true, false]),
        (json!({ "type": "string", "enum": ["a"], "enumNames": ["A"] }), "/enumNames", [true, true, true]),
        (
            json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }] }),
            "/oneOf",
            [false, true, true],
        ),
        (
            json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } }),
            "/items",
            [false, true, true],
        ),
    ] {
        for (version, fits) in [FIRST, LEGACY, MODERN].into_iter().zip(fits) {
            let expected: &[(Rule, String)] = if fits { &[] } else { &[(Rule::Revision, x(at))] };
            assert_eq!(faults(version, Capability::FORM, &one(&field)), expected, "{version} {field}");
        }
    }
    let mut with_mode = one(&json!({ "type": "boolean" }));
    with_mode["mode"] = json!("form");
    assert_eq!(faults(FIRST, Capability::FORM, &with_mode), [(Rule::Revision, "/mode".into())]);
    assert_eq!(faults(MODERN, Capability::FORM, &with_mode), []);
    assert_eq!(faults(LEGACY, Capability::URL, &with_mode), [(Rule::Undeclared, "/mode".into())]);
    let without = one(&json!({ "type": "boolean" }));
    assert_eq!(faults(LEGACY, Capability::URL, &without), [(Rule::Undeclared, String::new())]);
}

#[test]
fn e52_e53_the_model_refuses_what_it_did_not_declare_and_what_belongs_to_no_request() {
    let link = json!({ "mode": "url", "elicitationId": "i", "url": "https://a.example/", "message": "m" });
    let form = json!({ "message": "m", "requestedSchema": {
        "type": "object", "properties": { "x": { "type": "string", "minLength": 2 } }, "required": ["x"] } });
    let client = |capability| Client::new(LEGACY, capability, "tools/call");
    for (capability, link_fits, form_fits) in [
        (Capability::NONE, false, false),
        (Capability::FORM, false, true),
        (Capability::URL, true, false),
        (Capability::BOTH, true, true),
    ] {
        let mut model = Model::new(&client(capability));
        for (params, fits) in [(&link, link_fits), (&form, form_fits)] {
            let code = model.answer(params, ElicitAction::Accept).err().map(|error| error.code);
            assert_eq!(code, (!fits).then_some(-32602), "{capability:?} {params}");
        }
        model.finish();
        assert_eq!(model.answer(&form, ElicitAction::Accept).unwrap_err().code, -32602);
    }
    let model = Model::new(&client(Capability::BOTH));
    let filled: Values = serde_json::from_value(json!({ "x": "aa" })).unwrap();
    assert_eq!(model.answer(&form, ElicitAction::Accept).unwrap(), ElicitResult::accept(filled));
    let no = ElicitResult::new(ElicitAction::Decline);
    assert_eq!(model.answer(&form, ElicitAction::Decline).unwrap(), no);
    let unreadable = json!({ "mode": "voice", "message": "m" });
    assert_eq!(model.answer(&unreadable, ElicitAction::Accept).unwrap_err().code, -32602);
}

#[test]
fn e3_e4_nothing_is_asked_after_the_call() {
    let mut model = Model::new(&Client::new(LEGACY, Capability::URL, "tools/call"));
    model.finish();
    let link = json!({ "mode": "url", "elicitationId": "i", "url": "https://a.example/", "message": "m" });
    let broken = model.receive_value(&request(&link));
    assert_eq!(broken[0].to_string(), "/kind: belongs to no request of the client");
}

#[test]
fn m7_m12_m14_a_round_has_questions_or_a_state_and_is_answered_whole() {
    let client = Client::new(MODERN, Capability::URL, "tools/call");
    let empty =
        json!({ "kind": "input_required", "body": { "resultType": "input_required", "inputRequests": {} } });
    let broken = Model::new(&client).receive_value(&empty);
    assert_eq!(broken[0].to_string(), "/body/inputRequests: is empty");

    let link = json!({ "mode": "url", "url": "https://a.example/", "message": "m" });
    let mut reply = round(&link);
    reply["body"]["inputRequests"]["b"] = json!({ "method": "elicitation/create", "params": link });
    reply["body"]["requestState"] = json!(" ställe/\n");
    let decide = |key: &str| if key == "b" { ElicitAction::Cancel } else { ElicitAction::Accept };
    let retry = Model::new(&client).retry(&reply, decide).unwrap();
    assert_eq!(
        serde_json::to_value(retry).unwrap(),
        json!({ "inputResponses": { "k": { "action": "accept" }, "b": { "action": "cancel" } },
                "requestState": " ställe/\n" })
    );
    assert_eq!(Model::new(&client).retry(&request(&link), decide), None);
}

#[test]
fn m19_a_malformed_modern_request_may_be_answered_with_400() {
    let error = |version: ProtocolVersion, status: Value| {
        let mut reply = json!({ "kind": "jsonrpc_error", "body": { "code": -32602, "message": "m" } });
        if !status.is_null() {
            reply["http_status"] = status;
        }
        Model::new(&Client::new(version, Capability::NONE, "tools/call")).receive_value(&reply).len()
    };
    assert_eq!([error(MODERN, Value::Null), error(MODERN, json!(400)), error(MODERN, json!(404))], [0, 0, 1]);
    assert_eq!([error(LEGACY, Value::Null), error(LEGACY, json!(400))], [0, 1]);
}

/// M10: an answer that is missing, that cannot be read or that does not fit is asked for again, not answered by an error.
#[test]
fn m3_m10_what_comes_back_is_the_word_of_the_client() {
    let ask = asking(Form::builder().required("x", Text::new().max_length(3)));
    let client = Client::new(MODERN, Capability::FORM, "tools/call");
    for answers in [
        json!({}),
        json!({ "k": null }),
        json!({ "k": { "action": "done" } }),
        json!({ "k": { "action": "accept", "content": { "x": { "y": 1 } } } }),
        json!({ "k": { "action": "accept" } }),
        json!({ "k": { "action": "accept", "content": { "x": "too long" } } }),
        json!({ "other": { "action": "accept", "content": { "x": "abc" } } }),
    ] {
        let retry: Retry = serde_json::from_value(json!({ "inputResponses": answers })).unwrap();
        let outcome = retry.input_responses.elicited("k").map(|answer| answer.for_form(ask.request.form()));
        assert!(!matches!(outcome, Some(Ok(_))), "{answers}");
        let again = choose(&client, &ask, Turn::Ask { request_state: Some("s") });
        assert!(matches!(again.body, Body::InputRequired(_)));
    }
}
