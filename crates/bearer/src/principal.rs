//! The user behind a request, as a verified token names them.

use std::{fmt, sync::Arc};

use zeroize::Zeroizing;

/// The user behind a request. The layer puts it into the request's extensions; handlers take it from there.
///
/// A subject means something only together with its issuer. Its `Debug` shows no token.
#[derive(Clone)]
pub struct Principal(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) issuer: String,
    pub(crate) sub: String,
    pub(crate) client_id: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_at: i64,
    pub(crate) token: Zeroizing<String>,
}

impl Principal {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// `iss`: the authorization server that knows the user.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// The user there: `sub`, or the claim that the settings name.
    #[must_use]
    pub fn sub(&self) -> &str {
        &self.0.sub
    }

    /// `client_id` (RFC 9068, section 2.2): through which OAuth client they came.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        self.0.client_id.as_deref()
    }

    /// What the token allows, broader scopes spelled out (see [`Builder::implies`](crate::Builder::implies)).
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.0.scopes
    }

    /// Whether the token allows this.
    #[must_use]
    pub fn allows(&self, scope: &str) -> bool {
        self.0.scopes.iter().any(|granted| granted == scope)
    }

    /// Until when the token is good, in seconds since the epoch.
    #[must_use]
    pub fn expires_at(&self) -> i64 {
        self.0.expires_at
    }

    /// The token itself, for a Consentry that wants to see it (`require_subject_token`). It is meant for this server and
    /// must never be sent to anybody else.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.0.token
    }
}

impl PartialEq for Principal {
    /// The same user; with another token perhaps.
    fn eq(&self, other: &Self) -> bool {
        self.0.issuer == other.0.issuer && self.0.sub == other.0.sub
    }
}

impl Eq for Principal {}

impl fmt::Debug for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Principal")
            .field("issuer", &self.0.issuer)
            .field("sub", &self.0.sub)
            .field("client_id", &self.0.client_id)
            .field("scopes", &self.0.scopes)
            .finish_non_exhaustive()
    }
}
