//! Asking an authorization server: JSON documents by GET, forms by POST, with our client's proof where it is due.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{Method, Request, StatusCode, header};
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};

use super::{IdentityError, discovery::Metadata};
use crate::{
    config::{AuthorizationServer, ClientAuthentication},
    outbound::{Answer, Outbound},
    secret::Secret,
};

/// GETs a JSON object.
pub(super) async fn json(outbound: &Outbound, url: &Url) -> Result<Map<String, Value>, IdentityError> {
    let request = Request::builder()
        .method(Method::GET)
        .uri(url.as_str())
        .header(header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|_| IdentityError::Metadata("it names a URL that cannot be asked"))?;
    let answer = send(outbound, request).await?;
    match answer.status {
        StatusCode::OK => object(&answer).ok_or(IdentityError::Metadata("a document is not a JSON object")),
        status if is_outage(status) => Err(IdentityError::Unreachable("it answers with an error")),
        _ => Err(IdentityError::Metadata("a document is not where it should be")),
    }
}

/// POSTs a form with our client's proof and gives back the status and, where there is one, the JSON object.
pub(super) async fn form(
    outbound: &Outbound,
    server: &AuthorizationServer,
    metadata: &Metadata,
    url: &Url,
    parameters: &[(&str, &str)],
) -> Result<(StatusCode, Option<Map<String, Value>>), IdentityError> {
    let request = form_request(server, metadata, url, parameters);
    let request = request.map_err(|_| IdentityError::Metadata("it names a URL that cannot be asked"))?;
    let answer = send(outbound, request).await?;
    if is_outage(answer.status) {
        return Err(IdentityError::Unreachable("it answers with an error"));
    }
    Ok((answer.status, object(&answer)))
}

fn form_request(
    server: &AuthorizationServer,
    metadata: &Metadata,
    url: &Url,
    parameters: &[(&str, &str)],
) -> Result<Request<Vec<u8>>, http::Error> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(url.as_str())
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(parameters).append_pair("client_id", &server.client_id);
    match (authentication(server, metadata), &server.client_secret) {
        (ClientAuthentication::Basic, Some(secret)) => {
            request = request.header(header::AUTHORIZATION, basic(&server.client_id, secret).expose());
        }
        (ClientAuthentication::Post, Some(secret)) => {
            body.append_pair("client_secret", secret.expose());
        }
        // The settings have only the first three.
        (
            ClientAuthentication::None
            | ClientAuthentication::SecretAsUser
            | ClientAuthentication::PrivateKeyJwt,
            _,
        )
        | (_, None) => {}
    }
    request.body(body.finish().into_bytes())
}

/// As the settings say, else the first of ours that the server takes.
fn authentication(server: &AuthorizationServer, metadata: &Metadata) -> ClientAuthentication {
    if let Some(fixed) = server.client_authentication {
        return fixed;
    }
    let takes = |method: &str| {
        let methods = metadata.token_endpoint_auth_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|known| known == method))
    };
    match &server.client_secret {
        None => ClientAuthentication::None,
        Some(_) if !takes("client_secret_basic") && takes("client_secret_post") => ClientAuthentication::Post,
        Some(_) => ClientAuthentication::Basic,
    }
}

/// RFC 6749, section 2.3.1: both halves are form-encoded before they are joined (R88).
fn basic(client_id: &str, secret: &Secret) -> Secret {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Secret::new(format!("{}:{}", encoded(client_id), encoded(secret.expose())));
    Secret::new(format!("Basic {}", BASE64_STANDARD.encode(pair.expose())))
}

async fn send(outbound: &Outbound, request: Request<Vec<u8>>) -> Result<Answer, IdentityError> {
    outbound.send(request).await.map_err(|_| IdentityError::Unreachable("it does not answer"))
}

fn is_outage(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS
}

fn object(answer: &Answer) -> Option<Map<String, Value>> {
    serde_json::from_slice(&answer.body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R88: a secret may hold anything.
    #[test]
    fn r88_basic_is_form_encoded() {
        let header = basic("a client", &Secret::new(":%+&\u{e9}"));
        let pair = BASE64_STANDARD.decode(header.expose().strip_prefix("Basic ").unwrap()).unwrap();
        assert_eq!(String::from_utf8(pair).unwrap(), "a+client:%3A%25%2B%26%C3%A9");
    }
}
