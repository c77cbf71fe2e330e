//! Path segments and bodies as the pages take them: whatever cannot be read is answered with a page of ours.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
    response::Response,
};
use serde::de::DeserializeOwned;

use crate::app::App;

use super::{here::Here, pages::Bad};

/// The variable segments of a page's path. One that is not UTF-8 is an address that is none.
pub struct Segments<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Segments<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        match Path::from_request_parts(parts, app).await {
            Ok(Path(segments)) => Ok(Self(segments)),
            Err(_) => Err(Here::of(app, &parts.headers, &parts.extensions).not_found()),
        }
    }
}

/// The body of a posted form, within the limit.
pub struct Body(pub Bytes);

impl FromRequest<App> for Body {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let here = Here::of(app, request.headers(), request.extensions());
        Bytes::from_request(request, app).await.map(Self).map_err(|_| here.bad(Bad::TooLarge))
    }
}
