//! A small server behind the check, asked without a network; its authorization server has one.

use axum::{Extension, Router, body::Body, routing::get};
use axum::{http::Request, response::Response};
use consentry_bearer::{Bearer, Builder, Principal};
use consentry_fakes::{AuthorizationServer, Forge, Listen};
use tower::ServiceExt;

pub(crate) const RESOURCE: &str = "https://files.example.com/mcp";

pub(crate) struct Stand {
    pub(crate) id: AuthorizationServer,
    pub(crate) bearer: Bearer,
    pub(crate) router: Router,
}

impl Stand {
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder.scopes(["mcp"])).await
    }

    pub(crate) async fn with(change: impl FnOnce(Builder) -> Builder) -> Self {
        let id = AuthorizationServer::start(Listen::default()).await.unwrap();
        let bearer = change(Bearer::builder(RESOURCE, id.base_url())).build().unwrap();
        let who = async |Extension(who): Extension<Principal>| format!("{} of {}", who.sub(), who.issuer());
        let write = Router::new().route("/write", get(who)).route_layer(bearer.layer_for(["files:write"]));
        let router = Router::new()
            .route("/mcp", get(who))
            .route_layer(bearer.layer())
            .merge(write)
            .route_service(&bearer.metadata_path(), bearer.metadata_service());
        Self { id, bearer, router }
    }

    pub(crate) fn forged(&self, forge: &Forge) -> String {
        self.id.forged_access_token("alice", RESOURCE, forge).unwrap()
    }

    pub(crate) fn token(&self) -> String {
        self.forged(&Forge::new().header("typ", "at+jwt"))
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn with_token(&self, path: &str, token: &str) -> Response {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }
}

pub(crate) fn challenge(response: &Response) -> &str {
    response.headers()["www-authenticate"].to_str().unwrap()
}

pub(crate) async fn text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), 64 * 1024).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}
