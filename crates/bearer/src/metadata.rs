//! Protected resource metadata (RFC 9728): where a client gets a token for this server, and with which scopes.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};
use tower_service::Service;

use crate::{Bearer, check::Inner};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl Inner {
    /// Section 3.1: between the host and the resource's path.
    fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN}{}", self.resource.path().trim_end_matches('/'))
    }

    pub(crate) fn metadata_url(&self) -> String {
        let mut url = self.resource.clone();
        url.set_path(&self.metadata_path());
        url.into()
    }
}

impl Bearer {
    /// Where the metadata belongs on this host.
    #[must_use]
    pub fn metadata_path(&self) -> String {
        self.0.metadata_path()
    }

    /// The document.
    #[must_use]
    pub fn metadata(&self) -> Value {
        let mut metadata = json!({
            "resource": self.0.resource_id,
            "authorization_servers": [self.0.issuer],
            "bearer_methods_supported": ["header"],
        });
        if !self.0.supported.is_empty() {
            metadata["scopes_supported"] = json!(self.0.supported);
        }
        if let Some(name) = &self.0.name {
            metadata["resource_name"] = json!(name);
        }
        metadata
    }

    /// A service that answers `GET` with the document, for everybody: it must not stand behind the layer.
    #[must_use]
    pub fn metadata_service(&self) -> MetadataService {
        MetadataService { document: self.metadata().to_string() }
    }
}

/// Answers with the metadata; see [`Bearer::metadata_service`].
#[derive(Clone, Debug)]
pub struct MetadataService {
    document: String,
}

impl<R> Service<Request<R>> for MetadataService {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let mut response = if matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = Response::new(self.document.clone());
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        } else {
            let mut response = Response::new(String::new());
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            response
        };
        // Public, and read by MCP clients that are web pages.
        let everybody = HeaderValue::from_static("*");
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, everybody);
        ready(Ok(response))
    }
}
