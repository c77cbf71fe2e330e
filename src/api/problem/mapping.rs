//! Each error of the moves as one problem, without a catch-all arm.

use std::{sync::Arc, time::Duration};

use crate::{connect::Refusal, identity::IdentityError, provider::ProviderError, store::StoreError};

use super::{Cause, Code, Problem};

/// Before a call should be tried again when the database is away.
const STORE_RETRY: Duration = Duration::from_secs(2);
/// Before a call should be tried again when another party is away and does not say.
const PARTY_RETRY: Duration = Duration::from_secs(10);

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let away = || {
            Self::new(Code::Unavailable, "The database does not answer now; try again.")
                .retry_after(STORE_RETRY)
        };
        match &error {
            StoreError::Unavailable(_) => away(),
            StoreError::Refused(_) if error.is_transient() => away(),
            StoreError::Url
            | StoreError::Corrupt { .. }
            | StoreError::Migration(_)
            | StoreError::Refused(_) => Self::internal(),
        }
        .cause(Cause::Store(Arc::new(error)))
    }
}

impl From<ProviderError> for Problem {
    fn from(error: ProviderError) -> Self {
        match &error {
            ProviderError::Unreachable { retry_after, .. } => {
                Self::new(Code::ProviderUnavailable, "The provider does not answer now; try again later.")
                    .retry_after(retry_after.unwrap_or(PARTY_RETRY))
            }
            ProviderError::CodeRefused { .. }
            | ProviderError::Misconfigured { .. }
            | ProviderError::Denied { .. }
            | ProviderError::Malformed { .. }
            | ProviderError::AccountMismatch
            | ProviderError::Policy => {
                Self::new(Code::ProviderMisconfigured, "The provider's answer cannot be used.")
            }
        }
        .cause(Cause::Provider(error))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            // The middle three are about browsers and cannot come up here; nothing is told of them all the same.
            Refusal::NotFound | Refusal::NotSignedIn | Refusal::WrongAccount | Refusal::OtherBrowser => {
                Self::not_found()
            }
            Refusal::Moved => Self::new(Code::Conflict, "It has changed while this call was under way."),
            Refusal::ProviderGone => {
                Self::new(Code::ProviderNotAllowed, "The provider is not configured any more.")
            }
            Refusal::Provider(error) => error.into(),
            Refusal::Store(error) => error.into(),
            Refusal::Unreadable(error) => {
                let detail =
                    "The connection exists, but what is stored of it does not open; the operator is told.";
                Self::new(Code::SealedValueUnreadable, detail).cause(Cause::Sealed(error))
            }
        }
    }
}

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        match &error {
            IdentityError::Token(_) | IdentityError::SignIn(_) => {
                let detail = "The token is not a valid access token of this MCP server's users.";
                Self::new(Code::SubjectTokenInvalid, detail)
            }
            IdentityError::Unreachable(_) | IdentityError::Busy(_) => {
                let detail = "The authorization server does not answer now; try again later.";
                Self::new(Code::AuthorizationServerUnavailable, detail).retry_after(PARTY_RETRY)
            }
            IdentityError::UnknownServer
            | IdentityError::Metadata(_)
            | IdentityError::PairwiseOnly
            | IdentityError::ClientRefused => {
                let detail = "The authorization server does not let tokens be checked.";
                Self::new(Code::AuthorizationServerMisconfigured, detail)
            }
        }
        .cause(Cause::Identity(error))
    }
}
