//! What is connected by typing a key: the configured forms, what was typed, and the call that tells whether it works.
//!
//! Nothing here knows of elicitations, sessions or rows. What it must never do: keep, show or log a value.

use std::sync::Arc;

use crate::{config::SecretForm, elicitation::ProviderId};

/// Every configured form. Cheap to clone.
#[derive(Clone)]
pub struct SecretForms(Arc<[Arc<SecretForm>]>);

impl SecretForms {
    /// Takes the configured forms.
    pub fn new(forms: Vec<SecretForm>) -> Self {
        Self(forms.into_iter().map(Arc::new).collect())
    }

    /// The form of this id.
    pub fn get(&self, id: &ProviderId) -> Option<Arc<SecretForm>> {
        self.0.iter().find(|form| form.id == *id).cloned()
    }

    /// All of them, as configured.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SecretForm>> {
        self.0.iter()
    }
}
