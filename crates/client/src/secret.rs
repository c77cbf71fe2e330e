//! A value that is never printed and is wiped when dropped.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// A token, key or the like.
///
/// ```
/// use consentry_client::Secret;
///
/// let token = Secret::new("gho_1234");
/// assert_eq!(format!("{token:?}"), "[secret]");
/// assert_eq!(token.expose(), "gho_1234");
/// ```
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a value; the caller keeps no copy.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The value itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[secret]")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::new)
    }
}

// Only inside this crate's request bodies; nobody outside should write a secret by accident.
pub(crate) fn expose_to<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(to)
}
