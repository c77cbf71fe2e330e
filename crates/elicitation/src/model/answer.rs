//! What a strict client answers: it refuses what it did not declare, fills in a form with what the form allows, and sends
//! back a state as it came.

use serde_json::Value;

use super::Model;
use crate::form::{Field, Format, Values};
use crate::{
    ElicitAction, ElicitRequestParams, ElicitResult, ElicitValue, Form, InputResponses, Retry, RpcError,
};

impl Model {
    /// What the client answers to a request, when its user decides so. A form that is accepted is filled in with its
    /// defaults and with plain values where there is no default and the field is required; where nothing fits that can
    /// be thought of, the answer is `cancel`.
    ///
    /// # Errors
    ///
    /// `-32602` for a mode that was not declared (E52), a request after the end of the call (E53), and parameters that
    /// cannot be read.
    ///
    /// ```
    /// use consentry_elicitation::{Capability, Client, ElicitAction, Model, ProtocolVersion};
    /// use serde_json::json;
    ///
    /// let client = Client::new(ProtocolVersion::V2025_11_25, Capability::FORM, "tools/call");
    /// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    /// let form = json!({ "message": "How many?", "requestedSchema": schema });
    /// let answer = Model::new(&client).answer(&form, ElicitAction::Accept)?;
    /// assert_eq!(serde_json::to_value(&answer)?, json!({ "action": "accept", "content": { "n": 0 } }));
    ///
    /// let link = json!({ "mode": "url", "elicitationId": "i", "url": "https://a.example/", "message": "m" });
    /// assert_eq!(Model::new(&client).answer(&link, ElicitAction::Accept).unwrap_err().code, -32602);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answer(&self, params: &Value, action: ElicitAction) -> Result<ElicitResult, RpcError> {
        if self.finished {
            return Err(RpcError::invalid_params("There is no request that this belongs to."));
        }
        let params =
            ElicitRequestParams::read(params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        let declared = match &params {
            ElicitRequestParams::Url(_) => self.capability.url(),
            ElicitRequestParams::Form(_) => self.capability.form(),
        };
        if !declared {
            return Err(RpcError::invalid_params("/mode: this client did not declare it"));
        }
        Ok(match params {
            ElicitRequestParams::Form(request) if action == ElicitAction::Accept => {
                fill(request.form()).map_or(ElicitResult::new(ElicitAction::Cancel), ElicitResult::accept)
            }
            ElicitRequestParams::Form(_) | ElicitRequestParams::Url(_) => ElicitResult::new(action),
        })
    }

    /// What the client adds to its request when it repeats it after an `input_required` (M12, M14): an answer for every
    /// key, and the state as it came. `None` for another reply, and when a request in it cannot be answered. The
    /// repeated request needs a JSON-RPC id of its own (M15).
    ///
    /// ```
    /// use consentry_elicitation::{Capability, Client, ElicitAction, Model, ProtocolVersion};
    /// use serde_json::json;
    ///
    /// let client = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/call");
    /// let link = json!({ "mode": "url", "url": "https://a.example/", "message": "m" });
    /// let reply = json!({ "kind": "input_required", "body": {
    ///     "resultType": "input_required",
    ///     "inputRequests": { "a": { "method": "elicitation/create", "params": link } },
    ///     "requestState": "v1.sealed",
    /// } });
    /// let retry = Model::new(&client).retry(&reply, |_| ElicitAction::Accept).unwrap();
    /// assert_eq!(retry.request_state.as_deref(), Some("v1.sealed"));
    /// assert_eq!(retry.input_responses.action("a"), Some(ElicitAction::Accept));
    /// ```
    pub fn retry(&self, reply: &Value, decide: impl Fn(&str) -> ElicitAction) -> Option<Retry> {
        let body =
            reply.get("body").filter(|_| reply.get("kind").is_some_and(|kind| kind == "input_required"))?;
        let mut answers = InputResponses::default();
        for (key, request) in body.get("inputRequests").and_then(Value::as_object).into_iter().flatten() {
            let answer = self.answer(request.get("params")?, decide(key)).ok()?;
            answers.insert(key, &answer).ok()?;
        }
        let state = body.get("requestState").and_then(Value::as_str).map(str::to_owned);
        Some(Retry { input_responses: answers, request_state: state })
    }
}

/// Values that the form accepts.
fn fill(form: &Form) -> Option<Values> {
    let needed = form.fields().filter(|(name, field)| form.is_required(name) || field.default().is_some());
    let values = needed
        .map(|(name, field)| Some((name.to_owned(), field.default().or_else(|| plain(field))?)))
        .collect::<Option<Values>>()?;
    form.answers(&values).is_ok().then_some(values)
}

fn plain(field: &Field) -> Option<ElicitValue> {
    Some(match field {
        Field::Boolean(_) => ElicitValue::Bool(true),
        Field::Integer(field) => {
            let least = field.minimum.unwrap_or(i64::MIN);
            ElicitValue::Number(0.clamp(least, field.maximum.unwrap_or(i64::MAX)).into())
        }
        Field::Number(field) => {
            let number = 0_f64.max(field.minimum.unwrap_or(f64::MIN)).min(field.maximum.unwrap_or(f64::MAX));
            ElicitValue::Number(serde_json::Number::from_f64(number)?)
        }
        Field::Choice(field) => ElicitValue::Text(field.options().first()?.value().to_owned()),
        Field::Choices(field) => {
            let count = usize::try_from(field.min_items.unwrap_or(0)).ok()?;
            ElicitValue::Many(
                field.options().iter().take(count).map(|option| option.value().to_owned()).collect(),
            )
        }
        Field::Text(field) => {
            let least = usize::try_from(field.min_length.unwrap_or(0)).ok()?;
            let padded = |before: &str, after: &str| {
                let missing = least.saturating_sub(before.len() + after.len());
                format!("{before}{}{after}", "a".repeat(missing))
            };
            let thoughts = match field.format {
                Some(Format::Email) => vec![padded("a", "@b.c")],
                Some(Format::Uri) => vec![padded("a:", ""), padded("https://a.example/", "")],
                Some(Format::Date) => vec!["2026-07-28".to_owned()],
                Some(Format::DateTime) => vec!["2026-07-28T00:00:00Z".to_owned()],
                None => ["a", "A", "1", "", "-", "a1"].iter().map(|text| text.repeat(least.max(1))).collect(),
            };
            ElicitValue::Text(thoughts.into_iter().find(|text| field.judge(text).is_ok())?)
        }
    })
}
