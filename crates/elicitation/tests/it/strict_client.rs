//! The strict client against every reply that can be chosen, and against what servers in the field get wrong.

use super::arbitrary::{clients, turns};
use consentry_elicitation::{
    Ask, Body, Capability, Client, ElicitResult, Model, ProtocolVersion, Reply, Retry, Rule, Turn, choose,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Up to eight, with providers that repeat and end in numbers, and words of any kind.
fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let one = ("(a|b)(-[23])?", "\\PC{0,8}", "[ -~]{0,24}", "[a-z0-9.-]{0,8}");
    prop::collection::vec(one, 1..=8).prop_map(|all| {
        let ask = |(index, (provider, name, message, query)): (usize, (String, String, String, String))| {
            let url = format!("https://connect.example.com/connect?elicitationId={query}").parse().unwrap();
            Ask::new(provider, format!("N{name}"), format!("id-{index}"), url).message(message)
        };
        all.into_iter().enumerate().map(ask).collect()
    })
}

proptest! {
    #[test]
    fn e7_e11_e19_m1_m8_m16_no_reply_breaks_a_rule_and_each_reads_back(client in clients(), asks in asks(), turn in turns()) {
        let reply = choose(&client, &asks, turn);
        prop_assert_eq!(Model::new(&client).receive(&reply), []);
        let text = serde_json::to_string(&reply).unwrap();
        prop_assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply);
    }

    #[test]
    fn m2_a_round_asks_for_every_link_once(asks in asks()) {
        let client = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/call");
        let reply = choose(&client, &asks, Turn::Ask { request_state: None });
        let Body::InputRequired(round) = reply.body else { panic!() };
        prop_assert_eq!(round.input_requests.unwrap().len(), asks.len());
    }

    #[test]
    fn every_link_reaches_the_client_while_it_is_open(client in clients(), asks in asks()) {
        for turn in [Turn::Ask { request_state: None }, Turn::Tell] {
            let text = serde_json::to_string(&choose(&client, &asks, turn)).unwrap();
            for ask in &asks {
                prop_assert!(text.contains(ask.url.as_str()), "{} not in {}", ask.url, text);
            }
        }
    }

    #[test]
    fn m3_nothing_that_a_client_sends_panics(text in "[\\[\\]{}:,\"a-zA-Z0-9 ]{0,64}") {
        let _ = serde_json::from_str::<Retry>(&text);
        let _ = serde_json::from_str::<ElicitResult>(&text);
        let _ = serde_json::from_str::<Capability>(&text);
        let client = Client::new(ProtocolVersion::V2025_11_25, Capability::URL, "tools/call");
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            prop_assert!(!Model::new(&client).receive_value(&value).is_empty());
        }
    }
}

#[test]
fn without_an_ask_nothing_is_asked() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        for method in ["tools/call", "prompts/get"] {
            let client = Client::new(version, Capability::URL, method);
            let reply = choose(&client, &[], Turn::Ask { request_state: None });
            assert!(matches!(reply.body, Body::ToolResult(_) | Body::JsonrpcError(_)));
            assert_eq!(Model::new(&client).receive(&reply), []);
        }
    }
}

fn rules(version: ProtocolVersion, capability: Capability, reply: &Value) -> Vec<(Rule, String)> {
    let client = Client::new(version, capability, "tools/call");
    Model::new(&client).receive_value(reply).into_iter().map(|broken| (broken.rule, broken.at)).collect()
}

fn request(params: &Value) -> Value {
    json!({ "kind": "elicitation_request", "body": params })
}

fn round(params: &Value) -> Value {
    json!({ "kind": "input_required", "body": {
        "resultType": "input_required",
        "inputRequests": { "connect-a/b": { "method": "elicitation/create", "params": params } },
        "requestState": "s",
    } })
}

#[test]
fn e11_e12_e18_e19_e63_the_legacy_faults_are_seen() {
    let legacy = |reply: &Value| rules(ProtocolVersion::V2025_11_25, Capability::URL, reply);
    let good = json!({ "mode": "url", "elicitationId": "i", "url": "https://a.example/", "message": "m" });
    assert_eq!(legacy(&request(&good)), []);
    for (field, value, rule) in [
        ("elicitationId", json!(""), Rule::Empty),
        ("elicitationId", Value::Null, Rule::Wrong),
        ("url", json!("a.example"), Rule::InvalidUrl),
        ("mode", json!("voice"), Rule::Wrong),
        ("message", json!(7), Rule::Wrong),
        ("requestedSchema", json!({}), Rule::Unknown),
    ] {
        let mut params = good.clone();
        params[field] = value;
        assert_eq!(legacy(&request(&params)), [(rule, format!("/body/{field}"))], "{params}");
    }
    for field in ["mode", "elicitationId", "url", "message"] {
        let mut params = good.clone();
        params.as_object_mut().unwrap().remove(field);
        assert_eq!(legacy(&request(&params)), [(Rule::Missing, format!("/body/{field}"))]);
    }
    let twice = json!({ "kind": "jsonrpc_error", "body": {
        "code": -32042, "message": "m", "data": { "elicitations": [good, good] } } });
    assert_eq!(legacy(&twice), [(Rule::Twice, "/body/data/elicitations/1/elicitationId".into())]);
    let form_only = rules(ProtocolVersion::V2025_11_25, Capability::FORM, &request(&good));
    assert_eq!(form_only, [(Rule::Undeclared, "/body/mode".into())]);
    let params = json!({ "mode": "url", "url": "https://a.example/", "message": "m" });
    assert!(legacy(&round(&params)).contains(&(Rule::OtherEra, "/kind".into())));
}

#[test]
fn e31_e33_e35_links_that_reveal_something_or_are_not_encrypted_are_seen() {
    for (url, rule) in [
        ("https://a.example/connect?elicitationId=550e8400", None),
        ("http://localhost:8080/connect", None),
        ("http://a.example/", Some(Rule::NotHttps)),
        ("https://a.example/?session=abc", Some(Rule::Revealing)),
        ("https://a.example/?user=alice", Some(Rule::Revealing)),
        ("https://alice:secret@a.example/", Some(Rule::Revealing)),
    ] {
        let params = json!({ "mode": "url", "url": url, "message": "m" });
        let broken = rules(ProtocolVersion::V2026_07_28, Capability::URL, &round(&params));
        let at = "/body/inputRequests/connect-a~1b/params/url".to_owned();
        assert_eq!(broken, rule.map(|rule| (rule, at)).into_iter().collect::<Vec<_>>(), "{url}");
    }
}

#[test]
fn e6_m16_m17_the_modern_faults_are_seen() {
    let modern = |reply: &Value| rules(ProtocolVersion::V2026_07_28, Capability::URL, reply);
    let good = json!({ "mode": "url", "url": "https://a.example/", "message": "m" });
    assert_eq!(modern(&round(&good)), []);
    let with_id = json!({ "mode": "url", "elicitationId": "", "url": "https://a.example/", "message": "m" });
    let at = "/body/inputRequests/connect-a~1b/params/elicitationId";
    assert_eq!(modern(&round(&with_id)), [(Rule::OtherEra, at.into())]);
    assert_eq!(modern(&request(&good)), [(Rule::OtherEra, "/kind".into())]);

    let state_only =
        json!({ "kind": "input_required", "body": { "resultType": "input_required", "requestState": "s" } });
    assert_eq!(modern(&state_only), [(Rule::Missing, "/body/inputRequests".into())]);
    let error = json!({ "kind": "jsonrpc_error", "body": {
        "code": -32021, "message": "m", "data": { "requiredCapabilities": {} } } });
    let broken =
        [(Rule::Empty, "/body/data/requiredCapabilities".into()), (Rule::Status, "/http_status".into())];
    assert_eq!(modern(&error), broken);
    let untyped = json!({ "kind": "tool_result", "body": { "isError": true, "content": [] } });
    assert_eq!(modern(&untyped), [(Rule::Missing, "/body/resultType".into())]);
}

#[test]
fn m1_a_round_answers_no_other_method() {
    let client = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/list");
    let reply = round(&json!({ "mode": "url", "url": "https://a.example/", "message": "m" }));
    let broken = Model::new(&client).receive_value(&reply);
    assert_eq!(broken[0].to_string(), "/kind: is no answer to this method");
}

#[test]
fn e13_e14_e15_e50_e62_completion_is_told_once_to_the_legacy_client_that_was_asked() {
    let complete = |model: &mut Model, id: &str| {
        let params = json!({ "elicitationId": id });
        model
            .notified("notifications/elicitation/complete", &params)
            .into_iter()
            .map(|broken| broken.rule)
            .collect()
    };
    let client = Client::new(ProtocolVersion::V2025_11_25, Capability::URL, "tools/call");
    let mut model = Model::new(&client);
    let ask = Ask::new("a", "A", "known", "https://a.example/".parse().unwrap());
    assert_eq!(model.receive(&choose(&client, &[ask], Turn::Ask { request_state: None })), []);
    let seen: [Vec<Rule>; 3] = ["known", "known", "unknown"].map(|id| complete(&mut model, id));
    assert_eq!(seen, [vec![], vec![Rule::NotOpen], vec![Rule::NotOpen]]);

    let modern = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/call");
    let seen: Vec<Rule> = complete(&mut Model::new(&modern), "known");
    assert_eq!(seen, [Rule::OtherEra]);
}
