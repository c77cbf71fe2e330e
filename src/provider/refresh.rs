//! New tokens for a refresh token (RFC 6749, section 6), or for an access token where that is the provider's way.
//!
//! One request. What it must never do: send it twice, try another way of proving ourselves (R88), follow a redirect, or
//! take an answer that says nothing of scopes for one that took them away.

use super::{
    Providers, Tokens, budget::Permit, endpoints::Endpoints, exchange, failure::Failure,
    request::token_request, steps,
};
use crate::{config::Provider, scope::Scopes, secret::Secret};

/// What a token endpoint answers that is one no more.
fn is_elsewhere(status: u16) -> bool {
    matches!(status, 300..=399 | 404 | 405 | 410)
}

impl Providers {
    /// Refreshes: one request, never repeated. `granted` is what counts when the answer says nothing of scopes, `slot`
    /// the further token that it is for, if it is not for the main one. What came of it is noted with the permit's
    /// budget: it can begin or end a pause.
    ///
    /// An answer without a refresh token means that the old one stays.
    ///
    /// # Errors
    /// [`Failure`], sorted; only [`Class::Terminal`](super::Class::Terminal) says that the grant is dead.
    pub async fn refresh(
        &self,
        provider: &Provider,
        mut permit: Permit,
        refresh_token: &Secret,
        granted: &Scopes,
        slot: Option<&str>,
    ) -> Result<Tokens, Failure> {
        // Endpoints that are not known are the provider's failure as well; the token has gone nowhere.
        let result = match self.endpoints(provider).await {
            Ok(endpoints) => {
                permit.using();
                self.ask_anew(provider, &endpoints, refresh_token, granted, slot).await
            }
            Err(error) => Err(Failure::before_sending(error)),
        };
        if provider.mcp.is_some()
            && matches!(&result, Err(failure) if failure.status.is_some_and(is_elsewhere))
        {
            self.doubt(provider);
        }
        permit.note(&result);
        result
    }

    async fn ask_anew(
        &self,
        provider: &Provider,
        endpoints: &Endpoints,
        refresh_token: &Secret,
        granted: &Scopes,
        slot: Option<&str>,
    ) -> Result<Tokens, Failure> {
        let slot = slot.and_then(|name| provider.reads.slots.get(name));
        let sending = &provider.sending;
        let request = match &sending.renewal {
            Some(renewal) => steps::request(provider, renewal, refresh_token),
            None => {
                let url = sending.refresh_endpoint.as_ref().unwrap_or(&endpoints.token);
                let mut pairs =
                    vec![("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
                pairs.extend(provider.resource.iter().map(|resource| ("resource", resource.as_str())));
                let now = self.0.clock.now();
                token_request(url, provider, endpoints, &pairs, &sending.refresh_params, now)
            }
        };
        let request = request.map_err(Failure::before_sending)?;
        let (outbound, clock) = (&self.0.outbound, &self.0.clock);
        let mut tokens = exchange::ask(request, provider, slot, granted, outbound, clock).await?;
        if tokens.granted.is_empty() {
            // No scope is no value that RFC 6749 knows; some providers write it for "as before".
            tokens.granted = granted.clone();
        }
        Ok(steps::renewable(provider, tokens))
    }
}
