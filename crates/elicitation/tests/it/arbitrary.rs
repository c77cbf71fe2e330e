//! What a client may be, what it may be told, and forms at random: every kind of field with everything that it can have,
//! and names and words of any kind.

use consentry_elicitation::form::{
    Boolean, Choice, Choices, Field, Form, FormBuilder, Format, Integer, Number, Text,
};
use consentry_elicitation::{Capability, Client, FormAsk, FormRequest, Outcome, Prefer, Turn};
use proptest::prelude::*;

fn words() -> impl Strategy<Value = Option<String>> {
    prop::option::of("\\PC{0,12}")
}

fn bounds<T: std::fmt::Debug + Copy + PartialOrd>(
    numbers: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = (Option<T>, Option<T>, Option<T>)> {
    (prop::option::of(numbers.clone()), prop::option::of(numbers.clone()), prop::option::of(numbers))
        .prop_filter("a default within the bounds", |(least, most, default)| {
            let below = |a: &Option<T>, b: &Option<T>| !matches!((a, b), (Some(a), Some(b)) if a > b);
            below(least, most) && below(least, default) && below(default, most)
        })
}

fn text() -> impl Strategy<Value = Field> {
    let patterns = prop::sample::select(vec![None, Some("^a*$"), Some("[a-z]"), Some("^\\d{2,}$")]);
    let formats = [None, Some(Format::Email), Some(Format::Uri), Some(Format::Date), Some(Format::DateTime)];
    let lengths = (prop::option::of(0_u64..5), prop::option::of(5_u64..9));
    let default = prop::option::of("[a-z]{0,12}");
    (lengths, patterns, prop::sample::select(formats.to_vec()), default).prop_map(
        |((least, most), pattern, format, default)| {
            let mut field = Text::new();
            if let Some(least) = least {
                field = field.min_length(least);
            }
            if let Some(most) = most {
                field = field.max_length(most);
            }
            if let Some(pattern) = pattern {
                field = field.pattern(pattern);
            }
            if let Some(format) = format {
                field = field.format(format);
            }
            let fits =
                |text: &str| Form::builder().optional("x", field.clone().default(text)).build().is_ok();
            match default {
                Some(text) if fits(&text) => field.default(text).into(),
                _ => field.into(),
            }
        },
    )
}

fn numbers() -> impl Strategy<Value = Field> {
    let number = bounds(prop_oneof![-1e9..1e9, Just(0.5), Just(-0.0), Just(1e300)]).prop_map(
        |(least, most, default)| {
            let mut field = Number::new();
            if let Some(least) = least {
                field = field.minimum(least);
            }
            if let Some(most) = most {
                field = field.maximum(most);
            }
            default.map_or(field.clone().into(), |default| field.default(default).into())
        },
    );
    let integer = bounds(prop_oneof![-9_i64..9, any::<i64>()]).prop_map(|(least, most, default)| {
        let mut field = Integer::new();
        if let Some(least) = least {
            field = field.minimum(least);
        }
        if let Some(most) = most {
            field = field.maximum(most);
        }
        default.map_or(field.clone().into(), |default| field.default(default).into())
    });
    prop_oneof![number, integer]
}

fn choices() -> impl Strategy<Value = Field> {
    let options = prop::collection::btree_map("\\PC{0,6}", "\\PC{0,6}", 1..5);
    (options, 0_u8..5, any::<bool>(), 0_u64..3).prop_map(|(options, kind, defaulted, least)| {
        let values: Vec<String> = options.keys().cloned().collect();
        let one = |field: Choice| if defaulted { field.default(&values[0]) } else { field };
        let many = |field: Choices| {
            let field = field.min_items(least.min(values.len() as u64)).max_items(values.len() as u64);
            if defaulted { field.default(values.clone()) } else { field }
        };
        match kind {
            0 => one(Choice::plain(values.clone())).into(),
            1 => one(Choice::titled(options)).into(),
            2 => one(Choice::named(options)).into(),
            3 => many(Choices::plain(values.clone())).into(),
            _ => many(Choices::titled(options)).into(),
        }
    })
}

fn field() -> impl Strategy<Value = Field> {
    let boolean = prop::option::of(any::<bool>())
        .prop_map(|default| default.map_or(Boolean::new(), |yes| Boolean::new().default(yes)).into());
    (prop_oneof![text(), numbers(), boolean, choices()], words(), words()).prop_map(
        |(field, title, description)| {
            macro_rules! label {
            ($($kind:ident),*) => {
                match field {
                    $(Field::$kind(mut field) => {
                        if let Some(title) = title { field = field.title(title); }
                        if let Some(description) = description { field = field.description(description); }
                        field.into()
                    })*
                    other => other,
                }
            };
        }
            label!(Text, Number, Integer, Boolean, Choice, Choices)
        },
    )
}

/// Up to five fields.
pub(crate) fn forms() -> impl Strategy<Value = Form> {
    let names = "[a-z]{1,6}|\\PC{0,4}|[a-z]/~[a-z]";
    prop::collection::vec((names, any::<bool>(), field()), 0..5).prop_map(|fields| {
        let add = |form: FormBuilder, (index, (name, required, field)): (usize, (String, bool, Field))| {
            let name = format!("{name}{index}");
            if required { form.required(name, field) } else { form.optional(name, field) }
        };
        fields.into_iter().enumerate().fold(Form::builder(), add).build().unwrap()
    })
}

pub(crate) fn clients() -> impl Strategy<Value = Client> {
    let versions = ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-27", "2026-07-28", "2027-03-01"];
    let capabilities = [Capability::NONE, Capability::FORM, Capability::URL, Capability::BOTH];
    let methods = ["tools/call", "prompts/get", "resources/read", "completion/complete", "tools/list", ""];
    (
        prop::sample::select(versions.to_vec()),
        prop::sample::select(capabilities.to_vec()),
        prop::sample::select(methods.to_vec()),
        prop::bool::ANY,
        prop::option::of("[a-z_]{1,12}"),
    )
        .prop_map(|(version, capability, method, error, target)| {
            let client = Client::new(version.parse().unwrap(), capability, method);
            let client = client.prefer(if error { Prefer::Error } else { Prefer::Request });
            match target {
                Some(target) => client.target(target),
                None => client,
            }
        })
}

pub(crate) fn turns() -> impl Strategy<Value = Turn<'static>> {
    prop::sample::select(
        [
            Turn::Ask { request_state: None },
            Turn::Ask { request_state: Some("v1.sealed") },
            Turn::Wait { request_state: "v1.sealed" },
            Turn::Tell,
            Turn::Refused(Outcome::Declined),
            Turn::Refused(Outcome::Cancelled),
            Turn::Refused(Outcome::Expired),
            Turn::Refused(Outcome::Failed),
        ]
        .to_vec(),
    )
}

/// A form that asks for no secret and holds no link, whatever its names and words happen to say.
pub(crate) fn form_asks() -> impl Strategy<Value = FormAsk> {
    ("[a-z]{1,5}", forms()).prop_filter_map("a form that must not be sent", |(key, form)| {
        let request = FormRequest::new("Which one is it?", form).ok()?;
        request.concerns().is_empty().then(|| FormAsk::new(key, request))
    })
}
