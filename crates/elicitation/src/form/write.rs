//! Writing a form as JSON, with its members in the order of the specification's own examples.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::choice::{Item, Spelling};
use super::field::Label;
use super::{Entry, Field, Form};

impl Serialize for Form {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut schema = to.serialize_map(None)?;
        schema.serialize_entry("type", "object")?;
        schema.serialize_entry("properties", &Properties(&self.fields))?;
        let required: Vec<&str> =
            self.fields.iter().filter(|entry| entry.required).map(|entry| entry.name.as_str()).collect();
        if !required.is_empty() {
            schema.serialize_entry("required", &required)?;
        }
        schema.end()
    }
}

struct Properties<'a>(&'a [Entry]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|entry| (&entry.name, &entry.field)))
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut schema = to.serialize_map(None)?;
        match self {
            Self::Text(field) => {
                start(&mut schema, "string", &field.label)?;
                some(&mut schema, "minLength", field.min_length.as_ref())?;
                some(&mut schema, "maxLength", field.max_length.as_ref())?;
                some(&mut schema, "pattern", field.pattern.as_ref())?;
                some(&mut schema, "format", field.format.as_ref())?;
                some(&mut schema, "default", field.default.as_ref())?;
            }
            Self::Number(field) => {
                start(&mut schema, "number", &field.label)?;
                some(&mut schema, "minimum", field.minimum.map(Plain).as_ref())?;
                some(&mut schema, "maximum", field.maximum.map(Plain).as_ref())?;
                some(&mut schema, "default", field.default.map(Plain).as_ref())?;
            }
            Self::Integer(field) => {
                start(&mut schema, "integer", &field.label)?;
                some(&mut schema, "minimum", field.minimum.as_ref())?;
                some(&mut schema, "maximum", field.maximum.as_ref())?;
                some(&mut schema, "default", field.default.as_ref())?;
            }
            Self::Boolean(field) => {
                start(&mut schema, "boolean", &field.label)?;
                some(&mut schema, "default", field.default.as_ref())?;
            }
            Self::Choice(field) => {
                start(&mut schema, "string", &field.label)?;
                match field.spelling {
                    Spelling::Titled => schema.serialize_entry("oneOf", &Titled(&field.options))?,
                    Spelling::Plain | Spelling::Names => {
                        schema.serialize_entry("enum", &values(&field.options))?;
                    }
                }
                if field.spelling == Spelling::Names {
                    let names: Vec<&str> = field.options.iter().map(shown).collect();
                    schema.serialize_entry("enumNames", &names)?;
                }
                some(&mut schema, "default", field.default.as_ref())?;
            }
            Self::Choices(field) => {
                start(&mut schema, "array", &field.label)?;
                some(&mut schema, "minItems", field.min_items.as_ref())?;
                some(&mut schema, "maxItems", field.max_items.as_ref())?;
                schema
                    .serialize_entry("items", &Items { options: &field.options, spelling: field.spelling })?;
                some(&mut schema, "default", field.default.as_ref())?;
            }
        }
        schema.end()
    }
}

fn start<M: SerializeMap>(schema: &mut M, kind: &str, label: &Label) -> Result<(), M::Error> {
    schema.serialize_entry("type", kind)?;
    some(schema, "title", label.title.as_ref())?;
    some(schema, "description", label.description.as_ref())
}

fn some<M: SerializeMap, T: Serialize>(
    schema: &mut M,
    name: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| schema.serialize_entry(name, value))
}

fn values(options: &[Item]) -> Vec<&str> {
    options.iter().map(Item::value).collect()
}

fn shown(option: &Item) -> &str {
    option.title().unwrap_or(option.value())
}

struct Titled<'a>(&'a [Item]);

impl Serialize for Titled<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(One))
    }
}

struct One<'a>(&'a Item);

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map([("const", self.0.value()), ("title", shown(self.0))])
    }
}

struct Items<'a> {
    options: &'a [Item],
    spelling: Spelling,
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut items = to.serialize_map(None)?;
        match self.spelling {
            Spelling::Titled => items.serialize_entry("anyOf", &Titled(self.options))?,
            Spelling::Plain | Spelling::Names => {
                items.serialize_entry("type", "string")?;
                items.serialize_entry("enum", &values(self.options))?;
            }
        }
        items.end()
    }
}

/// `18` instead of `18.0`.
struct Plain(f64);

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let whole = serde_json::Number::from_f64(self.0).and_then(|number| super::answers::whole(&number));
        match whole {
            // Up to here each whole number has a float of its own.
            Some(whole) if whole.unsigned_abs() <= 1 << 53 => to.serialize_i64(whole),
            _ => to.serialize_f64(self.0),
        }
    }
}
