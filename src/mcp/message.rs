//! One JSON-RPC message, read strictly: no batch, no member twice, no id that is neither text nor a whole number.
//!
//! A member that stands there twice is one thing to a gateway that reads the first and another to whoever reads the last.

use std::fmt;

use consentry_elicitation::VERSION_KEY;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value, error::Category};

use super::fault::Fault;

/// Longest method name, and longest id that is text, in bytes.
const WORD_BYTES_MAX: usize = 256;

/// What a client sends.
#[derive(Debug)]
pub(super) enum Message {
    /// To be answered.
    Request(Request),
    /// Not to be answered; none that a client sends changes anything here.
    Notification,
    /// The answer to a request of ours.
    Response(Answer),
}

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: Id,
    pub(super) method: String,
    /// Empty when there are none.
    pub(super) params: Map<String, Value>,
    /// Whether it declares its version itself.
    declares_version: bool,
}

/// An answer to a request of ours.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: String,
    /// The result; none when the client failed the request.
    pub(super) result: Option<Value>,
}

/// What names a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Text(String),
    Number(Number),
}

impl Id {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::Number(number.clone()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text.len() <= WORD_BYTES_MAX => Some(Self::Text(text.clone())),
            Value::Number(number) if number.is_i64() || number.is_u64() => Some(Self::Number(number.clone())),
            _ => None,
        }
    }
}

impl Message {
    /// Whether it is a request that declares its version itself, as those of the modern era do.
    pub(super) fn declares_version(&self) -> bool {
        matches!(self, Self::Request(request) if request.declares_version)
    }
}

/// Reads a body.
pub(super) fn read(bytes: &[u8]) -> Result<Message, Fault> {
    let Once(value) = serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => Fault::invalid_request("A member stands there twice."),
        Category::Syntax | Category::Eof | Category::Io => {
            Fault::parse_error("The body is not one JSON document in UTF-8.")
        }
    })?;
    let mut members = match value {
        Value::Object(members) => members,
        Value::Array(_) => return Err(Fault::invalid_request("Send one message, not a batch.")),
        _ => return Err(Fault::invalid_request("The body is no JSON-RPC message.")),
    };
    let id = members.get("id").map(|id| Id::read(id).ok_or(()));
    let fault = |message: &str| {
        let fault = Fault::invalid_request(message);
        match &id {
            Some(Ok(id)) => fault.for_request(id.clone()),
            _ => fault,
        }
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(fault("`jsonrpc` is not \"2.0\"."));
    }
    let has_outcome = members.contains_key("result") || members.contains_key("error");
    match (members.remove("method"), &id) {
        (_, Some(Err(()))) => Err(fault("An id is text or a whole number.")),
        (None, Some(Ok(id))) if has_outcome => response(id, members),
        (Some(Value::String(method)), id) if !has_outcome && method.len() <= WORD_BYTES_MAX => match id {
            Some(Ok(id)) => request(id.clone(), method, members.remove("params")),
            _ => Ok(Message::Notification),
        },
        _ => Err(fault("The body is no JSON-RPC message.")),
    }
}

fn request(id: Id, method: String, params: Option<Value>) -> Result<Message, Fault> {
    let params = match params {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(Fault::invalid_params("/params: is not an object").for_request(id));
        }
    };
    let meta = params.get("_meta").and_then(Value::as_object);
    let declares_version = meta.is_some_and(|meta| meta.contains_key(VERSION_KEY));
    Ok(Message::Request(Request { id, method, params, declares_version }))
}

fn response(id: &Id, mut members: Map<String, Value>) -> Result<Message, Fault> {
    let result = members.remove("result");
    if result.is_some() && members.contains_key("error") {
        return Err(Fault::invalid_request("A response has either a result or an error."));
    }
    let id = match id {
        Id::Text(id) => id.clone(),
        Id::Number(number) => number.to_string(),
    };
    Ok(Message::Response(Answer { id, result }))
}

/// A JSON value in which no object has a member twice.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Once(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Once(value))) = members.next_entry::<String, Once>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a member stands there twice"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn code(body: &str) -> i64 {
        read(body.as_bytes()).unwrap_err().body()["error"]["code"].as_i64().unwrap()
    }

    #[test]
    fn e20_what_is_no_message_has_its_error() {
        for body in ["", "{", "nonsense", "{} {}", "\u{feff}{}"] {
            assert_eq!(code(body), -32_700, "{body}");
        }
        for body in [
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            "7",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"connect","name":"disconnect"}}"#,
        ] {
            assert_eq!(code(body), -32_600, "{body}");
        }
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#), -32_602);
    }

    #[test]
    fn the_id_that_can_be_read_is_answered() {
        let fault = read(br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#).unwrap_err();
        assert_eq!(fault.body()["id"], "a");
        let fault = read(br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#).unwrap_err();
        assert_eq!(fault.body().get("id"), None);
    }

    proptest! {
        #[test]
        fn m3_no_body_panics(body in "[\\[\\]{}:,\"a-z0-9. -]{0,80}") {
            let _ = read(body.as_bytes());
        }

        #[test]
        fn a_request_is_read_as_it_was_written(id in any::<i64>(), method in "[a-z/]{1,20}", value in any::<f64>()) {
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "a": [value, null, true, "x"] } });
            let Ok(Message::Request(request)) = read(body.to_string().as_bytes()) else { panic!() };
            prop_assert_eq!(request.id.to_json(), json!(id));
            prop_assert_eq!(request.method, method);
            prop_assert_eq!(&request.params["a"], &body["params"]["a"]);
        }
    }
}
