//! Telling the provider that a token is no longer wanted: by RFC 7009, or in the provider's own way, which is data.
//!
//! What it must never do: put a token into an address, or take an outage for a yes.

use http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::{Map, Value};

use crate::{
    config::{OwnRevocation, Provider, RevocationBody, RevocationMethod},
    outbound::Outbound,
    provider::{
        answer::{Answered, Reading},
        endpoints::Endpoints,
        error::ProviderError,
        failure::{Class, Failure},
        request::{form_post, json_post},
    },
    secret::Secret,
};

/// One request. A token that the provider does not know any more is revoked (RFC 7009, section 2.2).
pub(super) async fn revoke(
    provider: &Provider,
    endpoints: &Endpoints,
    token: &Secret,
    hint: &str,
    outbound: &Outbound,
) -> Result<(), ProviderError> {
    let request = match &provider.revocation {
        Some(own) => own_way(provider, own, endpoints, token, hint)?,
        None => {
            let url = endpoints
                .revocation
                .as_ref()
                .ok_or_else(|| ProviderError::misconfigured("no_revocation_endpoint"))?;
            let pairs = [("token", token.expose()), ("token_type_hint", hint)];
            form_post(url, provider, endpoints.client_authentication, &pairs)?
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
    if unknown { Ok(()) } else { Err(failure.into()) }
}

fn own_way(
    provider: &Provider,
    own: &OwnRevocation,
    endpoints: &Endpoints,
    token: &Secret,
    hint: &str,
) -> Result<Request<Vec<u8>>, ProviderError> {
    if provider.revokes_by_access_token() && hint != "access_token" {
        return Err(ProviderError::misconfigured("revocation_wants_access_token"));
    }
    let authentication = own.client_authentication.unwrap_or(endpoints.client_authentication);
    let mut request = match own.body {
        RevocationBody::Form => {
            form_post(&own.url, provider, authentication, &[(&own.field, token.expose())])?
        }
        RevocationBody::Json => {
            let field = Map::from_iter([(own.field.clone(), Value::from(token.expose()))]);
            json_post(&own.url, provider, authentication, field)?
        }
    };
    if own.method == RevocationMethod::Delete {
        *request.method_mut() = Method::DELETE;
    }
    for (name, value) in &own.headers {
        let refused = |_| ProviderError::misconfigured("revocation_headers");
        let name =
            HeaderName::try_from(name).map_err(|_| ProviderError::misconfigured("revocation_headers"))?;
        let value = HeaderValue::try_from(value).map_err(refused)?;
        // Our proof and the kind of the body stand where they stand: no setting takes them away.
        if name != header::AUTHORIZATION && name != header::CONTENT_TYPE {
            request.headers_mut().insert(name, value);
        }
    }
    Ok(request)
}
