//! `variables` of a request: what stands in braces in a provider's addresses, as far as the caller may say it.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    config::{
        Blueprint, NotGiven,
        variables::{Ask, Unfit, Variable},
    },
    connect,
    connectable::Connectable,
    connection::Connection,
    credential::Wanted,
    values::Values,
};

use super::{
    auth::Caller,
    problem::{Code, Problem},
};

/// A variable of a provider's addresses.
#[derive(Serialize, ToSchema)]
#[schema(as = ProviderVariable)]
pub(super) struct VariableView {
    /// The name to give it by.
    #[schema(example = "subdomain")]
    name: String,
    /// What users know it as.
    label: String,
    /// A value that would fit.
    example: Option<String>,
    /// The values to choose from; empty where anything that fits may be given.
    choices: Vec<String>,
    /// Whether the caller must give it, because nobody else may and nothing stands for it.
    required: bool,
}

/// What a caller may give.
pub(super) fn listed(provider: &Connectable) -> Vec<VariableView> {
    let Some(blueprint) = blueprint(provider) else { return Vec::new() };
    let open = blueprint
        .variables
        .iter()
        .filter(|(name, one)| one.may(Ask::Caller) && blueprint.given.get(name).is_none());
    let view = |(name, one): (&String, &Variable)| VariableView {
        name: name.clone(),
        label: one.label.clone(),
        example: one.example.clone(),
        choices: one.choices.keys().cloned().collect(),
        required: one.default.is_none() && !one.may(Ask::User),
    };
    open.map(view).collect()
}

/// The values that a caller gives, each in its one form. `prefix` leads to the field.
pub(super) fn given(
    prefix: &str,
    provider: &Connectable,
    variables: Option<BTreeMap<String, String>>,
) -> Result<Values, Problem> {
    let mut values = Values::default();
    for (name, text) in variables.unwrap_or_default() {
        let blueprint = blueprint(provider);
        let accepted = blueprint.map_or(Err(NotGiven::NotAllowed), |it| it.accept(Ask::Caller, &name, &text));
        match accepted {
            Ok(value) => {
                let stored = values.insert(&name, &value);
                stored.map_err(|_| not_fit(prefix, &name, "The value cannot be stored."))?;
            }
            Err(NotGiven::NotAllowed) => return Err(not_allowed(prefix, provider)),
            Err(NotGiven::Unfit(unfit)) => return Err(not_fit(prefix, &name, what_to_do(unfit))),
        }
    }
    Ok(values)
}

/// Refuses a question that nobody could answer: a variable has no value yet, and the person is not asked for it.
pub(super) fn require(caller: &Caller, need: &Wanted, existing: Option<&Connection>) -> Result<(), Problem> {
    let lacking = connect::unanswerable(&caller.app, &need.provider, &need.values, existing);
    let Some(name) = lacking else { return Ok(()) };
    let detail =
        format!("This provider needs `{name}`, and the user is not asked for it: pass it in `variables`.");
    Err(Problem::new(Code::VariableMissing, detail).field("variables"))
}

fn blueprint(provider: &Connectable) -> Option<&Blueprint> {
    match provider {
        Connectable::OAuth2(provider) => provider.blueprint.as_deref(),
        Connectable::Secret(_) | Connectable::Redirect(_) => None,
    }
}

fn not_allowed(prefix: &str, provider: &Connectable) -> Problem {
    let may = blueprint(provider).into_iter().flat_map(|blueprint| {
        let given = &blueprint.given;
        let open = blueprint
            .variables
            .iter()
            .filter(|(name, one)| one.may(Ask::Caller) && given.get(name).is_none());
        open.map(|(name, _)| format!("`{name}`"))
    });
    let may: Vec<String> = may.collect();
    let detail = if may.is_empty() {
        "This provider takes no variables from a caller; leave the field out.".to_owned()
    } else {
        format!("Of this provider's variables a caller may give {}.", may.join(", "))
    };
    Problem::new(Code::VariableNotAllowed, detail).field(format!("{prefix}variables"))
}

fn not_fit(prefix: &str, name: &str, detail: &'static str) -> Problem {
    Problem::new(Code::VariableInvalid, detail).field(format!("{prefix}variables.{name}"))
}

fn what_to_do(unfit: Unfit) -> &'static str {
    match unfit {
        Unfit::Empty => "The value is empty; leave it out, and the user is asked.",
        Unfit::TooLong => "At most 253 characters.",
        Unfit::NotOffered => "The value is none of the choices; `GET /v1/providers` lists them.",
        Unfit::Host => {
            "The value must be a host of this provider, or its part of one: letters, digits and hyphens, without \
             a scheme, port or path; `GET /v1/providers` shows an example."
        }
        Unfit::Private => {
            "The value leads to an address that may not be called, such as one of a private network."
        }
        Unfit::Pattern => {
            "The value does not look as this provider's must; `GET /v1/providers` shows an example."
        }
    }
}
