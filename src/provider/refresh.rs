//! New tokens for a refresh token (RFC 6749, section 6).
//!
//! One request. What it must never do: send it twice, try another way of proving ourselves (R88), follow a redirect, or
//! take an answer that says nothing of scopes for one that took them away.

use super::{
    Providers, Tokens, budget::Permit, endpoints::Endpoints, exchange, failure::Failure, request::form_post,
};
use crate::{config::Provider, scope::Scopes, secret::Secret};

impl Providers {
    /// Refreshes: one request, never repeated. `granted` is what counts when the answer says nothing of scopes. What
    /// came of it is noted with the permit's budget: it can begin or end a pause.
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
    ) -> Result<Tokens, Failure> {
        // Endpoints that are not known are the provider's failure as well; the token has gone nowhere.
        let result = match self.endpoints(provider).await {
            Ok(endpoints) => {
                permit.using();
                self.ask_anew(provider, &endpoints, refresh_token, granted).await
            }
            Err(error) => Err(Failure::before_sending(error)),
        };
        permit.note(&result);
        result
    }

    async fn ask_anew(
        &self,
        provider: &Provider,
        endpoints: &Endpoints,
        refresh_token: &Secret,
        granted: &Scopes,
    ) -> Result<Tokens, Failure> {
        let mut pairs = vec![("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
        pairs.extend(provider.resource.iter().map(|resource| ("resource", resource.as_str())));
        let request = form_post(&endpoints.token, provider, endpoints.client_authentication, &pairs)
            .map_err(Failure::before_sending)?;
        let (outbound, clock) = (&self.0.outbound, &self.0.clock);
        let mut tokens = exchange::ask(request, provider, granted, outbound, clock).await?;
        if tokens.granted.is_empty() {
            // No scope is no value that RFC 6749 knows; some providers write it for "as before".
            tokens.granted = granted.clone();
        }
        Ok(tokens)
    }
}
