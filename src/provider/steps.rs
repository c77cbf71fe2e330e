//! Requests that make another access token of the one at hand: the steps after a code, and a renewal without a refresh
//! token.
//!
//! Each is sent once. What it must never do: repeat one, or fall back to the token before when one fails.

use http::{Method, Request};

use crate::{
    clock::Clock,
    config::{Provider, StepMethod, TokenStep},
    outbound::Outbound,
    provider::{
        authentication::Proof,
        diagnosis::Step,
        error::ProviderError,
        exchange,
        failure::Failure,
        request::{Body, filled_in, ours, written},
        tokens::Tokens,
    },
    secret::Secret,
};

/// One of them, of `token`.
///
/// # Errors
/// [`ProviderError::Misconfigured`] when it wants a secret that is not there.
pub(super) fn request(
    provider: &Provider,
    step: &TokenStep,
    token: &Secret,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let secret = step.params.values().any(|value| value.contains("{client_secret}"));
    if secret && provider.client_secret.is_none() {
        return Err(ProviderError::misconfigured("client_secret_missing"));
    }
    let filled = filled_in(&step.params, ours(provider, "access_token", token));
    let pairs: Vec<(&str, &str)> = filled.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (method, body) = match step.method {
        StepMethod::Get => (Method::GET, Body::Query),
        StepMethod::Post => (Method::POST, Body::Form),
    };
    written(method, &step.url, body, &pairs, provider, &Proof::default())
}

/// Goes on from what a code was exchanged for. What a step's answer does not say stays as it was.
///
/// # Errors
/// The first failure.
pub(super) async fn after(
    provider: &Provider,
    mut tokens: Tokens,
    outbound: &Outbound,
    clock: &Clock,
) -> Result<Tokens, Failure> {
    for (number, step) in (1..).zip(&provider.sending.token_steps) {
        let here = |mut failure: Failure| {
            failure.spot.step = Some(Step::Further(number));
            failure
        };
        let request =
            request(provider, step, &tokens.access_token).map_err(Failure::before_sending).map_err(here)?;
        let next = exchange::ask(request, provider, None, &tokens.granted, outbound, clock).await;
        let next = next.map_err(here)?;
        tokens = Tokens {
            refresh_token: next.refresh_token.or(tokens.refresh_token),
            id_token: next.id_token.or(tokens.id_token),
            ..next
        };
    }
    Ok(tokens)
}

/// Where access tokens are renewed by themselves, the token stands in the refresh token's place too: everything that
/// keeps a refresh token from being lost or sent twice then keeps it.
pub(super) fn renewable(provider: &Provider, mut tokens: Tokens) -> Tokens {
    if provider.sending.renewal.is_some() && tokens.refresh_token.is_none() {
        tokens.refresh_token = Some(tokens.access_token.clone());
        tokens.refresh_expires_at = tokens.refresh_expires_at.or(tokens.access_expires_at);
    }
    tokens
}
