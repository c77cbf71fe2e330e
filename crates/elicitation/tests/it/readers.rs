//! Every reader of the crate, given any bytes, and what must hold whatever they are: no panic, what was read is written
//! and reads back the same, and what is judged by two of our own is judged alike. Fuzzing calls the same function.

use consentry_elicitation::form::Form;
use consentry_elicitation::{
    Capability, Client, ElicitAction, ElicitRequestParams, ElicitResult, ElicitationComplete,
    InputRequiredResult, Link, Model, ProtocolVersion, Reply, Retry, RpcError, Sensitive,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The readers by name, which are also the folders of the corpus.
pub(crate) const READERS: [&str; 10] =
    ["capability", "complete", "error", "form", "link", "params", "request", "result", "retry", "round"];

/// Is this taken by the reader of this name?
pub(crate) fn read(reader: &str, bytes: &[u8]) -> bool {
    match reader {
        "capability" => back::<Capability>(bytes),
        "complete" => back::<ElicitationComplete>(bytes),
        "error" => error(bytes),
        "form" => form(bytes),
        "link" => std::str::from_utf8(bytes).is_ok_and(link),
        "params" => params(bytes),
        "request" => request(bytes),
        "result" => back::<ElicitResult>(bytes),
        "retry" => back::<Retry>(bytes),
        "round" => round(bytes),
        other => panic!("no reader is called {other}"),
    }
}

/// Reads, writes and reads again.
fn back<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> bool {
    let Ok(first) = serde_json::from_slice::<T>(bytes) else { return false };
    let text = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), first);
    true
}

fn error(bytes: &[u8]) -> bool {
    if let Ok(error) = serde_json::from_slice::<RpcError>(bytes) {
        let _ = (error.elicitations(), error.required_capability());
    }
    back::<RpcError>(bytes)
}

fn form(bytes: &[u8]) -> bool {
    if let Ok(form) = serde_json::from_slice::<Form>(bytes) {
        for version in
            [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28]
        {
            if let Ok(told) = form.for_version(version) {
                assert_eq!(told.fields().count(), form.fields().count());
            }
        }
    }
    back::<Form>(bytes)
}

fn params(bytes: &[u8]) -> bool {
    let Ok(params) = serde_json::from_slice::<ElicitRequestParams>(bytes) else { return false };
    let value = serde_json::to_value(&params).unwrap();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let mut model = Model::new(&Client::new(version, Capability::BOTH, "tools/call"));
        let _ = model.receive_value(&json!({ "kind": "elicitation_request", "body": value }));
        if let (ElicitRequestParams::Form(request), Ok(answer)) =
            (&params, model.answer(&value, ElicitAction::Accept))
            && answer.action == ElicitAction::Accept
        {
            // What the model writes into a form is taken by the form.
            assert!(answer.for_form(request.form()).is_ok());
        }
    }
    if let ElicitRequestParams::Form(request) = &params {
        let _ = request.concerns();
    }
    back::<ElicitRequestParams>(bytes)
}

fn round(bytes: &[u8]) -> bool {
    if let Ok(body) = serde_json::from_slice::<Value>(bytes) {
        let reply = json!({ "kind": "input_required", "body": body });
        let mut model =
            Model::new(&Client::new(ProtocolVersion::V2026_07_28, Capability::BOTH, "tools/call"));
        let clean = model.receive_value(&reply).is_empty();
        let _ = model.retry(&reply, |_| ElicitAction::Accept);
        // A strict client takes nothing that we could not read.
        assert!(!clean || serde_json::from_value::<Reply>(reply).is_ok());
    }
    back::<InputRequiredResult>(bytes)
}

fn request(bytes: &[u8]) -> bool {
    let Ok(params) = serde_json::from_slice::<Value>(bytes) else { return false };
    let _ = Capability::of_connection(&params);
    Client::of_request("tools/call", &params).is_ok()
}

fn link(text: &str) -> bool {
    let _ = (Sensitive::asked_by(text), Sensitive::asked_in(text));
    let Ok(link) = Link::parse(text) else { return false };
    let (before, domain, after) = link.highlighted();
    assert_eq!(format!("{before}{domain}{after}"), link.text());
    let _ = (link.warnings(), link.in_letters());
    assert_eq!(Link::parse(link.text()).as_ref(), Ok(&link));
    true
}
