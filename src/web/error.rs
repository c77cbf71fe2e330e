//! From a refusal to its page: the one place on this side where an error meets a status. Exhaustive, so that a new
//! refusal does not compile until somebody has said what a person reads.

use axum::{http::HeaderValue, response::Response};

use crate::{
    audit::{About, Actor},
    connect::Refusal,
    elicitation::ElicitationId,
    provider::ProviderError,
    store::{StoreError, Visitor},
    telemetry::SecurityEvent,
};

use super::{
    here::{Here, connect_path, done_path, person, see_other, sign_in_path},
    pages,
};

impl Here {
    /// The page for a refusal under `/connect/{id}`. `visitor` is whoever was found at the browser.
    pub fn refuse(&self, refusal: Refusal, id: ElicitationId, visitor: Option<&Visitor>) -> Response {
        match refusal {
            Refusal::NotFound => self.not_found(),
            // The connect page shows who asks, and the way to sign in.
            Refusal::NotSignedIn => see_other(&connect_path(id)),
            Refusal::WrongAccount => self.wrong_account(id, visitor),
            Refusal::OtherBrowser => self.show(&pages::OtherBrowser {
                frame: visitor.map_or_else(|| self.frame(), |visitor| self.frame_of(visitor)),
                open_again: Some(connect_path(id)),
            }),
            Refusal::Moved => see_other(&done_path(id, None)),
            Refusal::ProviderGone => {
                self.show(&pages::ProviderMisconfigured { frame: self.frame(), provider: None, ended: false })
            }
            Refusal::Provider(error) => self.provider_trouble(&error, id),
            Refusal::Store(error) => self.store_trouble(&error),
            Refusal::Unreadable(_) => {
                let about = About { elicitation: Some(id), ..About::default() };
                self.app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Program, about);
                tracing::error!(reference = self.reference, "a sealed value does not open");
                self.show(&pages::ServerError { frame: self.frame() })
            }
        }
    }

    /// Signed in as somebody else. Names nobody but the reader.
    pub fn wrong_account(&self, id: ElicitationId, visitor: Option<&Visitor>) -> Response {
        let Some(visitor) = visitor else { return see_other(&connect_path(id)) };
        self.show(&pages::WrongAccount {
            frame: self.frame_of(visitor),
            person: person(visitor),
            switch: sign_in_path(id, None, true),
        })
    }

    /// Before the browser has left: nothing was sent that came back with it.
    fn provider_trouble(&self, error: &ProviderError, id: ElicitationId) -> Response {
        let (why, what) = (error.code(), error.detail());
        let reference = &self.reference;
        tracing::warn!(reference, elicitation = %id, step = "departure", why, what, "a step at the provider failed");
        match error {
            ProviderError::Misconfigured { .. } | ProviderError::Policy => {
                self.show(&pages::ProviderMisconfigured { frame: self.frame(), provider: None, ended: false })
            }
            ProviderError::CodeRefused { .. }
            | ProviderError::Denied { .. }
            | ProviderError::Unreachable { .. }
            | ProviderError::Malformed { .. }
            | ProviderError::AccountMismatch => self.show(&pages::ProviderUnreachable {
                frame: self.frame(),
                provider: None,
                unusable: !error.is_unreachable(),
                again: None,
                change: None,
                decline: None,
            }),
        }
    }

    /// The page for a store that does not do it.
    pub fn store_trouble(&self, error: &StoreError) -> Response {
        self.app.metrics.store_error(error);
        match error {
            StoreError::Unavailable(why) => {
                tracing::error!(reference = self.reference, why, "the store is unavailable");
                let mut response = self.show(&pages::Unavailable { frame: self.frame() });
                response.headers_mut().insert("retry-after", HeaderValue::from_static("5"));
                response
            }
            StoreError::Corrupt { table, column } => {
                tracing::error!(reference = self.reference, table, column, "a row cannot be read");
                self.show(&pages::ServerError { frame: self.frame() })
            }
            StoreError::Url | StoreError::Migration(_) | StoreError::Refused(_) => {
                tracing::error!(reference = self.reference, %error, "the store refused");
                self.show(&pages::ServerError { frame: self.frame() })
            }
        }
    }
}
