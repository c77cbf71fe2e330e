//! Path segments and bodies as the pages take them: whatever cannot be read is answered with a page of ours.

use std::error::Error;

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
    response::Response,
};
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;

use crate::{app::App, listen::TooSlow};

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
        let limit = app.settings.limits.body_bytes;
        let read = to_bytes(request.into_body(), limit).await;
        read.map(Self).map_err(|error| here.bad(why_unread(&error)))
    }
}

/// Why a body could not be read.
fn why_unread(error: &axum::Error) -> Bad {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return Bad::TooLarge;
        }
        if error.is::<TooSlow>() {
            return Bad::TooSlow;
        }
        cause = error.source();
    }
    Bad::Malformed
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn unread(body: axum::body::Body) -> Bad {
        why_unread(&to_bytes(body, 4).await.unwrap_err())
    }

    /// A slow body is not a large one.
    #[tokio::test]
    async fn why_a_body_was_not_read_is_told_apart() {
        let failing = |error: Box<dyn Error + Send + Sync>| {
            axum::body::Body::from_stream(futures_util::stream::iter([Err::<axum::body::Bytes, _>(error)]))
        };
        assert_eq!(unread(axum::body::Body::from("12345")).await, Bad::TooLarge);
        assert_eq!(unread(failing(Box::new(TooSlow))).await, Bad::TooSlow);
        assert_eq!(unread(failing("broken off".into())).await, Bad::Malformed);
    }
}
