//! What is wrong with a form, keyword by keyword as each revision has them. Written apart from the reader of this crate,
//! so that a mistake in one shows in the other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::shape::{At, Kind};
use super::{Model, Rule};
use crate::request::has_link;
use crate::{ConcernKind, ElicitRequestParams, Form, ProtocolVersion};

impl Model {
    pub(super) fn form_params(&self, at: &mut At<'_>) {
        at.only(&["mode", "message", "requestedSchema", "_meta"]);
        if at.has("mode") {
            at.constant("mode", "form");
            if self.version < ProtocolVersion::V2025_11_25 {
                at.broken("mode", Rule::Revision);
            }
        }
        if !self.capability.form() {
            at.broken(if at.has("mode") { "mode" } else { "" }, Rule::Undeclared);
        }
        let message = at.text("message").unwrap_or_default();
        if has_link(message) {
            at.broken("message", Rule::Clickable);
        }
        at.inside("requestedSchema", |schema| self.schema(schema));
        if at.is_clean() {
            at.asked_for_secrets();
        }
    }

    fn schema(&self, schema: &mut At<'_>) {
        schema.only(&["$schema", "type", "properties", "required"]);
        schema.constant("type", "object");
        schema.optional("$schema", Kind::Text);
        schema.each("properties", Kind::Object, |_, field| self.field(field));
        let names: BTreeSet<String> = schema
            .value()
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|fields| fields.keys().cloned())
            .collect();
        if schema.has("required") {
            for (place, name) in schema.texts("required").into_iter().enumerate() {
                if !names.contains(name) {
                    schema.broken_below(&format!("/required/{place}"), Rule::Wrong);
                }
            }
        }
        // What each keyword allows and all of them together do not.
        if schema.is_clean()
            && let Err(error) = Form::read(schema.value())
        {
            schema.broken_below(&error.at, Rule::Contradiction);
        }
    }

    fn field(&self, field: &mut At<'_>) {
        for text in ["title", "description"] {
            if field.optional(text, Kind::Text).and_then(Value::as_str).is_some_and(has_link) {
                field.broken(text, Rule::Clickable);
            }
        }
        let first = self.version < ProtocolVersion::V2025_11_25;
        let kind = field.required("type", Kind::Text).and_then(Value::as_str).unwrap_or_default();
        match kind {
            "string" if field.has("oneOf") => {
                field.only(&["type", "title", "description", "oneOf", "default"]);
                titled(field, "oneOf");
                field.optional("default", Kind::Text);
            }
            "string" if field.has("enum") => {
                field.only(&["type", "title", "description", "enum", "enumNames", "default"]);
                let values = field.texts("enum").len();
                if values == 0 {
                    field.broken("enum", Rule::Empty);
                }
                // Values are told apart, names need not be, as with the titles of `oneOf`.
                if field.has("enumNames") && field.repeated_texts("enumNames").len() != values {
                    field.broken("enumNames", Rule::Wrong);
                }
                field.optional("default", Kind::Text);
            }
            "string" => {
                let known = [
                    "type",
                    "title",
                    "description",
                    "minLength",
                    "maxLength",
                    "pattern",
                    "format",
                    "default",
                ];
                field.only(&known);
                for (keyword, kind) in
                    [("minLength", Kind::Count), ("maxLength", Kind::Count), ("pattern", Kind::Text)]
                {
                    field.optional(keyword, kind);
                }
                let format = field.optional("format", Kind::Text).and_then(Value::as_str);
                if format.is_some_and(|format| !["email", "uri", "date", "date-time"].contains(&format)) {
                    field.broken("format", Rule::Wrong);
                }
                field.optional("default", Kind::Text);
                let has_pattern = ProtocolVersion::V2025_11_25..ProtocolVersion::V2026_07_28;
                if field.has("pattern") && !has_pattern.contains(&self.version) {
                    field.broken("pattern", Rule::Revision);
                }
            }
            "number" | "integer" => {
                field.only(&["type", "title", "description", "minimum", "maximum", "default"]);
                for keyword in ["minimum", "maximum", "default"] {
                    field.optional(keyword, Kind::Fraction);
                }
            }
            "boolean" => {
                field.only(&["type", "title", "description", "default"]);
                field.optional("default", Kind::Bool);
            }
            "array" => {
                field.only(&["type", "title", "description", "minItems", "maxItems", "items", "default"]);
                field.optional("minItems", Kind::Count);
                field.optional("maxItems", Kind::Count);
                field.inside("items", |items| {
                    if items.has("anyOf") {
                        items.only(&["anyOf"]);
                        titled(items, "anyOf");
                    } else {
                        items.only(&["type", "enum"]);
                        items.constant("type", "string");
                        if items.texts("enum").is_empty() {
                            items.broken("enum", Rule::Empty);
                        }
                    }
                });
                if field.has("default") {
                    field.texts("default");
                }
            }
            _ => field.broken("type", Rule::Wrong),
        }
        if first {
            let later = ["oneOf", "items"].into_iter().find(|keyword| field.has(keyword));
            let default = (kind != "boolean" && field.has("default")).then_some("default");
            for keyword in later.into_iter().chain(default) {
                field.broken(keyword, Rule::Revision);
            }
        }
    }
}

fn titled(at: &mut At<'_>, list: &str) {
    let mut count = 0;
    at.each(list, Kind::List, |_, option| {
        count += 1;
        option.only(&["const", "title"]);
        option.required("const", Kind::Text);
        if option.required("title", Kind::Text).and_then(Value::as_str).is_some_and(has_link) {
            option.broken("title", Rule::Clickable);
        }
    });
    if count == 0 {
        at.broken(list, Rule::Empty);
    }
}

impl At<'_> {
    /// The words are judged in one place for both sides: a list of words kept twice would only differ by accident.
    fn asked_for_secrets(&mut self) {
        let Ok(ElicitRequestParams::Form(request)) = ElicitRequestParams::read(self.value()) else { return };
        for concern in request.concerns() {
            if let ConcernKind::Sensitive(_) = concern.kind {
                self.broken_below(&concern.at, Rule::Secret);
            }
        }
    }
}
