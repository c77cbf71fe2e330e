//! What is written and what is read, against the JSON schema of each revision in `tests/schemas`, by a validator that
//! others wrote.

use std::cell::RefCell;
use std::path::PathBuf;

use boon::{Compiler, SchemaIndex, Schemas};
use consentry_elicitation::form::Form;
use consentry_elicitation::{
    Ask, Body, Capability, Client, ElicitAction, ElicitRequestParams, ElicitResult, ElicitationComplete, Era,
    InputRequiredResult, Model, ProtocolVersion, Reply, Retry, RpcError, Turn, UrlRequest, choose,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::arbitrary::{clients, form_asks, forms, turns};
use super::replay::{changed, corpus};

const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

/// The published schemas, of which one definition is asked at a time.
struct Published {
    compiler: Compiler,
    schemas: Schemas,
}

impl Published {
    /// `formats`: is a text refused that is not of the format that its schema names? What is written must be, and what is
    /// read may be a URL as browsers take it.
    fn new(formats: bool) -> Self {
        let mut compiler = Compiler::new();
        if formats {
            compiler.enable_format_assertions();
        }
        for revision in REVISIONS {
            let path =
                PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/schemas/{revision}.json"));
            let schema = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            compiler.add_resource(&location(revision), schema).unwrap();
        }
        Self { compiler, schemas: Schemas::new() }
    }

    fn index(&mut self, revision: &str, name: &str) -> SchemaIndex {
        self.compiler.compile(&format!("{}#/$defs/{name}", location(revision)), &mut self.schemas).unwrap()
    }

    fn takes(&mut self, revision: &str, name: &str, value: &Value) -> bool {
        let index = self.index(revision, name);
        self.schemas.validate(value, index).is_ok()
    }

    fn check(&mut self, revision: &str, name: &str, value: &impl Serialize) {
        let value = serde_json::to_value(value).unwrap();
        let index = self.index(revision, name);
        if let Err(error) = self.schemas.validate(&value, index) {
            panic!("{revision} {name}: {error}\n{value}");
        }
    }
}

thread_local! {
    static STRICT: RefCell<Published> = RefCell::new(Published::new(true));
}

/// With the schemas that refuse a text of another format than theirs.
fn strictly(check: impl FnOnce(&mut Published)) {
    STRICT.with_borrow_mut(check);
}

fn location(revision: &str) -> String {
    format!("https://schemas.example/{revision}.json")
}

/// The revision whose schema a client of this version lives by.
fn revision(version: ProtocolVersion) -> &'static str {
    match version {
        version if version < ProtocolVersion::V2025_11_25 => REVISIONS[0],
        version if version < ProtocolVersion::V2026_07_28 => REVISIONS[1],
        _ => REVISIONS[2],
    }
}

fn check_reply(published: &mut Published, client: &Client, reply: &Reply) {
    // URL mode is served to whoever declares it, in the words of the revision that has it.
    let url = matches!(&reply.body, Body::ElicitationRequest(ElicitRequestParams::Url(_)));
    let legacy_error = matches!(&reply.body, Body::JsonrpcError(error) if error.code == -32042);
    let revision = if url || legacy_error { REVISIONS[1] } else { revision(client.protocol_version) };
    match &reply.body {
        Body::ElicitationRequest(params) => published.check(revision, "ElicitRequestParams", params),
        Body::InputRequired(round) => published.check(revision, "InputRequiredResult", round),
        Body::ToolResult(result) => published.check(revision, "CallToolResult", result),
        Body::JsonrpcError(error) => {
            let name = match error.code {
                -32042 => "URLElicitationRequiredError",
                -32021 => "MissingRequiredClientCapabilityError",
                _ => "Error",
            };
            published.check(revision, name, error);
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_reply_is_valid_in_its_revision(client in clients(), form in form_asks(), turn in turns()) {
        strictly(|published| check_reply(published, &client, &choose(&client, &form, turn)));
        let asks = [
            Ask::new("a", "A", "i", "https://a.example/?elicitationId=i".parse().unwrap()),
            Ask::new("b", "B", "j", "https://a.example/?elicitationId=j".parse().unwrap()),
        ];
        for asks in [&asks[..0], &asks[..1], &asks] {
            strictly(|published| check_reply(published, &client, &choose(&client, asks, turn)));
        }
    }

    #[test]
    fn every_form_is_valid_in_each_revision_that_can_say_it(form in forms()) {
        for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
            let Ok(form) = form.for_version(version) else { continue };
            let params = json!({ "message": "m", "requestedSchema": form });
            strictly(|published| published.check(revision(version), "ElicitRequestFormParams", &params));
        }
    }

    /// The form itself is a JSON schema, and says the same to a validator as to us of what the model fills in.
    #[test]
    fn e38_answers_fit_the_form_as_a_json_schema(ask in form_asks()) {
        let client = Client::new(ProtocolVersion::V2025_11_25, Capability::FORM, "tools/call");
        let params = serde_json::to_value(ask.request.for_version(client.protocol_version).unwrap()).unwrap();
        let answer = Model::new(&client).answer(&params, ElicitAction::Accept).unwrap();
        if let Some(values) = answer.content {
            let mut compiler = Compiler::new();
            compiler.enable_format_assertions();
            compiler.add_resource("https://schemas.example/form.json", params["requestedSchema"].clone()).unwrap();
            let mut schemas = Schemas::new();
            let index = compiler.compile("https://schemas.example/form.json", &mut schemas).unwrap();
            let values = serde_json::to_value(values).unwrap();
            if let Err(error) = schemas.validate(&values, index) {
                panic!("{error}\n{params}\n{values}");
            }
        }
    }
}

#[test]
fn each_message_is_valid_in_its_revision() {
    let mut published = Published::new(true);
    let [first, legacy, modern] = REVISIONS;
    let link = UrlRequest::new("https://connect.example.com/".parse().unwrap(), "Connect GitHub.");
    published.check(modern, "ElicitRequestURLParams", &link);
    published.check(legacy, "ElicitRequestURLParams", &link.clone().elicitation_id("550e8400"));
    published.check(legacy, "ElicitationCompleteNotificationParams", &ElicitationComplete::new("550e8400"));
    let round = InputRequiredResult::asking([("a".to_owned(), link.into())]).state("s");
    published.check(modern, "InputRequiredResult", &round);
    published.check(modern, "InputRequiredResult", &InputRequiredResult::waiting("s"));
    let error = RpcError::missing_capability("m", Capability::BOTH);
    published.check(modern, "MissingRequiredClientCapabilityError", &error);
    for revision in REVISIONS {
        for action in [ElicitAction::Accept, ElicitAction::Decline, ElicitAction::Cancel] {
            published.check(revision, "ElicitResult", &ElicitResult::new(action));
        }
        let capabilities = json!({ "elicitation": Capability::FORM });
        published.check(revision, "ClientCapabilities", &capabilities);
    }
    let form = Form::builder().build().unwrap();
    let params = consentry_elicitation::FormRequest::new("m", form).unwrap();
    let old = params.for_version(ProtocolVersion::V2025_06_18).unwrap();
    published.check(first, "ElicitRequestParams", &old);
    published.check(modern, "ElicitRequestParams", &params);
}

/// What a reader takes, the schema of the revision takes: of the one that the message belongs to.
fn is_published(published: &mut Published, reader: &str, value: &Value) -> bool {
    let [_, legacy, modern] = REVISIONS;
    match reader {
        "form" => {
            let params = json!({ "message": "m", "requestedSchema": value });
            [legacy, modern]
                .iter()
                .all(|revision| published.takes(revision, "ElicitRequestFormParams", &params))
        }
        "params" if value.get("mode").is_some_and(|mode| mode == "url") => {
            let with_id = value.get("elicitationId").is_some();
            published.takes(modern, "ElicitRequestURLParams", value)
                && (!with_id || published.takes(legacy, "ElicitRequestURLParams", value))
        }
        "params" => {
            [legacy, modern].iter().all(|revision| published.takes(revision, "ElicitRequestParams", value))
        }
        "result" => [legacy, modern].iter().all(|revision| published.takes(revision, "ElicitResult", value)),
        "error" => published.takes(legacy, "Error", value) && published.takes(modern, "Error", value),
        "round" => published.takes(modern, "InputRequiredResult", value),
        // Answers are read one by one, and what is not ours in them is passed over (M11).
        "retry" => {
            let mut known = value.clone();
            let retry: Retry = serde_json::from_value(value.clone()).unwrap();
            if let Some(answers) = known.get_mut("inputResponses").and_then(Value::as_object_mut) {
                answers.retain(|key, _| retry.input_responses.elicited(key).is_some());
            }
            published.takes(modern, "InputResponseRequestParams", &known)
        }
        "complete" => published.takes(legacy, "ElicitationCompleteNotificationParams", value),
        // `null` stands for what was not declared.
        "capability" => {
            let given = value.as_object().map(|modes| {
                let modes = modes.iter().filter(|(_, mode)| !mode.is_null());
                json!({ "elicitation": Value::from_iter(modes.map(|(name, mode)| (name.clone(), mode.clone()))) })
            });
            given.is_none_or(|given| published.takes(modern, "ClientCapabilities", &given))
        }
        _ => true,
    }
}

#[test]
fn whatever_is_read_is_valid_in_its_revision() {
    let mut published = Published::new(false);
    let (mut taken, mut refused) = (0, 0);
    for (reader, name, bytes) in corpus() {
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { continue };
        for value in [value.clone()].into_iter().chain(changed(&value)) {
            if super::readers::read(reader, &serde_json::to_vec(&value).unwrap()) {
                assert!(is_published(&mut published, reader, &value), "{reader}/{name}: {value}");
                taken += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert!(taken > 200 && refused > 1000, "{taken} taken, {refused} refused");
}

#[test]
fn e19_e20_every_link_of_the_error_is_a_url_elicitation_with_an_id() {
    let ask = |id: &str| Ask::new("a", "A", id, "https://a.example/".parse().unwrap());
    let client = Client::new(ProtocolVersion::V2025_11_25, Capability::URL, "tools/call");
    assert_eq!(client.era(), Era::Legacy);
    let reply = choose(&client, &[ask("i"), ask("j")], Turn::Ask { request_state: None });
    let Body::JsonrpcError(error) = reply.body else { panic!() };
    Published::new(true).check("2025-11-25", "URLElicitationRequiredError", &error);
    let ids: Vec<String> =
        error.elicitations().unwrap().into_iter().filter_map(|link| link.elicitation_id).collect();
    assert_eq!((error.code, ids), (-32042, vec!["i".to_owned(), "j".to_owned()]));
}
