//! The third party's side: what is known of providers, the address to leave for, the exchange, who the account is,
//! revocation, and what a provider's "no" means.
//!
//! Nothing here knows of elicitations, sessions or rows. What it must never do: send a code twice, follow a redirect,
//! believe an address or an issuer because metadata says so, keep or show a provider's answer.

mod account;
mod answer;
mod authentication;
mod budget;
mod capture;
pub mod catalogue;
mod concrete;
mod coverage;
mod departure;
mod diagnosis;
mod endpoints;
mod error;
mod exchange;
mod failure;
mod filled;
mod fingerprint;
mod id_token;
mod known;
mod life;
pub mod mcp;
mod path;
mod rate;
mod refresh;
mod remembered;
mod request;
mod revocation;
mod signature;
mod standing;
mod steps;
mod tenant;
mod tokens;

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;
use url::Url;

pub(crate) use self::{
    account::said,
    coverage::{as_asked, to_ask},
    departure::CORE_PARAMETERS,
    diagnosis::{Spot, Step, unrenewable},
    path::find,
    request::RENAMEABLE,
};
use self::{budget::Budget, diagnosis::Failed, exchange::Grant, known::Known, standing::Errand};
pub use self::{
    budget::Permit,
    capture::{from_callback, renewed, still_fit},
    concrete::NotConcrete,
    departure::Departure,
    endpoints::{Endpoints, Offers},
    error::{AuthorizationError, ProviderError, classify_authorization_error, clean},
    failure::{Class, Failure, means_later},
    fingerprint::fingerprint,
    signature::is_genuine,
    standing::{Paused, Why},
    tenant::Tenant,
    tokens::{SlotTokens, Tokens},
};
use crate::{
    clock::Clock,
    config::{CaptureFrom, Probe, ProbeOf, Provider},
    connection::Account,
    elicitation::ProviderId,
    outbound::Outbound,
    scope::Scopes,
    secret::{Hash, Secret},
    values::Values,
};

/// What a provider told of a grant.
#[derive(Clone, Debug)]
pub struct Told {
    /// Whose account it is.
    pub account: Account,
    /// The tenants to choose from; none where there is no choice.
    pub tenants: Vec<Tenant>,
}

/// Every configured provider. Cheap to clone.
#[derive(Clone)]
pub struct Providers(Arc<All>);

struct All {
    known: Vec<Known>,
    trial: Duration,
    outbound: Outbound,
    clock: Clock,
}

impl Providers {
    /// Takes the configured providers; asks nobody anything. A provider that is left alone is tried again after `trial`
    /// (`refresh.trial`) at the latest.
    pub fn new(providers: Vec<Provider>, trial: Duration, outbound: Outbound, clock: Clock) -> Self {
        let known = |provider: Provider| {
            let budget = Budget::new(&provider, trial, clock.clone(), outbound.metrics().clone());
            Known::new(provider, budget)
        };
        let known = providers.into_iter().map(known).collect();
        Self(Arc::new(All { known, trial, outbound, clock }))
    }

    /// The provider of this id.
    pub fn get(&self, id: &ProviderId) -> Option<Arc<Provider>> {
        self.0.known.iter().find(|known| known.provider.id == *id).map(|known| known.provider.clone())
    }

    /// All of them, as configured.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.0.known.iter().map(|known| &known.provider)
    }

    /// The provider's endpoints: configured, else discovered, fresh for an hour, and in an outage the last ones known
    /// for a day.
    ///
    /// # Errors
    /// [`ProviderError::Misconfigured`], [`ProviderError::Policy`], [`ProviderError::Unreachable`].
    pub async fn endpoints(&self, provider: &Provider) -> Result<Arc<Endpoints>, ProviderError> {
        if provider.mcp.is_some() {
            return self.third_party_endpoints(provider).await;
        }
        let All { known, outbound, clock, .. } = &*self.0;
        if let Some(configured) = Endpoints::configured(provider, outbound) {
            return configured.map(Arc::new);
        }
        let entry = known.iter().find(|known| known.provider.id == provider.id);
        // Each set of variables has an issuer of its own.
        let filled_in = entry.and_then(|known| known.concretes.get(&provider.variables));
        match (filled_in, entry.filter(|_| provider.blueprint.is_none())) {
            (Some(known), _) => known.endpoints(outbound, clock).await,
            (None, Some(known)) => known.endpoints(outbound, clock).await,
            (None, None) => Endpoints::discover(provider, outbound).await.map(Arc::new),
        }
    }

    /// Where the browser leaves for.
    ///
    /// # Errors
    /// As [`Providers::endpoints`]; [`ProviderError::Misconfigured`] when the provider does not take S256 and nobody
    /// opted out (R58).
    pub async fn departure(
        &self,
        provider: &Provider,
        departure: Departure<'_>,
    ) -> Result<Url, ProviderError> {
        let endpoints = self.endpoints(provider).await?;
        departure::url(provider, &endpoints, departure, &self.0.outbound, self.0.clock.now()).await
    }

    /// Exchanges a code. One request, never repeated (R86). `asked` is what was granted when the answer does not say.
    ///
    /// # Errors
    /// [`ProviderError`]; after any of them the code is spent as far as we are concerned.
    pub async fn exchange(
        &self,
        provider: &Provider,
        code: &Secret,
        verifier: &Secret,
        redirect_uri: &str,
        asked: &Scopes,
    ) -> Result<Tokens, ProviderError> {
        let grant = Grant { code, verifier, redirect_uri, asked };
        let tokens = self
            .exchanged(provider, grant)
            .await
            .map_err(|failed| failed.during(Step::Exchange).tell(provider))?;
        // A person's success ends a pause. Their failure begins none: what a code does is in the hands of whoever
        // brought it, and must not hold back others' refreshes.
        self.budget(provider).worked();
        let beyond = tokens.granted.without(asked);
        if !beyond.is_empty() {
            // R65: flagged; the grant itself is the provider's and the person's affair.
            tracing::warn!(provider = %provider.id, scopes = beyond.len(), "more was granted than was asked for");
        }
        Ok(tokens)
    }

    async fn exchanged(&self, provider: &Provider, grant: Grant<'_>) -> Result<Tokens, Failed> {
        let endpoints = self.endpoints(provider).await?;
        Ok(exchange::exchange(provider, &endpoints, grant, &self.0.outbound, &self.0.clock).await?)
    }

    /// Waits for leave to refresh: the provider's `requests_per_second` and `concurrent_requests`, in the order of
    /// asking. Take it before a lease, and hold nothing of the database's meanwhile.
    ///
    /// # Errors
    /// [`Paused`] while the provider is left alone; one trial is let through when that is over, and its result decides.
    pub async fn permit(&self, provider: &Provider) -> Result<Permit, Paused> {
        self.budget(provider).permit(Errand::Refresh).await
    }

    fn budget(&self, provider: &Provider) -> Arc<Budget> {
        let All { known, trial, outbound, clock } = &*self.0;
        let found = known.iter().find(|known| known.provider.id == provider.id);
        let filled_in = found.and_then(|known| known.concretes.get(&provider.variables));
        filled_in.as_deref().or(found).map_or_else(
            || Arc::new(Budget::new(provider, *trial, clock.clone(), outbound.metrics().clone())),
            |known| known.budget.clone(),
        )
    }

    /// Whether refreshed tokens are of the account that the connection has, as far as they tell (R82; OpenID Connect
    /// Core, section 12.2): by the ID token, and by what the answer says of the account where its id is made of that.
    /// Where a probe names accounts, the subject is compared only when it reads that. `values` are those of the
    /// connection.
    ///
    /// # Errors
    /// [`ProviderError::AccountMismatch`]: quarantine the connection. [`ProviderError::Malformed`] for an ID token that
    /// cannot be read, or is not for us.
    pub fn same_account(
        &self,
        provider: &Provider,
        tokens: &Tokens,
        account: &Account,
        values: &Values,
    ) -> Result<(), ProviderError> {
        if account::is_anothers(provider, &tokens.answer, account, values) {
            return Err(ProviderError::AccountMismatch);
        }
        let Some(token) = &tokens.id_token else { return Ok(()) };
        let by_subject = provider.probe.as_ref().is_none_or(|probe| probe.id == "sub");
        let sub = account.id.as_deref().filter(|_| by_subject);
        id_token::same(token, provider.issuer.as_deref(), &provider.client_id, sub)
    }

    /// Whose account the tokens are for, and which tenants they cover: by the probe, `userinfo`, the ID token or what
    /// came with the tokens; nothing when there is none of them. What is kept of these answers is added to `values` of
    /// the tokens, and what was granted is set where the provider is asked for it.
    ///
    /// # Errors
    /// [`ProviderError::Denied`] when the new token is not let in, [`ProviderError::Malformed`] when no stable id can
    /// be told or a value is not what it must be, [`ProviderError::AccountMismatch`] when two answers speak of two
    /// accounts, and the usual ones.
    pub async fn account(&self, provider: &Provider, tokens: &mut Tokens) -> Result<Told, ProviderError> {
        self.told(provider, tokens).await.map_err(|failed| failed.during(Step::Probe).tell(provider))
    }

    async fn told(&self, provider: &Provider, tokens: &mut Tokens) -> Result<Told, Failed> {
        let All { outbound, clock, .. } = &*self.0;
        let kept = capture::from_answer(provider, CaptureFrom::Answer, &tokens.answer)?;
        tokens.values = tokens.values.with(&kept);
        let mut probed = Value::Null;
        let account = match &provider.probe {
            Some(probe) => {
                probed = self.probe(provider, probe, tokens).await?;
                let kept = capture::from_answer(provider, CaptureFrom::Probe, &probed)?;
                tokens.values = tokens.values.with(&kept);
                account::told(probe, &probed, &tokens.values)?
            }
            None => {
                let endpoints = self.endpoints(provider).await?;
                account::open_id(provider, &endpoints, tokens, clock.now(), outbound).await?
            }
        };
        if let Some(granted) = &provider.reads.granted {
            let told = account::call(provider, &granted.url, tokens, outbound).await;
            let told = told.map_err(|failed| failed.during(Step::Granted))?;
            tokens.granted = coverage::told(provider, granted, &told).ok_or_else(|| {
                let spot =
                    Spot::at(Step::Granted).lost("granted.list", &granted.list, &told, &Values::default());
                Failed::unusable("granted", spot)
            })?;
        }
        let mut tenants = Vec::new();
        if let Some(choice) = &provider.reads.choice {
            if let Some(url) = &choice.url {
                let told = account::call(provider, url, tokens, outbound).await;
                probed = told.map_err(|failed| failed.during(Step::Choice))?;
            }
            let claim = choice.consent.as_ref().map(|consent| consent.claim.as_str());
            let mark = claim.and_then(|claim| id_token::hint(&tokens.access_token, claim));
            tenants = tenant::tenants(provider, choice, &probed, mark.as_deref())?;
        }
        Ok(Told { account, tenants })
    }

    /// What the probe is read from.
    async fn probe(&self, provider: &Provider, probe: &Probe, tokens: &Tokens) -> Result<Value, Failed> {
        match (&probe.url, probe.of) {
            (Some(url), _) => account::probe(provider, probe, url, tokens, &self.0.outbound).await,
            (None, ProbeOf::Answer) => Ok(tokens.answer.clone()),
            (None, ProbeOf::IdToken) => {
                let endpoints = self.endpoints(provider).await?;
                let missing = ProviderError::Malformed { what: "id_token" };
                let (token, issuer) =
                    tokens.id_token.as_ref().zip(endpoints.issuer.as_deref()).ok_or(missing)?;
                let claims = id_token::claims(token, issuer, &provider.client_id, self.0.clock.now())?;
                Ok(Value::Object(claims))
            }
        }
    }

    /// Revokes a token, within the provider's budget; `hint` is `access_token` or `refresh_token` (RFC 7009, section
    /// 2.1), `values` what is kept beside it. A token that the provider does not know is revoked.
    ///
    /// # Errors
    /// [`ProviderError::Unreachable`] when the token still exists and it should be tried again later;
    /// [`ProviderError::Misconfigured`] when there is no endpoint, or our client is refused; and the usual ones.
    pub async fn revoke(
        &self,
        provider: &Provider,
        token: &Secret,
        hint: &str,
        values: &Values,
    ) -> Result<(), ProviderError> {
        let told = |failed: Failed| match &failed.error {
            // Where there is no way, none has failed.
            ProviderError::Misconfigured { code } if code == "no_revocation_endpoint" => failed.error,
            _ => failed.during(Step::Revocation).tell(provider),
        };
        self.revoked(provider, token, hint, values).await.map_err(told)
    }

    async fn revoked(
        &self,
        provider: &Provider,
        token: &Secret,
        hint: &str,
        values: &Values,
    ) -> Result<(), Failed> {
        let mut permit = self.budget(provider).permit(Errand::Revocation).await.map_err(|paused| {
            let wait = self.0.clock.now().until(paused.until);
            ProviderError::Unreachable { maybe_sent: false, retry_after: Some(wait) }
        })?;
        let endpoints = self.endpoints(provider).await?;
        permit.using();
        let unwanted = revocation::Unwanted { token, hint, values };
        revocation::revoke(provider, &endpoints, unwanted, &self.0.outbound, self.0.clock.now()).await
    }
}

/// The S256 challenge of a verifier (RFC 7636, section 4.2).
pub fn challenge(verifier: &Secret) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Hash::of(verifier.expose().as_bytes()).as_bytes())
}

#[cfg(test)]
mod tests;
