//! Telling the provider that a token is no longer wanted: by RFC 7009, or in the provider's own way, which is data.
//!
//! What it must never do: take an outage for a yes.

use std::{borrow::Cow, cell::Cell};

use http::{Method, Request};

use crate::{
    clock::Millis,
    config::{OwnRevocation, Provider, RevocationMethod, RevocationProof},
    outbound::Outbound,
    provider::{
        answer::{Answered, Reading},
        authentication::{Proof, audience},
        diagnosis::{Failed, Spot},
        endpoints::Endpoints,
        error::ProviderError,
        failure::{Class, Failure},
        request::{add_headers, filled_in, form_post, ours, written},
    },
    secret::Secret,
    values::Values,
};

/// What is to be ended.
#[derive(Clone, Copy)]
pub(super) struct Unwanted<'a> {
    pub(super) token: &'a Secret,
    /// `access_token` or `refresh_token` (RFC 7009, section 2.1).
    pub(super) hint: &'a str,
    /// What is kept beside it.
    pub(super) values: &'a Values,
}

/// One request. A token that the provider does not know any more is revoked (RFC 7009, section 2.2).
pub(super) async fn revoke(
    provider: &Provider,
    endpoints: &Endpoints,
    unwanted: Unwanted<'_>,
    outbound: &Outbound,
    now: Millis,
) -> Result<(), Failed> {
    let request = match &provider.revocation {
        Some(own) => own_way(provider, own, endpoints, unwanted, now)?,
        None => {
            let url = endpoints
                .revocation
                .as_ref()
                .ok_or_else(|| ProviderError::misconfigured("no_revocation_endpoint"))?;
            let pairs = [("token", unwanted.token.expose()), ("token_type_hint", unwanted.hint)];
            form_post(url, provider, endpoints, &pairs, now)?
        }
    };
    let answer = outbound.send(request).await.map_err(Failure::of_outbound)?;
    let answered = Answered::of(&answer);
    let is_error = matches!(answered.reading, Reading::Error { .. });
    let gone = provider.revocation.as_ref().is_some_and(|own| own.gone.contains(&answered.status));
    if gone || (matches!(answered.status, 200..=299) && !is_error) {
        return Ok(());
    }
    let failure = Failure::of_answer(provider, &answered);
    let unknown = failure.class == Class::Terminal || failure.code.as_deref() == Some("invalid_token");
    // A token that has to let itself in says nothing of its grant when it does not: it may only be too old.
    let by_itself = provider.revocation.as_ref().is_some_and(|own| own.proof == RevocationProof::Nothing);
    if answered.status == 401 && by_itself && provider.revokes_by_access_token() {
        let spot = Spot { status: Some(401), code: failure.code, ..Spot::default() };
        return Err(Failed::new(ProviderError::Denied { status: 401 }, spot));
    }
    if unknown { Ok(()) } else { Err(failure.into()) }
}

/// The provider's own way.
fn own_way(
    provider: &Provider,
    own: &OwnRevocation,
    endpoints: &Endpoints,
    Unwanted { token, hint, values }: Unwanted<'_>,
    now: Millis,
) -> Result<Request<Vec<u8>>, ProviderError> {
    if provider.revokes_by_access_token() && hint != "access_token" {
        return Err(ProviderError::misconfigured("revocation_wants_access_token"));
    }
    let proof = match own.proof {
        RevocationProof::AsForTokens => Proof::for_tokens(provider, endpoints, now)?,
        RevocationProof::By(way) => Proof::new(provider, way, audience(provider, endpoints), now)?,
        RevocationProof::Nothing => Proof::default(),
    };
    let known = ours(provider, "token", token);
    let unknown = Cell::new(false);
    let filled = filled_in(&own.params, |name| {
        let value = known(name).or_else(|| values.get(name));
        unknown.set(unknown.get() || value.is_none());
        value
    });
    if unknown.get() {
        return Err(ProviderError::misconfigured("revocation_value_missing"));
    }
    let pairs: Vec<(&str, &str)> = filled.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let method = match own.method {
        RevocationMethod::Post => Method::POST,
        RevocationMethod::Delete => Method::DELETE,
    };
    let mut request = written(method, &own.url, own.body.into(), &pairs, provider, &proof)?;
    let headers = filled_in(&own.headers, &known);
    add_headers(&mut request, headers.iter().map(|(name, value)| (*name, Cow::from(value.as_str()))))?;
    Ok(request)
}
