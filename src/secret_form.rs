//! What is connected by typing a key: the configured forms, what was typed, and the call that tells whether it works.
//!
//! Nothing here knows of elicitations, sessions or rows. What it must never do: keep, show or log a value.

mod probe;
mod typed;

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

pub use self::{
    probe::Checked,
    typed::{Flaw, Found, Remark, Typed, VALUE_BYTES_MAX},
};
use crate::{
    clock::Clock, config::SecretForm, elicitation::ProviderId, outbound::Outbound, pace::Pace,
    provider::Spot, secret::Hash, subject::Subject,
};

/// Checks a minute for one person at one service: typing is slow, and nobody shall sort keys by us.
const CHECKS_PER_MINUTE: u32 = 10;
/// How long a person waits for others' checks.
const LINE: Duration = Duration::from_secs(5);

/// Every configured form. Cheap to clone.
#[derive(Clone)]
pub struct SecretForms(Arc<All>);

struct All {
    known: Vec<Known>,
    outbound: Outbound,
    clock: Clock,
    by_person: Pace<(Subject, ProviderId)>,
}

struct Known {
    form: Arc<SecretForm>,
    /// See [`fingerprint`]: asked for with each hand-out, and made once.
    fingerprint: Hash,
    slots: Semaphore,
    rate: Pace<()>,
}

impl SecretForms {
    /// Takes the configured forms; asks nobody anything.
    pub fn new(forms: Vec<SecretForm>, outbound: Outbound, clock: Clock) -> Self {
        let known = |form: SecretForm| Known {
            slots: Semaphore::new(usize::try_from(form.concurrent_requests).unwrap_or(1).max(1)),
            rate: Pace::per_second(form.requests_per_second, clock.clone()),
            fingerprint: fingerprint(&form),
            form: Arc::new(form),
        };
        let known = forms.into_iter().map(known).collect();
        let by_person = Pace::per_minute(CHECKS_PER_MINUTE, clock.clone());
        Self(Arc::new(All { known, outbound, clock, by_person }))
    }

    /// The form of this id.
    pub fn get(&self, id: &ProviderId) -> Option<Arc<SecretForm>> {
        self.0.known.iter().find(|known| known.form.id == *id).map(|known| known.form.clone())
    }

    /// The fingerprint of the place that values of this form are for.
    pub fn fingerprint(&self, id: &ProviderId) -> Option<Hash> {
        self.0.known.iter().find(|known| known.form.id == *id).map(|known| known.fingerprint)
    }

    /// All of them, as configured.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SecretForm>> {
        self.0.known.iter().map(|known| &known.form)
    }

    /// Asks the service whether the values work, once. A form without a probe, or one that too many ask at the same
    /// time, says that nobody knows.
    ///
    /// # Errors
    /// How long this person has to wait, after too many tries.
    pub async fn check(
        &self,
        owner: &Subject,
        form: &SecretForm,
        typed: &Typed,
    ) -> Result<Checked, Duration> {
        let All { known, outbound, clock, by_person } = &*self.0;
        let known = known.iter().find(|known| known.form.id == form.id);
        let Some((known, probe)) = known.zip(form.probe.as_ref()) else {
            return Ok(Checked::Unknown("no_probe"));
        };
        by_person.check(&(owner.clone(), form.id.clone()))?;
        let turn = async {
            let slot = known.slots.acquire().await.ok()?;
            while let Err(wait) = known.rate.check(&()) {
                clock.sleep(wait).await;
            }
            Some(slot)
        };
        let slot = tokio::select! {
            slot = turn => slot,
            () = clock.sleep(LINE) => None,
        };
        let Some(_slot) = slot else { return Ok(Checked::Unknown("crowded")) };
        let (checked, spot) = probe::check(form, probe, typed, outbound).await;
        tell(form, &checked, spot);
        Ok(checked)
    }
}

/// One line for a check that says neither, and for one that does not find in the answer what the entry names. Who typed is
/// said by the span that this runs in.
fn tell(form: &SecretForm, checked: &Checked, spot: Spot) {
    let what = match checked {
        Checked::Unknown(what) => Some(*what),
        Checked::Works(_) | Checked::Rejected if spot.key.is_some() => None,
        Checked::Works(_) | Checked::Rejected | Checked::Address => return,
    };
    let Spot { status, code, key, at, has, .. } = spot;
    let why = checked.code();
    tracing::warn!(provider = %form.id, step = "probe", why, what, status, code, key, at, has, "a step at the provider failed");
}

/// The digest of where the values of a form are for (R63): another host is another place.
pub fn fingerprint(form: &SecretForm) -> Hash {
    let authority = |text: String| {
        let after = text.split_once("://").map_or(text.as_str(), |(_, after)| after);
        after.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase()
    };
    let base = form.usage.base_url.as_ref().map(|url| authority(url.text()));
    let probe = form.probe.as_ref().map(|probe| authority(probe.url.text()));
    // Where the API's address is not known here, the probe's stands for it.
    let place = base.or(probe).unwrap_or_default();
    Hash::of(format!("secret\n{place}").as_bytes())
}

#[cfg(test)]
mod tests;
