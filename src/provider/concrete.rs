//! Providers whose addresses have variables, with the variables filled in.
//!
//! Each set of values is a provider of its own: what was discovered of one says nothing of another. The budget is that of
//! the registration, whatever the values; how we stand with it is not. What it must never do: grow without a bound, for values come from outside.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Providers, known::Known};
use crate::{
    config::{Provider, variables::Known as KnownValues},
    elicitation::ProviderId,
    secret::Hash,
    values::Values,
};

/// Concrete providers that are kept for each entry of the settings; beyond, all are built anew.
const KEPT_MAX: usize = 1_024;

/// Those that were built.
#[derive(Default)]
pub(super) struct Concretes(Mutex<BTreeMap<Values, Arc<Known>>>);

/// Why there is no concrete provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConcrete {
    /// It is not configured, or of another kind.
    #[error("the provider is not configured")]
    Unconfigured,
    /// These variables have no value.
    #[error("variables have no value")]
    Missing(Vec<String>),
    /// The values lead nowhere that may be configured.
    #[error("the values do not fit")]
    Unfit,
    /// They are of a place that the settings, or the MCP server itself, have left.
    #[error("the values are of another place")]
    Changed,
}

impl Concretes {
    pub(super) fn get(&self, values: &Values) -> Option<Arc<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(values).cloned()
    }

    pub(super) fn keep(&self, values: Values, known: Arc<Known>) -> Arc<Known> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.entry(values).or_insert(known).clone()
    }
}

impl Providers {
    /// The provider with its variables filled in: by the operator, else by the first of `sources` that has a value, else
    /// by the default. One without variables as it is.
    ///
    /// # Errors
    /// [`NotConcrete`].
    pub fn with(&self, id: &ProviderId, sources: &[&Values]) -> Result<Arc<Provider>, NotConcrete> {
        self.placed(id, sources).map(|(provider, _)| provider)
    }

    /// The same with the fingerprint of the place that it is at.
    ///
    /// # Errors
    /// [`NotConcrete`].
    pub fn placed(&self, id: &ProviderId, sources: &[&Values]) -> Result<(Arc<Provider>, Hash), NotConcrete> {
        self.concrete(id, sources, false)
    }

    /// The same before the person has come back: what only the provider's response tells has a sample, in addresses that
    /// are not used before it does.
    ///
    /// # Errors
    /// [`NotConcrete`].
    pub fn departing(&self, id: &ProviderId, sources: &[&Values]) -> Result<Arc<Provider>, NotConcrete> {
        self.concrete(id, sources, true).map(|(provider, _)| provider)
    }

    /// What is known of the variables.
    pub fn variables(&self, id: &ProviderId, sources: &[&Values]) -> KnownValues {
        let base = self.get(id);
        let blueprint = base.as_deref().and_then(|base| base.blueprint.as_deref());
        blueprint.map(|blueprint| blueprint.known(sources)).unwrap_or_default()
    }

    fn concrete(
        &self,
        id: &ProviderId,
        sources: &[&Values],
        departing: bool,
    ) -> Result<(Arc<Provider>, Hash), NotConcrete> {
        let base = self.0.known.iter().find(|known| known.provider.id == *id);
        let base = base.ok_or(NotConcrete::Unconfigured)?;
        if let Some(mcp) = &base.provider.mcp {
            return self.third_party(base, mcp, sources);
        }
        let Some(blueprint) = &base.provider.blueprint else {
            return Ok(base.placed());
        };
        let KnownValues { mut values, missing } = blueprint.known(sources);
        let mut lacking = Vec::new();
        for name in missing {
            let variable = blueprint.variables.get(&name);
            let sample = variable.filter(|one| departing && one.from_callback.is_some());
            match sample.and_then(|one| one.sample()) {
                Some(sample) if values.insert(&name, &sample).is_ok() => {}
                _ => lacking.push(name),
            }
        }
        if !lacking.is_empty() {
            return Err(NotConcrete::Missing(lacking));
        }
        if let Some(known) = base.concretes.get(&values) {
            return Ok(known.placed());
        }
        let built = blueprint.build(&base.provider, &values).map_err(|_| NotConcrete::Unfit)?;
        let known = Known::new(built, base.budget.beside());
        Ok(base.concretes.keep(values, Arc::new(known)).placed())
    }
}
