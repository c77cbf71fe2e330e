//! Requests to a provider's back-channel endpoints, written as it wants them: names, body, headers, and our proof.
//!
//! What it must never do: put a secret into an address unless the provider takes it nowhere else, or print one.

use std::{borrow::Cow, collections::BTreeMap};

use http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use crate::{
    clock::Millis,
    config::{Provider, RevocationBody, TokenBody},
    provider::{authentication::Proof, endpoints::Endpoints, error::ProviderError, filled},
    secret::Secret,
};

/// Standard parameters that a provider may call otherwise. None of them protects an exchange (R66).
pub(crate) const RENAMEABLE: [&str; 5] = ["client_id", "client_secret", "code", "refresh_token", "token"];

/// Where the parameters of a request stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// In a form.
    Form,
    /// In a JSON object; what stands several times becomes a list.
    Json,
    /// In the query of the address.
    Query,
    /// There are none.
    None,
}

impl From<TokenBody> for Body {
    fn from(body: TokenBody) -> Self {
        match body {
            TokenBody::Form => Self::Form,
            TokenBody::Json => Self::Json,
        }
    }
}

impl From<RevocationBody> for Body {
    fn from(body: RevocationBody) -> Self {
        match body {
            RevocationBody::Form => Self::Form,
            RevocationBody::Json => Self::Json,
            RevocationBody::Query => Self::Query,
            RevocationBody::None => Self::None,
        }
    }
}

/// The provider's name for a standard parameter.
pub(super) fn name_of<'a>(provider: &'a Provider, standard: &'a str) -> &'a str {
    let own = provider.sending.param_names.get(standard).filter(|_| RENAMEABLE.contains(&standard));
    own.map_or(standard, String::as_str)
}

/// A request to the token endpoint, or to `url` in its way: `pairs` in the standard's names, and `more` as it is.
///
/// # Errors
/// [`ProviderError::Misconfigured`] when our client cannot prove itself.
pub(super) fn token_request<'a>(
    url: &Url,
    provider: &Provider,
    endpoints: &Endpoints,
    pairs: &[(&str, &str)],
    more: impl IntoIterator<Item = (&'a String, &'a String)>,
    now: Millis,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let proof = Proof::for_tokens(provider, endpoints, now)?;
    let mut all = named(provider, pairs);
    all.extend(more.into_iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let body = provider.sending.token_body.into();
    let mut request = written(Method::POST, url, body, &all, provider, &proof)?;
    let headers = provider.sending.token_headers.iter();
    add_headers(&mut request, headers.map(|(name, value)| (name.as_str(), Cow::from(value.as_str()))))?;
    Ok(request)
}

/// A POST of a form, in our names and with our proof, as every standard but the provider's own has it.
///
/// # Errors
/// As [`token_request`].
pub(super) fn form_post(
    url: &Url,
    provider: &Provider,
    endpoints: &Endpoints,
    pairs: &[(&str, &str)],
    now: Millis,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let proof = Proof::for_tokens(provider, endpoints, now)?;
    written(Method::POST, url, Body::Form, &named(provider, pairs), provider, &proof)
}

fn named<'a>(provider: &'a Provider, pairs: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    pairs.iter().map(|(name, value)| (name_of(provider, name), *value)).collect()
}

/// A request with `pairs` as they are, and a proof.
///
/// # Errors
/// [`ProviderError::Policy`] for an address that is none.
pub(super) fn written(
    method: Method,
    url: &Url,
    body: Body,
    pairs: &[(&str, &str)],
    provider: &Provider,
    proof: &Proof,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let proven = proof.fields.iter().map(|(name, value)| (name_of(provider, name), value.as_str()));
    let all: Vec<(&str, &str)> = pairs.iter().copied().chain(proven).collect();
    let mut url = Cow::Borrowed(url);
    let (kind, bytes) = match body {
        Body::Form => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(&all);
            (Some("application/x-www-form-urlencoded"), form.finish().into_bytes())
        }
        Body::Json => (Some("application/json"), object(&all).to_string().into_bytes()),
        Body::Query => {
            url.to_mut().query_pairs_mut().extend_pairs(&all);
            (None, Vec::new())
        }
        Body::None => (None, Vec::new()),
    };
    let mut request = Request::new(bytes);
    *request.method_mut() = method;
    *request.uri_mut() = url.as_str().parse().map_err(|_| ProviderError::Policy)?;
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(kind) = kind {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if let Some(proof) = &proof.header {
        headers.insert(header::AUTHORIZATION, proof.clone());
    }
    Ok(request)
}

/// What stands in braces for something of ours: `token_name`, `client_id` and `client_secret`.
pub(super) fn ours<'a>(
    provider: &'a Provider,
    token_name: &'static str,
    token: &'a Secret,
) -> impl Fn(&str) -> Option<&'a str> {
    move |name| match name {
        "client_id" => Some(provider.client_id.as_str()),
        "client_secret" => provider.client_secret.as_ref().map(Secret::expose),
        name => (name == token_name).then(|| token.expose()),
    }
}

/// Each of `all` with what `known` gives for what stands in braces.
pub(super) fn filled_in<'a>(
    all: &'a BTreeMap<String, String>,
    known: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(&'a str, Zeroizing<String>)> {
    all.iter().map(|(name, value)| (name.as_str(), filled::header(value, &known))).collect()
}

/// Adds headers from the settings. Our proof and the kind of the body stand where they stand: no setting takes them away.
///
/// # Errors
/// [`ProviderError::Misconfigured`] for what is no header.
pub(super) fn add_headers<'a>(
    request: &mut Request<Vec<u8>>,
    headers: impl Iterator<Item = (&'a str, Cow<'a, str>)>,
) -> Result<(), ProviderError> {
    for (name, value) in headers {
        let malformed = || ProviderError::misconfigured("headers");
        let name = HeaderName::try_from(name).map_err(|_| malformed())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| malformed())?;
        value.set_sensitive(true);
        let stands = request.headers().contains_key(&name);
        if !stands || name == header::ACCEPT {
            request.headers_mut().insert(name, value);
        }
    }
    Ok(())
}

fn object(pairs: &[(&str, &str)]) -> Value {
    let mut members = Map::new();
    for (name, value) in pairs {
        let value = Value::from(*value);
        match members.get_mut(*name) {
            Some(Value::Array(list)) => list.push(value),
            Some(first) => {
                let list = vec![first.take(), value];
                *first = Value::Array(list);
            }
            None => {
                members.insert((*name).to_owned(), value);
            }
        }
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests;
