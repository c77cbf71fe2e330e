//! The MCP endpoint of our own, "my connections": a person lists, makes and ends their connections from any MCP client.
//!
//! It speaks both eras on one path. Who asks is who the access token names, in each request anew; a session id and a
//! `requestState` are sealed for that person and prove nothing (E24, P17, P20). What it must never do: hand out a
//! credential (E29), believe a client that something was connected, or ask for a secret by a form (E1).

mod answer;
mod call;
mod client;
mod door;
mod fault;
mod headers;
mod legacy;
mod message;
mod modern;
mod notices;
mod pace;
mod session;
mod state;
mod stream;
mod tools;

use std::{ops::Deref, sync::Arc};

use axum::{
    Router,
    body::to_bytes,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};

use self::{
    door::Caller,
    fault::Fault,
    message::Message,
    pace::{Pace, Seats},
};
use crate::{
    app::App,
    config::{AuthorizationServer, McpEndpoint, McpServer},
};

/// What a request can reach. Cloning shares it.
#[derive(Clone)]
struct Mcp(Arc<Inner>);

struct Inner {
    app: App,
    /// Whose access tokens are taken.
    authority: AuthorizationServer,
    /// What they must be made for (RFC 8707).
    resource: String,
    settings: McpEndpoint,
    pace: Pace,
    seats: Seats,
}

impl Deref for Mcp {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// What the public listener serves beside the pages; nothing where the endpoint is not enabled.
pub fn routes(app: &App) -> Router<App> {
    let settings = app.settings.mcp.as_ref();
    let Some(mcp) = settings.and_then(|settings| Mcp::new(app, settings)) else { return Router::new() };
    let endpoint = MethodRouter::new().post(receive).get(listen).delete(end).head(refuse).fallback(refuse);
    Router::new()
        .route(McpEndpoint::PATH, endpoint)
        .route(door::METADATA_PATH, get(door::metadata))
        .route(door::ROOT_METADATA_PATH, get(door::metadata))
        .with_state(mcp)
}

impl Mcp {
    fn new(app: &App, settings: &McpEndpoint) -> Option<Self> {
        let authority = app.identity.server(&settings.authorization_server)?.clone();
        Some(Self(Arc::new(Inner {
            authority,
            resource: app.settings.public_url.join(McpEndpoint::PATH),
            settings: settings.clone(),
            pace: Pace::new(app),
            seats: Seats::default(),
            app: app.clone(),
        })))
    }
}

/// `POST /mcp`: one JSON-RPC message.
async fn receive(State(mcp): State<Mcp>, caller: Caller, request: Request) -> Response {
    match mcp.take(caller, request).await {
        Ok(response) => response,
        Err(fault) => fault.into_response(),
    }
}

/// `GET /mcp`: what the server has to tell a session of the legacy era.
async fn listen(State(mcp): State<Mcp>, caller: Caller, request: Request) -> Response {
    match notices::open(&mcp, &caller, request.headers()).await {
        Ok(response) => response,
        Err(fault) => fault.into_response(),
    }
}

/// `DELETE /mcp`: the client ends its session.
async fn end(State(mcp): State<Mcp>, caller: Caller, request: Request) -> Response {
    match legacy::end(&mcp, &caller, request.headers()).await {
        Ok(response) => response,
        Err(fault) => fault.into_response(),
    }
}

async fn refuse() -> Fault {
    Fault::method_not_allowed()
}

impl Mcp {
    /// The MCP servers whose connections are managed here.
    fn servers(&self) -> impl Iterator<Item = &McpServer> {
        self.app.settings.mcp_servers.iter().filter(|server| self.settings.offers(server))
    }

    async fn take(&self, caller: Caller, request: Request) -> Result<Response, Fault> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        headers::check_types(&headers)?;
        let limit = self.app.settings.limits.body_bytes;
        let bytes = to_bytes(body, limit).await.map_err(|error| {
            if error.into_inner().is::<http_body_util::LengthLimitError>() {
                Fault::too_large()
            } else {
                Fault::parse_error("The body broke off.")
            }
        })?;
        let message = message::read(&bytes)?;
        let version = headers::version(&headers).map_err(|fault| match &message {
            Message::Request(request) => fault.for_request(request.id.clone()),
            _ => fault,
        })?;
        let is_modern = version.is_some_and(headers::is_modern) || message.declares_version();
        match message {
            Message::Request(request) if is_modern => {
                let id = request.id.clone();
                modern::answer(self, &caller, &headers, request).await.map_err(|fault| fault.for_request(id))
            }
            Message::Request(request) => {
                let id = request.id.clone();
                legacy::answer(self, caller, &headers, version, request)
                    .await
                    .map_err(|fault| fault.for_request(id))
            }
            // No notification of the modern era means anything here, and what is not known is passed over.
            Message::Notification if is_modern => Ok(answer::accepted()),
            Message::Notification => {
                legacy::session(self, &caller, &headers, version).await.map(|_| answer::accepted())
            }
            Message::Response(_) if is_modern => {
                Err(Fault::invalid_request("A client of this revision sends no responses."))
            }
            Message::Response(response) => legacy::hear(self, &caller, &headers, version, &response).await,
        }
    }
}
