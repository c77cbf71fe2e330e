//! Form mode: what a form may say, what it must not ask, and how answers are judged.

use consentry_elicitation::form::{
    AnswerFault, Boolean, Choice, Choices, Form, FormFault, Format, Integer, Number, Text, Values,
};
use consentry_elicitation::{
    Concern, ConcernKind, ElicitAction, ElicitRequestParams, ElicitResult, FormOutcome, FormRequest,
    ProtocolVersion, Sensitive,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Every kind of field that the protocol has, as the specification writes them.
fn every_kind() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "title": "T", "description": "D", "minLength": 3, "maxLength": 50,
                      "pattern": "^[A-Za-z]+$", "default": "user" },
            "email": { "type": "string", "format": "email", "default": "user@example.com" },
            "uri": { "type": "string", "format": "uri" },
            "date": { "type": "string", "format": "date" },
            "moment": { "type": "string", "format": "date-time" },
            "number": { "type": "number", "minimum": 0, "maximum": 100.5, "default": 50 },
            "integer": { "type": "integer", "minimum": -1, "maximum": 7, "default": 0 },
            "yes": { "type": "boolean", "default": false },
            "plain": { "type": "string", "enum": ["Red", "Green"], "default": "Red" },
            "titled": { "type": "string", "default": "#f00",
                        "oneOf": [{ "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }] },
            "legacy": { "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b" },
            "several": { "type": "array", "minItems": 1, "maxItems": 2, "default": ["Red", "Green"],
                         "items": { "type": "string", "enum": ["Red", "Green", "Blue"] } },
            "several_titled": { "type": "array", "default": ["#f00"],
                "items": { "anyOf": [{ "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }] } },
        },
        "required": ["several", "text"],
    })
}

#[test]
fn every_kind_of_field_is_read_and_written_the_same() {
    let form = Form::read(&every_kind()).unwrap();
    let mut written = serde_json::to_value(&form).unwrap();
    // It is a set; the order is that of the fields, which only some builds of `serde_json` keep.
    written["required"].as_array_mut().unwrap().sort_by_key(ToString::to_string);
    assert_eq!(written, every_kind());
    assert_eq!(form.fields().count(), 13);
    assert!(form.is_required("text") && !form.is_required("email"));
}

#[test]
fn the_order_of_fields_is_the_one_of_the_text() {
    let text = r#"{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"boolean"},"m":{"type":"boolean"}}}"#;
    let form: Form = serde_json::from_str(text).unwrap();
    assert_eq!(form.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["z", "a", "m"]);
    assert_eq!(serde_json::to_string(&form).unwrap(), text);
}

#[test]
fn each_fault_has_its_place() {
    let one = |field: Value| json!({ "type": "object", "properties": { "a/b": field } });
    let string = |more: Value| {
        let mut field = json!({ "type": "string" });
        field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        one(field)
    };
    let at = |rest: &str| format!("/properties/a~1b{rest}");
    for (schema, place, fault) in [
        (json!([]), String::new(), FormFault::WrongType),
        (json!({ "properties": {} }), "/type".into(), FormFault::Missing),
        (json!({ "type": "array", "properties": {} }), "/type".into(), FormFault::Value),
        (json!({ "type": "object" }), "/properties".into(), FormFault::Missing),
        (json!({ "type": "object", "properties": [] }), "/properties".into(), FormFault::WrongType),
        (json!({ "type": "object", "properties": {}, "anyOf": [] }), "/anyOf".into(), FormFault::Keyword),
        (
            json!({ "type": "object", "properties": {}, "required": ["a"] }),
            "/required/0".into(),
            FormFault::NoField,
        ),
        (one(json!(true)), at(""), FormFault::WrongType),
        (one(json!({})), at("/type"), FormFault::Missing),
        (one(json!({ "type": ["string", "null"] })), at("/type"), FormFault::WrongType),
        (one(json!({ "type": "object", "properties": {} })), at("/type"), FormFault::Kind),
        (one(json!({ "$ref": "#/$defs/x" })), at("/type"), FormFault::Missing),
        (string(json!({ "title": null })), at("/title"), FormFault::WrongType),
        (string(json!({ "minLength": 2, "maxLength": 1 })), at("/minLength"), FormFault::Bounds),
        (string(json!({ "minLength": -1 })), at("/minLength"), FormFault::Range),
        (string(json!({ "minLength": 0.5 })), at("/minLength"), FormFault::WrongType),
        (string(json!({ "pattern": "(?=a)" })), at("/pattern"), FormFault::Pattern),
        (string(json!({ "format": "ipv4" })), at("/format"), FormFault::Format),
        (string(json!({ "format": "password" })), at("/format"), FormFault::Sensitive(Sensitive::Password)),
        (string(json!({ "writeOnly": true })), at("/writeOnly"), FormFault::Keyword),
        (string(json!({ "minimum": 1 })), at("/minimum"), FormFault::Keyword),
        (string(json!({ "default": "abc", "maxLength": 2 })), at("/default"), FormFault::Default),
        (string(json!({ "default": 1 })), at("/default"), FormFault::WrongType),
        (string(json!({ "enum": [] })), at("/enum"), FormFault::Empty),
        (string(json!({ "enum": ["x", "x"] })), at("/enum/1"), FormFault::Twice),
        (string(json!({ "enum": ["x", 1] })), at("/enum/1"), FormFault::WrongType),
        (string(json!({ "enum": ["x"], "enumNames": [] })), at("/enumNames"), FormFault::Names),
        (string(json!({ "enum": ["x"], "default": "y" })), at("/default"), FormFault::Default),
        (string(json!({ "enum": ["x"], "maxLength": 1 })), at("/maxLength"), FormFault::Keyword),
        (string(json!({ "oneOf": [{ "const": "x" }] })), at("/oneOf/0/title"), FormFault::Missing),
        (
            string(json!({ "oneOf": [{ "const": "x", "title": "X" }], "enum": ["x"] })),
            at("/enum"),
            FormFault::Keyword,
        ),
        (one(json!({ "type": "integer", "minimum": 0.5 })), at("/minimum"), FormFault::WrongType),
        (one(json!({ "type": "integer", "maximum": 1e40 })), at("/maximum"), FormFault::Range),
        (one(json!({ "type": "number", "minimum": 2, "maximum": 1 })), at("/minimum"), FormFault::Bounds),
        (
            one(json!({ "type": "number", "exclusiveMinimum": 2 })),
            at("/exclusiveMinimum"),
            FormFault::Keyword,
        ),
        (one(json!({ "type": "boolean", "default": "true" })), at("/default"), FormFault::WrongType),
        (one(json!({ "type": "array" })), at("/items"), FormFault::Missing),
        (
            one(json!({ "type": "array", "items": { "type": "string" } })),
            at("/items/enum"),
            FormFault::Missing,
        ),
        (one(json!({ "type": "array", "items": { "enum": ["x"] } })), at("/items/type"), FormFault::Missing),
        (
            one(json!({ "type": "array", "items": { "type": "string", "enum": ["x"] }, "minItems": 2 })),
            at("/minItems"),
            FormFault::Bounds,
        ),
        (
            one(
                json!({ "type": "array", "items": { "type": "string", "enum": ["x"] }, "uniqueItems": true }),
            ),
            at("/uniqueItems"),
            FormFault::Keyword,
        ),
    ] {
        let error = Form::read(&schema).unwrap_err();
        assert_eq!((error.at.as_str(), error.fault), (place.as_str(), fault), "{schema}");
    }
    let twice = r#"{"type":"object","properties":{"a":{"type":"boolean"},"a":{"type":"string"}}}"#;
    let error = serde_json::from_str::<Form>(twice).unwrap_err().to_string();
    assert!(error.starts_with("/properties/a: is there twice"), "{error}");
}

#[test]
fn what_generators_add_around_a_form_is_let_through() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Contact", "description": "Whom to call.",
        "additionalProperties": false, "type": "object", "properties": {},
    });
    assert_eq!(Form::read(&schema).unwrap(), Form::builder().build().unwrap());
}

#[test]
fn a_builder_refuses_what_contradicts_itself() {
    let build = |form: consentry_elicitation::form::FormBuilder| form.build().unwrap_err().to_string();
    assert_eq!(
        build(Form::builder().required("a", Boolean::new()).optional("a", Boolean::new())),
        "/properties/a: is there twice"
    );
    assert_eq!(
        build(Form::builder().required("a", Number::new().minimum(f64::NAN))),
        "/properties/a/minimum: is out of range"
    );
    assert_eq!(
        build(Form::builder().required("a", Choices::titled([("x", "X"), ("x", "Y")]))),
        "/properties/a/items/anyOf/1/const: is there twice"
    );
    assert_eq!(
        build(Form::builder().required("a", Text::new().format(Format::Email).default("nobody"))),
        "/properties/a/default: would not be accepted as an answer"
    );
}

#[test]
fn e1_e2_e37_a_form_that_asks_for_a_secret_is_refused_with_the_advice_to_use_url_mode() {
    let ask = |message: &str, form: consentry_elicitation::form::FormBuilder| {
        FormRequest::new(message, form.build().unwrap())
    };
    for (request, place) in [
        (ask("m", Form::builder().required("password", Text::new())), "password"),
        (ask("m", Form::builder().required("x", Text::new().title("Your API key"))), "x/title"),
        (
            ask("m", Form::builder().required("x", Text::new().description("The access token of it"))),
            "x/description",
        ),
        (ask("m", Form::builder().required("cardNumber", Integer::new())), "cardNumber"),
        (ask("m", Form::builder().required("pin", Number::new())), "pin"),
    ] {
        let error = request.unwrap_err();
        assert_eq!(error.at, format!("/requestedSchema/properties/{place}"));
        assert!(matches!(error.fault, FormFault::Sensitive(_)));
        assert!(
            error.to_string().ends_with("which must not pass through the client: use URL mode"),
            "{error}"
        );
    }
    let error = ask("Enter your GitHub password.", Form::builder().required("x", Text::new())).unwrap_err();
    assert_eq!(error.at, "/message");

    // Nothing can be typed here, and a name or an address is no secret.
    let harmless = Form::builder()
        .required("api_key", Choice::plain(["prod key", "test key"]))
        .required("reset_password", Boolean::new())
        .required("name", Text::new().title("Full name"))
        .required("email", Text::new().format(Format::Email));
    assert!(ask("Which one?", harmless).is_ok());
    assert!(ask("", Form::builder()).is_err());
}

#[test]
fn e34_links_meant_to_be_clicked_are_flagged() {
    let form = Form::builder()
        .required("a", Text::new().description("As on www.example.com"))
        .required("b", Choice::titled([("x", "[here](javascript:x)")]))
        .required("c", Text::new().format(Format::Uri).title("Your website").default("https://example.com/"))
        .build()
        .unwrap();
    let request = FormRequest::new("Read https://example.com/terms first.", form).unwrap();
    let link = |at: &str| Concern { at: at.into(), kind: ConcernKind::Link };
    assert_eq!(
        request.concerns(),
        [
            link("/message"),
            link("/requestedSchema/properties/a/description"),
            link("/requestedSchema/properties/b"),
        ]
    );
}

#[test]
fn e8_e9_e10_e47_a_form_with_or_without_its_mode_is_the_same_form() {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let without = json!({ "message": "Name?", "requestedSchema": schema });
    let with = json!({ "mode": "form", "message": "Name?", "requestedSchema": schema });
    let read = |value: &Value| match ElicitRequestParams::read(value).unwrap() {
        ElicitRequestParams::Form(request) => request,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&with).without_mode(), read(&without));
    for value in [with, without] {
        assert_eq!(serde_json::to_value(read(&value)).unwrap(), value);
    }
    for (params, error) in [
        (json!({ "requestedSchema": schema }), "/message: is missing"),
        (json!({ "message": "m" }), "/requestedSchema: is missing"),
        (
            json!({ "message": "m", "requestedSchema": { "type": "object", "properties": { "a": { "type": "null" } } } }),
            "/requestedSchema/properties/a/type: is not a kind of field that a form can have: \
             string, number, integer, boolean or a choice of strings",
        ),
    ] {
        assert_eq!(ElicitRequestParams::read(&params).unwrap_err().to_string(), error);
    }
}

fn values(value: Value) -> Values {
    serde_json::from_value(value).unwrap()
}

#[test]
fn e38_answers_are_judged_by_the_form() {
    let form = Form::read(&every_kind()).unwrap();
    let good =
        json!({ "text": "abcd", "several": ["Blue"], "integer": 3.0, "number": 0.25, "titled": "#0f0" });
    let answers = form.answers(&values(good)).unwrap();
    assert_eq!((answers.text("text"), answers.integer("integer")), (Some("abcd"), Some(3)));
    assert_eq!((answers.number("number"), answers.text("titled")), (Some(0.25), Some("#0f0")));
    assert_eq!(answers.many("several"), Some(&["Blue".to_owned()][..]));
    for (field, value, fault) in [
        ("text", json!("ab"), AnswerFault::TooShort),
        ("text", json!("ä".repeat(51)), AnswerFault::TooLong),
        ("text", json!("ab1"), AnswerFault::Pattern),
        ("text", json!(1), AnswerFault::WrongType),
        ("email", json!("nobody"), AnswerFault::Format(Format::Email)),
        ("uri", json!("/here"), AnswerFault::Format(Format::Uri)),
        ("date", json!("28.07.2026"), AnswerFault::Format(Format::Date)),
        ("moment", json!("2026-07-28"), AnswerFault::Format(Format::DateTime)),
        ("number", json!(-0.5), AnswerFault::TooLow),
        ("number", json!(101), AnswerFault::TooHigh),
        ("number", json!("50"), AnswerFault::WrongType),
        ("integer", json!(3.5), AnswerFault::WrongType),
        ("integer", json!(u64::MAX), AnswerFault::WrongType),
        ("integer", json!(8), AnswerFault::TooHigh),
        ("yes", json!("true"), AnswerFault::WrongType),
        ("plain", json!("Blue"), AnswerFault::NoOption),
        ("titled", json!("Red"), AnswerFault::NoOption),
        ("legacy", json!("A"), AnswerFault::NoOption),
        ("several", json!([]), AnswerFault::TooFew),
        ("several", json!(["Red", "Green", "Blue"]), AnswerFault::TooMany),
        ("several", json!(["Red", "Red"]), AnswerFault::Twice),
        ("several", json!("Red"), AnswerFault::WrongType),
        ("several_titled", json!(["Red"]), AnswerFault::NoOption),
    ] {
        let mut all = json!({ "text": "abcd", "several": ["Blue"] });
        all[field] = value;
        let refused = form.answers(&values(all)).unwrap_err();
        assert_eq!(refused.0.len(), 1, "{refused}");
        assert_eq!((refused.0[0].field.as_str(), refused.0[0].fault), (field, fault));
    }
}

#[test]
fn m11_defaults_stand_in_for_what_was_left_out_and_the_rest_is_passed_over() {
    let form = Form::builder()
        .required("a", Text::new().default("x"))
        .required("b", Integer::new())
        .optional("c", Boolean::new())
        .build()
        .unwrap();
    let answers = form.answers(&values(json!({ "b": 1, "unasked": "y" }))).unwrap();
    assert_eq!(serde_json::to_value(answers.values()).unwrap(), json!({ "a": "x", "b": 1 }));
    let refused = form.answers(&Values::new()).unwrap_err();
    assert_eq!(refused.to_string(), "b: must be answered");
}

#[test]
fn an_error_never_repeats_what_was_written() {
    let form = Form::builder().required("a", Text::new().pattern("^x$").max_length(3)).build().unwrap();
    for text in ["hunter2", "abc"] {
        let refused = form.answers(&values(json!({ "a": text }))).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains(text));
    }
}

#[test]
fn e21_each_of_the_three_actions_is_told_apart() {
    let form = Form::builder().required("a", Text::new()).build().unwrap();
    let outcome = |json: &str| serde_json::from_str::<ElicitResult>(json).unwrap().for_form(&form);
    assert!(matches!(
        outcome(r#"{"action":"accept","content":{"a":"x"}}"#),
        Ok(FormOutcome::Accepted(answers)) if answers.text("a") == Some("x")
    ));
    assert_eq!(outcome(r#"{"action":"decline","content":{"a":1}}"#), Ok(FormOutcome::Declined));
    assert_eq!(outcome(r#"{"action":"cancel"}"#), Ok(FormOutcome::Cancelled));
    assert!(outcome(r#"{"action":"accept"}"#).is_err());
    assert!(ElicitResult::new(ElicitAction::Accept).for_form(&Form::builder().build().unwrap()).is_ok());
    for not in [r#"{"action":"accept","content":null}"#, r#"{"action":"accept","content":{"a":null}}"#, "{}"]
    {
        assert!(serde_json::from_str::<ElicitResult>(not).is_err(), "{not}");
    }
}

#[test]
fn each_revision_is_told_what_it_knows() {
    let form = Form::read(&every_kind()).unwrap();
    let error = form.for_version(ProtocolVersion::V2025_06_18).unwrap_err();
    assert_eq!((error.at.as_str(), error.fault), ("/properties/several", FormFault::Revision));

    let legacy = serde_json::to_value(form.for_version(ProtocolVersion::V2025_11_25).unwrap()).unwrap();
    assert_eq!(legacy["properties"]["text"]["pattern"], "^[A-Za-z]+$");
    assert_eq!(legacy["properties"]["legacy"]["oneOf"][1], json!({ "const": "b", "title": "B" }));
    let modern = serde_json::to_value(form.for_version(ProtocolVersion::V2026_07_28).unwrap()).unwrap();
    assert_eq!(modern["properties"]["text"].get("pattern"), None);
    assert_eq!(modern["properties"]["several"], legacy["properties"]["several"]);

    let form = Form::builder()
        .required("a", Choice::titled([("x", "X")]).default("x"))
        .required("b", Integer::new().default(1))
        .required("c", Boolean::new().default(true))
        .build()
        .unwrap();
    let first = FormRequest::new("m", form).unwrap().for_version(ProtocolVersion::V2025_06_18).unwrap();
    assert_eq!(
        serde_json::to_value(first).unwrap(),
        json!({ "message": "m", "requestedSchema": {
            "type": "object",
            "properties": {
                "a": { "type": "string", "enum": ["x"], "enumNames": ["X"] },
                "b": { "type": "integer" },
                "c": { "type": "boolean", "default": true },
            },
            "required": ["a", "b", "c"],
        } })
    );
}

proptest! {
    #[test]
    fn a_form_that_is_written_reads_back(form in super::arbitrary::forms()) {
        let text = serde_json::to_string(&form).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Form>(&text).unwrap(), &form, "{}", text);
        for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
            if let Ok(form) = form.for_version(version) {
                prop_assert_eq!(form.for_version(version).unwrap(), form);
            }
        }
    }

    #[test]
    fn defaults_are_answers(form in super::arbitrary::forms()) {
        let defaults: Values =
            form.fields().filter_map(|(name, field)| Some((name.to_owned(), field.default()?))).collect();
        let judged = form.answers(&defaults);
        let unanswered = form.fields().any(|(name, _)| form.is_required(name) && !defaults.contains_key(name));
        prop_assert_eq!(judged.is_ok(), !unanswered);
        if let Ok(answers) = judged {
            prop_assert_eq!(form.answers(answers.values()).unwrap(), answers);
        }
    }
}
