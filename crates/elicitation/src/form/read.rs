//! Reading a form from JSON. The reader knows the keywords that forms have and refuses every other, because a keyword that
//! is passed over is a condition that nobody checks. Two are let through that generators write and that change nothing
//! here: `$schema`, and `additionalProperties` with a boolean; a `title` and a `description` of the whole as well.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

use super::choice::{Item, Spelling};
use super::field::Label;
use super::{
    Boolean, Choice, Choices, Entry, Field, Form, FormBuilder, FormFault, Format, Integer, InvalidForm,
    Number, Text, escaped,
};
use crate::members::{Members, boolean, each, text};
use crate::node::Node;

impl Form {
    /// Reads a `requestedSchema`.
    ///
    /// A [`Value`] keeps its members by name; to keep the order in which they were written, deserialise a `Form` from
    /// the text.
    ///
    /// # Errors
    ///
    /// When it is not a form, with the place. Whether a form asks for what it must not is another question: see
    /// [`FormRequest::concerns`](crate::FormRequest::concerns).
    pub fn read(schema: &Value) -> Result<Self, InvalidForm> {
        Self::from_node(schema.into())
    }

    pub(crate) fn from_node(schema: Node) -> Result<Self, InvalidForm> {
        let mut schema = Members::of(schema)?;
        schema.constant("type", "object")?;
        schema.take("$schema", text)?;
        schema.take("additionalProperties", boolean)?;
        schema.take("title", text)?;
        schema.take("description", text)?;
        let required = schema.take("required", |node| each(node, text))?.unwrap_or_default();
        let fields = schema.need("properties", |node| match node {
            Node::Object(members) => members.into_iter().map(|(name, node)| entry(name, node)).collect(),
            _ => Err(InvalidForm::new("", FormFault::WrongType)),
        })?;
        schema.end()?;
        require(FormBuilder { fields }, &required)?.build()
    }
}

impl<'de> Deserialize<'de> for Form {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_node(Node::deserialize(from)?).map_err(D::Error::custom)
    }
}

fn require(mut form: FormBuilder, required: &[String]) -> Result<FormBuilder, InvalidForm> {
    // By name, because both lists may be long. Of a field that is there twice, `build` complains.
    let mut fields: BTreeMap<&str, &mut bool> =
        form.fields.iter_mut().map(|entry| (entry.name.as_str(), &mut entry.required)).collect();
    for (place, name) in required.iter().enumerate() {
        let at = format!("/required/{place}");
        match fields.get_mut(name.as_str()) {
            None => return Err(InvalidForm::new(at, FormFault::NoField)),
            Some(required) if **required => return Err(InvalidForm::new(at, FormFault::Twice)),
            Some(required) => **required = true,
        }
    }
    Ok(form)
}

fn entry(name: String, node: Node) -> Result<Entry, InvalidForm> {
    let field =
        Members::of(node).and_then(field).map_err(|fault| fault.below(&format!("/{}", escaped(&name))))?;
    Ok(Entry { name, required: false, field })
}

fn field(mut schema: Members) -> Result<Field, InvalidForm> {
    let kind = schema.need("type", text)?;
    let label = Label { title: schema.take("title", text)?, description: schema.take("description", text)? };
    let field = match kind.as_str() {
        "string" if schema.has("enum") || schema.has("oneOf") => choice(&mut schema, label)?.into(),
        "string" => Text {
            label,
            min_length: schema.take("minLength", count)?,
            max_length: schema.take("maxLength", count)?,
            pattern: schema.take("pattern", text)?,
            format: schema.take("format", format)?,
            default: schema.take("default", text)?,
        }
        .into(),
        "number" => Number {
            label,
            minimum: schema.take("minimum", number)?,
            maximum: schema.take("maximum", number)?,
            default: schema.take("default", number)?,
        }
        .into(),
        "integer" => Integer {
            label,
            minimum: schema.take("minimum", integer)?,
            maximum: schema.take("maximum", integer)?,
            default: schema.take("default", integer)?,
        }
        .into(),
        "boolean" => Boolean { label, default: schema.take("default", boolean)? }.into(),
        "array" => choices(&mut schema, label)?.into(),
        _ => return Err(InvalidForm::new("/type", FormFault::Kind)),
    };
    schema.end()?;
    Ok(field)
}

fn choice(schema: &mut Members, label: Label) -> Result<Choice, InvalidForm> {
    let (options, spelling) = match schema.take("oneOf", |node| each(node, titled))? {
        Some(options) => (options, Spelling::Titled),
        None => {
            let values = schema.need("enum", |node| each(node, text))?;
            match schema.take("enumNames", |node| each(node, text))? {
                None => {
                    (values.into_iter().map(|value| Item { value, title: None }).collect(), Spelling::Plain)
                }
                Some(names) if names.len() == values.len() => {
                    let named = |(value, name)| Item { value, title: Some(name) };
                    (values.into_iter().zip(names).map(named).collect(), Spelling::Names)
                }
                Some(_) => return Err(InvalidForm::new("/enumNames", FormFault::Names)),
            }
        }
    };
    Ok(Choice { label, options, spelling, default: schema.take("default", text)? })
}

fn choices(schema: &mut Members, label: Label) -> Result<Choices, InvalidForm> {
    let (options, spelling) = schema.need("items", |node| {
        let mut items = Members::of(node)?;
        let found = match items.take("anyOf", |node| each(node, titled))? {
            Some(options) => (options, Spelling::Titled),
            None => {
                items.constant("type", "string")?;
                let values = items.need("enum", |node| each(node, text))?;
                (values.into_iter().map(|value| Item { value, title: None }).collect(), Spelling::Plain)
            }
        };
        items.end()?;
        Ok(found)
    })?;
    Ok(Choices {
        label,
        options,
        spelling,
        min_items: schema.take("minItems", count)?,
        max_items: schema.take("maxItems", count)?,
        default: schema.take("default", |node| each(node, text))?,
    })
}

fn titled(node: Node) -> Result<Item, InvalidForm> {
    let mut option = Members::of(node)?;
    let item = Item { value: option.need("const", text)?, title: Some(option.need("title", text)?) };
    option.end()?;
    Ok(item)
}

fn format(node: Node) -> Result<Format, InvalidForm> {
    let name = text(node)?;
    if name == "password" {
        return Err(InvalidForm::new("", FormFault::Sensitive(crate::Sensitive::Password)));
    }
    let known = Format::ALL.into_iter().find(|format| format.name() == name);
    known.ok_or(InvalidForm::new("", FormFault::Format))
}

fn number(node: Node) -> Result<f64, InvalidForm> {
    match node {
        Node::Number(number) => number.as_f64().ok_or(InvalidForm::new("", FormFault::Range)),
        _ => Err(InvalidForm::new("", FormFault::WrongType)),
    }
}

fn integer(node: Node) -> Result<i64, InvalidForm> {
    let Node::Number(number) = node else { return Err(InvalidForm::new("", FormFault::WrongType)) };
    match super::answers::whole(&number) {
        Some(number) => Ok(number),
        None if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            Err(InvalidForm::new("", FormFault::WrongType))
        }
        None => Err(InvalidForm::new("", FormFault::Range)),
    }
}

fn count(node: Node) -> Result<u64, InvalidForm> {
    u64::try_from(integer(node)?).map_err(|_| InvalidForm::new("", FormFault::Range))
}
