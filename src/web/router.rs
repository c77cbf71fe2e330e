//! The routes of the public listener, and the layers around them from the outside in: a request id, the headers,
//! panics, the pace, the host, the size; then the handler.

use std::any::Any;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderValue, StatusCode, header, uri::Authority},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::App;

use super::{
    assets, callback, client_metadata, code, connect, connections, headers,
    here::{Here, see_other},
    input, leaving,
    limit::{self, ByAddress},
    logo, outcome,
    pages::Bad,
    request_id, secret,
    segments::Segments,
    sign_in, stopped,
};

/// Everything that a browser may ask for.
pub fn router(app: App) -> Router {
    with(app, Router::new())
}

/// The same, and what others serve on the public listener, behind the same layers.
pub fn with(app: App, others: Router<App>) -> Router {
    others
        .route("/connect", get(connect::show))
        .route("/connect/{id}/continue", post(connect::agree))
        .route("/connect/{id}/input", post(input::submit))
        .route("/connect/{id}/code", post(code::mint))
        .route("/connect/{id}/leaving", quiet(get(leaving::show)))
        .route("/connect/{id}/secret", post(secret::enter))
        .route("/connect/{id}/keep", post(connect::keep))
        .route("/connect/{id}/account", post(connect::account))
        .route("/connect/{id}/decline", post(connect::decline))
        .route("/connect/{id}/restart", post(connect::restart))
        .route("/connect/{id}/resume", acting(get(callback::resume)))
        .route("/connect/{id}/done", get(outcome::show))
        .route("/callback/{server}/{provider}", acting(get(callback::arrive)).post(callback::arrive_by_form))
        .route("/client-metadata/{server}/{provider}", get(client_metadata::show))
        .route("/connections", get(connections::list))
        .route("/connections/disconnected", get(connections::disconnected))
        .route("/connections/disconnect-all", get(connections::ask_all).post(connections::disconnect_all))
        .route("/connections/{id}", get(connections::one))
        .route("/connections/{id}/disconnect", get(connections::ask).post(connections::disconnect))
        .route("/connections/{id}/reconnect", post(connections::reconnect))
        .route("/sign-in", quiet(get(sign_in::begin)))
        .route("/sign-in/callback/{as}", acting(get(sign_in::arrive)))
        .route("/sign-in/confirm", get(sign_in::confirm::show).post(sign_in::confirm::agree))
        .route("/sign-out", post(sign_in::sign_out::leave))
        .route("/stopped/{page}", get(stopped::show))
        .route("/static/{file}", get(file))
        .route("/livez", get(|| async { "ok" }))
        .fallback(|here: Here| async move { here.not_found() })
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(app.settings.limits.body_bytes))
        .layer(from_fn_with_state(app.clone(), our_host))
        .layer(from_fn_with_state(ByAddress::new(&app), limit::by_address))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), headers::secure))
        .layer(from_fn_with_state(app.clone(), request_id::assign))
        .with_state(app)
}

/// A GET that acts must not be asked for by HEAD.
fn acting(route: MethodRouter<App>) -> MethodRouter<App> {
    route.head(method_not_allowed)
}

/// A GET that may ask another server something; HEAD asks nobody.
fn quiet(route: MethodRouter<App>) -> MethodRouter<App> {
    route.head(|| async {})
}

async fn method_not_allowed(here: Here) -> Response {
    here.bad(Bad::Method)
}

async fn file(here: Here, Segments(name): Segments<String>) -> Response {
    let path = format!("/static/{name}");
    if let Some(logo) = here.app.settings.logos.values().find(|logo| logo.path == path) {
        return logo::answer(logo);
    }
    let Some(asset) = assets::find(&path) else { return here.not_found() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(assets::CACHE_CONTROL)),
    ];
    (headers, asset.bytes).into_response()
}

/// The longest path and query in bytes: a callback with a code of a few kilobytes fits.
const LONGEST_ADDRESS: usize = 8 * 1024;

/// The external address is configuration; a request that names another host is not for us (R48).
async fn our_host(State(app): State<App>, here: Here, request: Request, next: Next) -> Response {
    if request.uri().path_and_query().is_some_and(|address| address.as_str().len() > LONGEST_ADDRESS) {
        // A callback never renders: its address holds a code (R44).
        let is_callback =
            ["/callback/", "/sign-in/callback/"].iter().any(|it| request.uri().path().starts_with(it));
        return if is_callback { see_other("/stopped/bad-request") } else { here.bad(Bad::LongAddress) };
    }
    if request.uri().path() == "/livez" || names_us(&app, &request) {
        return next.run(request).await;
    }
    here.bad(Bad::Host)
}

fn names_us(app: &App, request: &Request) -> bool {
    let ours = app.settings.public_url.authority();
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let header = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host.as_bytes()),
        (Some(_), Some(_)) => return false,
        (None, _) => None,
    };
    // HTTP/2 and an absolute target name the host in the URI; where both do, both must be ours.
    let target = request.uri().authority().map(Authority::as_str).map(str::as_bytes);
    let is_ours = |host: &[u8]| host.eq_ignore_ascii_case(ours.as_bytes());
    match (header, target) {
        (None, None) => false,
        (header, target) => header.is_none_or(is_ours) && target.is_none_or(is_ours),
    }
}

fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a handler panicked");
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "Something went wrong on our side. Nothing was connected by this step.",
    )
        .into_response()
}
