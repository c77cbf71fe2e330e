//! What is counted and what is logged: names, numbers and stable codes, never a value of a user's (R117).

use std::sync::Arc;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use crate::elicitation::{Outcome, State};

/// Something that a defender wants to see, with a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityEvent {
    /// Somebody else opened, or came back for, an elicitation (R3, R4).
    WrongAccount,
    /// A callback without this browser's cookie, or with an unknown `state` (R59).
    OtherBrowser,
    /// A callback on another's path, or with another's `iss` (R60, R61).
    ProviderMismatch,
    /// A form without its token, or from another origin (R39).
    CsrfRefused,
    /// A sealed value that does not open (R99).
    SealedValueUnreadable,
    /// A sign-in response that was not asked for, or does not check (R24).
    SignInRefused,
    /// An access token that an MCP server passed on and that does not check (R2).
    SubjectTokenInvalid,
    /// An API key that nobody has.
    ApiKeyRefused,
}

impl SecurityEvent {
    /// Every event, so that each exists at 0 from the start.
    pub const ALL: [Self; 8] = [
        Self::WrongAccount,
        Self::OtherBrowser,
        Self::ProviderMismatch,
        Self::CsrfRefused,
        Self::SealedValueUnreadable,
        Self::SignInRefused,
        Self::SubjectTokenInvalid,
        Self::ApiKeyRefused,
    ];

    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::WrongAccount => "wrong_account",
            Self::OtherBrowser => "other_browser",
            Self::ProviderMismatch => "provider_mismatch",
            Self::CsrfRefused => "csrf_refused",
            Self::SealedValueUnreadable => "sealed_value_unreadable",
            Self::SignInRefused => "sign_in_refused",
            Self::SubjectTokenInvalid => "subject_token_invalid",
            Self::ApiKeyRefused => "api_key_refused",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByState {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Made {
    again: &'static str,
}

/// The counters. Cloning shares them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    security_events: Family<Code, Counter>,
    elicitations_made: Family<Made, Counter>,
    elicitations_ended: Family<ByState, Counter>,
    callbacks: Family<ByOutcome, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Every counter, at 0.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("consentry");
        let security_events = Family::<Code, Counter>::default();
        for event in SecurityEvent::ALL {
            drop(security_events.get_or_create(&Code { code: event.code() }));
        }
        registry.register(
            "security_events",
            "Refusals that a defender wants to see",
            security_events.clone(),
        );
        let elicitations_made = Family::<Made, Counter>::default();
        registry.register("elicitations_made", "Elicitations handed out", elicitations_made.clone());
        let elicitations_ended = Family::<ByState, Counter>::default();
        registry.register("elicitations_ended", "Elicitations by their end", elicitations_ended.clone());
        let callbacks = Family::<ByOutcome, Counter>::default();
        registry.register("callbacks", "Trips to a provider by their outcome", callbacks.clone());
        Self(Arc::new(Inner { registry, security_events, elicitations_made, elicitations_ended, callbacks }))
    }

    /// Counts and logs a security event.
    pub fn security_event(&self, event: SecurityEvent) {
        self.0.security_events.get_or_create(&Code { code: event.code() }).inc();
        tracing::warn!(event = event.code(), "security event");
    }

    /// Counts an elicitation that was handed out, new or again.
    pub fn elicitation_made(&self, is_new: bool) {
        let again = if is_new { "no" } else { "yes" };
        self.0.elicitations_made.get_or_create(&Made { again }).inc();
    }

    /// Counts elicitations by their end.
    pub fn elicitations_ended(&self, state: State, count: usize) {
        let ended = self.0.elicitations_ended.get_or_create(&ByState { state: state.as_str() }).clone();
        ended.inc_by(count as u64);
    }

    /// Counts a trip to a provider by its outcome.
    pub fn callback(&self, outcome: Outcome) {
        self.0.callbacks.get_or_create(&ByOutcome { outcome: outcome.as_str() }).inc();
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.0.registry).is_err() {
            text.clear();
        }
        text
    }
}
