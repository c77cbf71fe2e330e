//! What a client says that it can show. This, and never its name or its version, decides what it may be sent
//! (2025-11-25 and 2026-07-28, client/elicitation, "Capabilities").

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The `elicitation` capability of a client.
///
/// Absent or `null` is none; an object that names no mode is form mode alone.
///
/// ```
/// use consentry_elicitation::Capability;
/// use serde_json::json;
///
/// assert_eq!(Capability::declared(None)?, Capability::NONE);
/// assert_eq!(Capability::declared(Some(&json!({})))?, Capability::FORM);
/// assert_eq!(Capability::declared(Some(&json!({ "url": {} })))?, Capability::URL);
/// assert!(Capability::declared(Some(&json!({ "form": {}, "url": {} })))?.url());
/// assert!(Capability::declared(Some(&json!("url"))).is_err());
/// # Ok::<(), consentry_elicitation::InvalidCapability>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capability {
    form: bool,
    url: bool,
}

impl Capability {
    /// Not declared at all.
    pub const NONE: Self = Self { form: false, url: false };
    /// Form mode alone.
    pub const FORM: Self = Self { form: true, url: false };
    /// URL mode alone.
    pub const URL: Self = Self { form: false, url: true };
    /// Both modes.
    pub const BOTH: Self = Self { form: true, url: true };

    /// Reads what the client declared, as it stood in its capabilities.
    ///
    /// # Errors
    ///
    /// When the capability, or the mode `form` or `url` in it, is neither an object nor `null`.
    pub fn declared(value: Option<&Value>) -> Result<Self, InvalidCapability> {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Self::NONE) };
        let modes = value.as_object().ok_or(InvalidCapability)?;
        let (form, url) = (has(modes, "form")?, has(modes, "url")?);
        Ok(Self { form: form || !url, url })
    }

    /// May it be asked by a form?
    #[must_use]
    pub fn form(self) -> bool {
        self.form
    }

    /// May it be sent a link?
    #[must_use]
    pub fn url(self) -> bool {
        self.url
    }
}

fn has(modes: &Map<String, Value>, mode: &str) -> Result<bool, InvalidCapability> {
    match modes.get(mode) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Object(_)) => Ok(true),
        Some(_) => Err(InvalidCapability),
    }
}

/// The capability is not an object of modes.
///
/// ```
/// use consentry_elicitation::Capability;
///
/// let error = Capability::declared(Some(&serde_json::json!(true))).unwrap_err();
/// assert_eq!(error.to_string(), "an elicitation capability is null or an object of modes, each an object");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an elicitation capability is null or an object of modes, each an object")]
pub struct InvalidCapability;

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if *self == Self::NONE {
            return to.serialize_none();
        }
        let modes = [("form", self.form), ("url", self.url)];
        to.collect_map(modes.into_iter().filter(|(_, on)| *on).map(|(mode, _)| (mode, Map::new())))
    }
}

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        Self::declared(Some(&value)).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_declaration_is_understood() {
        for (value, capability) in [
            (json!(null), Capability::NONE),
            (json!({}), Capability::FORM),
            (json!({ "form": {} }), Capability::FORM),
            (json!({ "form": {}, "url": null }), Capability::FORM),
            (json!({ "later": {} }), Capability::FORM),
            (json!({ "url": {} }), Capability::URL),
            (json!({ "url": { "later": 1 } }), Capability::URL),
            (json!({ "form": {}, "url": {} }), Capability::BOTH),
        ] {
            assert_eq!(Capability::declared(Some(&value)), Ok(capability), "{value}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for value in
            [json!(true), json!("url"), json!(["url"]), json!({ "url": true }), json!({ "form": "yes" })]
        {
            assert_eq!(Capability::declared(Some(&value)), Err(InvalidCapability), "{value}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for capability in [Capability::NONE, Capability::FORM, Capability::URL, Capability::BOTH] {
            let text = serde_json::to_string(&capability).unwrap();
            assert_eq!(serde_json::from_str::<Capability>(&text).unwrap(), capability, "{text}");
        }
    }
}
