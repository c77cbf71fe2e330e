//! Client ID Metadata Documents: the `client_id` is a URL, and what it serves describes the client.
//!
//! Fetched once per server and URL, without redirects, with limits.

use std::time::Duration;

use super::Inner;
use super::register::{ClientMetadata, is_loopback};
use crate::clients::{Authentication, Client};
use crate::oauth::Refused;

const LIMIT: usize = 16 * 1024;

impl Inner {
    /// Makes sure that a client named by URL is known before the request is read.
    pub(super) async fn introduce(&self, client_id: Option<&str>) -> Result<(), Refused> {
        let Some(id) = client_id else { return Ok(()) };
        if self.core.client(id).is_some() || !self.identity().client_documents {
            return Ok(());
        }
        let Some(url) = document_url(id) else { return Ok(()) };
        let client = read(id, &fetch(url).await?)?;
        self.core.register(client);
        Ok(())
    }
}

/// A URL that may be a client id: https (or http on this machine), with a path, nothing hidden in it.
fn document_url(id: &str) -> Option<url::Url> {
    let url = url::Url::parse(id).ok()?;
    let scheme = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    let plain = url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    (scheme && plain && url.path() != "/" && url.as_str() == id).then_some(url)
}

fn wrong(description: impl Into<String>) -> Refused {
    Refused::new("invalid_client", description)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a fake has no outbound room; this is its one request, with limits"
)]
fn http() -> Result<reqwest::Client, reqwest::Error> {
    let policy = reqwest::redirect::Policy::none();
    reqwest::Client::builder().redirect(policy).no_proxy().timeout(Duration::from_secs(5)).build()
}

async fn fetch(url: url::Url) -> Result<Vec<u8>, Refused> {
    let unreachable = |error: reqwest::Error| wrong(format!("the client document cannot be had: {error}"));
    let request = http().map_err(unreachable)?.get(url).header("accept", "application/json");
    let mut response = request.send().await.map_err(unreachable)?;
    if response.status() != http::StatusCode::OK {
        return Err(wrong(format!("the client document answers {}", response.status())));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > LIMIT {
            return Err(wrong("the client document is too large"));
        }
    }
    Ok(body)
}

fn read(id: &str, body: &[u8]) -> Result<Client, Refused> {
    let metadata: ClientMetadata =
        serde_json::from_slice(body).map_err(|error| wrong(format!("the client document: {error}")))?;
    if metadata.client_id.as_deref() != Some(id) {
        return Err(wrong("the client document names another client_id"));
    }
    if metadata.client_secret.is_some() {
        return Err(wrong("a client document may hold no secret"));
    }
    if !matches!(metadata.token_endpoint_auth_method.as_deref(), None | Some("none")) {
        return Err(wrong("a client document's token_endpoint_auth_method is none here"));
    }
    metadata.check().map_err(|(_, why)| wrong(why))?;
    Ok(metadata.client(id, Authentication::None, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_urls_with_a_path_are_client_ids() {
        assert!(document_url("https://client.test/oauth.json").is_some());
        assert!(document_url("http://127.0.0.5:9000/oauth.json").is_some());
        for id in [
            "http://client.test/oauth.json",
            "https://client.test/",
            "https://u@client.test/a",
            "https://client.test/a#b",
            "https://client.test/a/../b",
            "consentry",
        ] {
            assert!(document_url(id).is_none(), "{id}");
        }
    }

    #[test]
    fn a_document_must_name_itself_and_hold_no_secret() {
        let id = "https://client.test/oauth.json";
        let document = |extra: &str| format!(r#"{{"redirect_uris":["https://client.test/cb"],{extra}}}"#);
        assert!(read(id, document(&format!(r#""client_id":"{id}""#)).as_bytes()).is_ok());
        assert!(read(id, document(r#""client_id":"https://other.test/a""#).as_bytes()).is_err());
        assert!(
            read(id, document(&format!(r#""client_id":"{id}","client_secret":"s""#)).as_bytes()).is_err()
        );
    }
}
