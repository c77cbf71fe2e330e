//! The check as a tower layer.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::Bearer;

impl Bearer {
    /// Lets a request through when it has a good token, with the [`Principal`](crate::Principal) in its extensions.
    #[must_use]
    pub fn layer(&self) -> BearerLayer {
        BearerLayer { bearer: self.clone(), scopes: self.0.scopes.as_slice().into() }
    }

    /// The same where more is needed: these scopes besides those that every token must have. What they are goes into
    /// the 403, so that a client can ask its user for them.
    #[must_use]
    pub fn layer_for(&self, scopes: impl IntoIterator<Item = impl Into<String>>) -> BearerLayer {
        let mut all = self.0.scopes.clone();
        all.extend(scopes.into_iter().map(Into::into));
        BearerLayer { bearer: self.clone(), scopes: all.into() }
    }
}

/// See [`Bearer::layer`].
#[derive(Clone, Debug)]
pub struct BearerLayer {
    bearer: Bearer,
    scopes: Arc<[String]>,
}

impl<S> Layer<S> for BearerLayer {
    type Service = Checked<S>;

    fn layer(&self, inner: S) -> Checked<S> {
        Checked { inner, layer: self.clone() }
    }
}

/// A service behind the check.
#[derive(Clone, Debug)]
pub struct Checked<S> {
    inner: S,
    layer: BearerLayer,
}

impl<S, R, B> Service<Request<R>> for Checked<S>
where
    S: Service<Request<R>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    R: Send + 'static,
    B: From<String>,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<B>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<R>) -> Self::Future {
        // The one that was made ready is the one to be called.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let BearerLayer { bearer, scopes } = self.layer.clone();
        Box::pin(async move {
            match bearer.verify_for(request.headers(), &scopes).await {
                Ok(principal) => {
                    request.extensions_mut().insert(principal);
                    inner.call(request).await
                }
                Err(refusal) => Ok(refusal.response(&bearer.0, &scopes)),
            }
        })
    }
}
