//! Telling the provider that a token is no longer wanted (RFC 7009).

use crate::{
    config::Provider,
    outbound::Outbound,
    provider::{
        answer::{Answered, Reading},
        endpoints::Endpoints,
        error::ProviderError,
        failure::{Class, Failure},
        request::form_post,
    },
    secret::Secret,
};

/// One request. A token that the provider does not know any more is revoked (section 2.2).
pub(super) async fn revoke(
    provider: &Provider,
    endpoints: &Endpoints,
    token: &Secret,
    hint: &str,
    outbound: &Outbound,
) -> Result<(), ProviderError> {
    let url = endpoints
        .revocation
        .as_ref()
        .ok_or_else(|| ProviderError::misconfigured("no_revocation_endpoint"))?;
    let pairs = [("token", token.expose()), ("token_type_hint", hint)];
    let request = form_post(url, provider, endpoints.client_authentication, &pairs)?;
    let answer = outbound.send(request).await.map_err(Failure::of_outbound)?;
    let answered = Answered::of(&answer);
    let is_error = matches!(answered.reading, Reading::Error { .. });
    if matches!(answered.status, 200..=299) && !is_error {
        return Ok(());
    }
    let failure = Failure::of_answer(provider, &answered);
    let unknown = failure.class == Class::Terminal || failure.code.as_deref() == Some("invalid_token");
    if unknown { Ok(()) } else { Err(failure.into()) }
}
