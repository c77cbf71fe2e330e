//! Every row of the table by which a reply is chosen, and what each body holds.

use consentry_elicitation::{
    Ask, Capability, Client, Outcome, Prefer, ProtocolVersion, STATE_ONLY_ROUNDS, Turn, choose,
};
use serde_json::{Value, json};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const ASK: Turn<'static> = Turn::Ask { request_state: Some("sealed") };

fn ask(provider: &str, name: &str) -> Ask {
    let id = format!("id-{provider}");
    let url = format!("https://connect.example.com/connect?elicitationId={id}").parse().unwrap();
    Ask::new(provider, name, id, url).message(format!("Connect {name} to list."))
}

fn github() -> Ask {
    ask("github", "GitHub")
}

fn reply(client: &Client, asks: &[Ask], turn: Turn<'_>) -> Value {
    serde_json::to_value(choose(client, asks, turn)).unwrap()
}

fn legacy_request(provider: &str, name: &str) -> Value {
    json!({
        "mode": "url",
        "elicitationId": format!("id-{provider}"),
        "url": format!("https://connect.example.com/connect?elicitationId=id-{provider}"),
        "message": format!("Connect {name} to list."),
    })
}

fn modern_request(provider: &str, name: &str) -> Value {
    json!({ "method": "elicitation/create", "params": {
        "mode": "url",
        "url": format!("https://connect.example.com/connect?elicitationId=id-{provider}"),
        "message": format!("Connect {name} to list."),
    } })
}

#[test]
fn e7_e11_e63_a_legacy_client_with_url_mode_gets_a_request() {
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        for capability in [Capability::URL, Capability::BOTH] {
            for method in ["tools/call", "prompts/get", "completion/complete"] {
                let client = Client::new(version.parse().unwrap(), capability, method);
                assert_eq!(
                    reply(&client, &[github()], ASK),
                    json!({ "kind": "elicitation_request", "body": legacy_request("github", "GitHub") })
                );
            }
        }
    }
}

#[test]
fn e16_e17_e18_e19_a_legacy_client_that_prefers_it_gets_the_error() {
    let client = Client::new(LEGACY, Capability::URL, "tools/call").prefer(Prefer::Error);
    let reply = reply(&client, &[github()], ASK);
    assert_eq!(reply["kind"], "jsonrpc_error");
    assert_eq!(reply["body"]["code"], -32042);
    assert_eq!(reply["body"]["data"], json!({ "elicitations": [legacy_request("github", "GitHub")] }));
    assert_eq!(reply.get("http_status"), None);
}

#[test]
fn e18_several_links_go_to_a_legacy_client_by_one_error_in_their_order() {
    let client = Client::new(LEGACY, Capability::URL, "tools/call");
    let reply = reply(&client, &[ask("slack", "Slack"), github(), ask("acme", "Acme")], ASK);
    assert_eq!(reply["body"]["code"], -32042);
    let expected = [("slack", "Slack"), ("github", "GitHub"), ("acme", "Acme")]
        .map(|(id, name)| legacy_request(id, name));
    assert_eq!(reply["body"]["data"]["elicitations"], json!(expected));
}

#[test]
fn e5_e11_m1_m8_a_modern_client_with_url_mode_gets_a_round() {
    for method in ["tools/call", "prompts/get", "resources/read"] {
        // The preference is one of the legacy era.
        let client = Client::new(MODERN, Capability::URL, method).prefer(Prefer::Error);
        assert_eq!(
            reply(&client, &[github(), ask("slack", "Slack")], ASK),
            json!({ "kind": "input_required", "body": {
                "resultType": "input_required",
                "inputRequests": {
                    "connect-github": modern_request("github", "GitHub"),
                    "connect-slack": modern_request("slack", "Slack"),
                },
                "requestState": "sealed",
            } })
        );
    }
}

#[test]
fn m7_m9_a_modern_client_waits_by_state_alone_and_then_gets_the_text() {
    let client = Client::new(MODERN, Capability::URL, "tools/call");
    for _ in 0..STATE_ONLY_ROUNDS {
        assert_eq!(
            reply(&client, &[github()], Turn::Wait { request_state: "sealed" }),
            json!({ "kind": "input_required", "body": {
                "resultType": "input_required", "inputRequests": {}, "requestState": "sealed",
            } })
        );
    }
    let reply = reply(&client, &[github()], Turn::Tell);
    assert_eq!((&reply["kind"], &reply["body"]["isError"]), (&json!("tool_result"), &json!(true)));
    assert!(text(&reply).contains("https://connect.example.com/connect?elicitationId=id-github"));
}

#[test]
fn e7_m8_m18_a_client_without_url_mode_gets_the_text_of_a_tool() {
    for version in [LEGACY, MODERN] {
        for capability in [Capability::NONE, Capability::FORM] {
            let client = Client::new(version, capability, "tools/call").target("list_files");
            let reply = reply(&client, &[github()], ASK);
            assert_eq!(reply["kind"], "tool_result");
            assert_eq!(reply["body"]["isError"], true);
            let text = text(&reply);
            assert!(text.contains("Connect GitHub to list."), "{text}");
            assert!(
                text.lines()
                    .any(|line| line == "https://connect.example.com/connect?elicitationId=id-github")
            );
            assert!(
                text.contains("open this link in a browser") && text.contains("`list_files` again"),
                "{text}"
            );
            assert_eq!(reply["body"].get("resultType").is_some(), version == MODERN);
        }
    }
}

#[test]
fn m17_a_client_without_url_mode_gets_an_error_for_any_other_method() {
    for method in ["prompts/get", "resources/read", "completion/complete"] {
        let modern = reply(&Client::new(MODERN, Capability::FORM, method), &[github()], ASK);
        assert_eq!((&modern["kind"], &modern["http_status"]), (&json!("jsonrpc_error"), &json!(400)));
        assert_eq!(modern["body"]["code"], -32021);
        assert_eq!(
            modern["body"]["data"],
            json!({ "requiredCapabilities": { "elicitation": { "url": {} } } })
        );

        let legacy = reply(&Client::new(LEGACY, Capability::FORM, method), &[github()], ASK);
        assert_eq!((&legacy["kind"], legacy.get("http_status")), (&json!("jsonrpc_error"), None));
        assert_eq!(legacy["body"]["code"], -32603);
        assert!(legacy["body"]["message"].as_str().unwrap().contains("https://connect.example.com/connect?"));
    }
}

#[test]
fn e17_e21_refused_or_unanswered_is_told_by_method_whatever_was_declared() {
    let outcomes = [Outcome::Declined, Outcome::Cancelled, Outcome::Expired, Outcome::Failed];
    for turn in outcomes.map(Turn::Refused).into_iter().chain([Turn::Tell]) {
        for capability in [Capability::NONE, Capability::URL] {
            for (version, code, status) in [(LEGACY, -32603, Value::Null), (MODERN, -32021, json!(400))] {
                let tool = reply(&Client::new(version, capability, "tools/call"), &[github()], turn);
                assert_eq!((&tool["kind"], &tool["body"]["isError"]), (&json!("tool_result"), &json!(true)));
                assert!(text(&tool).contains("GitHub"));
                let other = reply(&Client::new(version, capability, "prompts/get"), &[github()], turn);
                assert_eq!((&other["kind"], &other["body"]["code"]), (&json!("jsonrpc_error"), &json!(code)));
                assert_eq!(other["http_status"], status);
            }
        }
    }
}

#[test]
fn m1_a_modern_method_that_cannot_ask_gets_a_plain_error_where_url_mode_is_declared() {
    let reply = reply(&Client::new(MODERN, Capability::URL, "completion/complete"), &[github()], ASK);
    assert_eq!((&reply["kind"], &reply["body"]["code"]), (&json!("jsonrpc_error"), &json!(-32603)));
    assert_eq!(reply.get("http_status"), None);
}

fn text(reply: &Value) -> &str {
    reply["body"]["content"][0]["text"].as_str().unwrap()
}
