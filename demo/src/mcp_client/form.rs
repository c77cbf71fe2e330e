//! A form in the terminal: one question for each field, what fits it told beside it, and what is typed judged by the form itself.

use consentry_elicitation::{
    ElicitValue, Form,
    form::{Answers, Field, Values},
};

use crate::console::{Console, printable};

/// Asks every field; none when the person gives up.
pub(super) async fn asked(console: &Console, form: &Form) -> Option<Answers> {
    console.say(
        &console.faint("  Enter alone takes what stands in brackets, or leaves a field out; \"!\" declines."),
    );
    loop {
        let mut values = Values::new();
        for (name, field) in form.fields() {
            let typed =
                console.ask_for_text(&format!("  {}", question(name, field, form.is_required(name)))).await?;
            match typed.as_str() {
                "!" => return None,
                "" => {}
                typed => {
                    values.insert(name.to_owned(), value(field, typed));
                }
            }
        }
        match form.answers(&values) {
            Ok(answers) => return Some(answers),
            Err(error) => console.say(&format!("  {}", console.warning(&printable(&error.to_string())))),
        }
    }
}

/// The field's name, its choices, and what is taken when nothing is typed.
fn question(name: &str, field: &Field, required: bool) -> String {
    let mut text = field.title().unwrap_or(name).to_owned();
    if let Some(more) = field.description() {
        text.push_str(&format!(" ({more})"));
    }
    let options = match field {
        Field::Choice(choice) => choice.options(),
        Field::Choices(choices) => choices.options(),
        _ => &[],
    };
    for (number, option) in (1..).zip(options) {
        text.push_str(&format!("\n    {number}  {}", option.title().unwrap_or(option.value())));
    }
    if matches!(field, Field::Choices(_)) {
        text.push_str("\n    numbers, with commas between");
    }
    if matches!(field, Field::Boolean(_)) {
        text.push_str(" y/n");
    }
    match field.default().map(|value| serde_json::to_string(&value)) {
        Some(Ok(default)) => text.push_str(&format!(" [{default}]")),
        _ if !required => text.push_str(" [nothing]"),
        _ => {}
    }
    format!("{}:", printable(&text))
}

/// What was typed, in the type that the field has; what is none of its choices is left for the form to refuse.
fn value(field: &Field, typed: &str) -> ElicitValue {
    let chosen = |options: &[consentry_elicitation::form::Item], typed: &str| {
        let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let option = number.and_then(|number| options.get(number));
        option.map_or_else(|| typed.to_owned(), |option| option.value().to_owned())
    };
    match field {
        Field::Number(_) | Field::Integer(_) => {
            typed.parse().map_or_else(|_| ElicitValue::Text(typed.to_owned()), ElicitValue::Number)
        }
        Field::Boolean(_) => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" => ElicitValue::Bool(true),
            "n" | "no" | "false" => ElicitValue::Bool(false),
            _ => ElicitValue::Text(typed.to_owned()),
        },
        Field::Choice(choice) => ElicitValue::Text(chosen(choice.options(), typed)),
        Field::Choices(choices) => {
            let typed = typed.split(',').map(str::trim).filter(|one| !one.is_empty());
            ElicitValue::Many(typed.map(|one| chosen(choices.options(), one)).collect())
        }
        _ => ElicitValue::Text(typed.to_owned()),
    }
}
