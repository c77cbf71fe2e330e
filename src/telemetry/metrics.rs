//! The counters. Each exists at 0 from the start, so that a missing one is a mistake and not a quiet day.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Metric as Registered, Registry},
};

use super::{
    SecurityEvent,
    catalogue::{METRICS, Metric, SECURITY_EVENTS},
};
use crate::{
    credential::refresh::Finish,
    elicitation::{Outcome, ProviderId, ServerId, State},
    outbound::OutboundError,
    provider::{Class, ProviderError},
    revocation,
    secret_form::Checked,
    store::StoreError,
};

/// A value is borrowed wherever it can be, for labels are built anew for each count.
type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// From a page out of memory to a long-poll.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 25.0];

const ENDS: [State; 5] = [State::Completed, State::Declined, State::Cancelled, State::Expired, State::Failed];
const OUTCOMES: [Outcome; 11] = [
    Outcome::Connected,
    Outcome::PartlyConnected,
    Outcome::Denied,
    Outcome::AdminApproval,
    Outcome::Unreachable,
    Outcome::Unusable,
    Outcome::Misconfigured,
    Outcome::CodeRefused,
    Outcome::KeptPrevious,
    Outcome::ClosedMeanwhile,
    Outcome::Ended,
];

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// `public` or `internal`.
    pub listener: &'static str,
    /// The route's pattern.
    pub route: &'a str,
    /// The answer's status.
    pub status: u16,
    /// How long it took.
    pub took: Duration,
}

/// What became of a credential that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Handed out.
    Ready,
    /// The user is to be asked.
    Missing,
    /// Neither.
    Failed,
}

/// What a post to a webhook led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The receiver has it.
    Taken,
    /// It is posted again.
    Failed,
    /// The receiver is no more.
    Gone,
    /// It is given up.
    Dead,
}

impl Delivered {
    const ALL: [Self; 4] = [Self::Taken, Self::Failed, Self::Gone, Self::Dead];

    fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Failed => "failed",
            Self::Gone => "gone",
            Self::Dead => "dead",
        }
    }
}

/// The counters. Cloning shares them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    http_requests: Counters<3>,
    http_durations: Histograms<2>,
    elicitations_made: Counters<1>,
    elicitations_ended: Counters<1>,
    callbacks: Counters<1>,
    exchanges: Counters<2>,
    secret_checks: Counters<2>,
    refreshes: Counters<2>,
    refresh_ends: Counters<1>,
    providers_paused: Family<Labels<1>, Gauge>,
    lookups: Counters<1>,
    revocations: Counters<2>,
    revocations_stored: Family<Labels<2>, Gauge>,
    webhooks: Counters<2>,
    webhook_age: Family<Labels<1>, Gauge>,
    webhook_dead: Family<Labels<1>, Gauge>,
    outbound: Counters<1>,
    store_errors: Counters<1>,
    records_lost: Counters<1>,
    security_events: Counters<1>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Every counter, at 0.
    pub fn new() -> Self {
        let [
            build,
            http,
            durations,
            made,
            ended,
            callbacks,
            exchanges,
            secret_checks,
            refreshes,
            refresh_ends,
            paused,
            lookups,
            revocations,
            revocations_stored,
            webhooks,
            webhook_age,
            webhook_dead,
            outbound,
            store,
            records_lost,
        ] = &METRICS;
        let mut registry = Registry::with_prefix("consentry");
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        register(&mut registry, build, version);
        let http_requests = Family::default();
        register(&mut registry, http, http_requests.clone());
        let http_durations: Histograms<2> = Family::new_with_constructor(|| Histogram::new(BUCKETS));
        register(&mut registry, durations, http_durations.clone());
        let inner = Inner {
            http_requests,
            http_durations,
            elicitations_made: family(&mut registry, made, &["no", "yes"]),
            elicitations_ended: family(&mut registry, ended, &ENDS.map(State::as_str)),
            callbacks: family(&mut registry, callbacks, &OUTCOMES.map(Outcome::as_str)),
            exchanges: Family::default(),
            secret_checks: Family::default(),
            refreshes: Family::default(),
            refresh_ends: family(&mut registry, refresh_ends, &Finish::CODES),
            providers_paused: Family::default(),
            lookups: family(&mut registry, lookups, &["ready", "missing", "failed"]),
            revocations: Family::default(),
            revocations_stored: Family::default(),
            webhooks: Family::default(),
            webhook_age: Family::default(),
            webhook_dead: Family::default(),
            outbound: family(&mut registry, outbound, &["answered"]),
            store_errors: family(&mut registry, store, &["unavailable", "corrupt", "refused"]),
            records_lost: family(&mut registry, records_lost, &["hand_out", "refusal"]),
            security_events: family(
                &mut registry,
                &SECURITY_EVENTS,
                &SecurityEvent::ALL.map(SecurityEvent::code),
            ),
            registry: Registry::default(),
        };
        register(&mut registry, exchanges, inner.exchanges.clone());
        register(&mut registry, secret_checks, inner.secret_checks.clone());
        register(&mut registry, refreshes, inner.refreshes.clone());
        register(&mut registry, paused, inner.providers_paused.clone());
        register(&mut registry, revocations, inner.revocations.clone());
        register(&mut registry, revocations_stored, inner.revocations_stored.clone());
        register(&mut registry, webhooks, inner.webhooks.clone());
        register(&mut registry, webhook_age, inner.webhook_age.clone());
        register(&mut registry, webhook_dead, inner.webhook_dead.clone());
        Self(Arc::new(Inner { registry, ..inner }))
    }

    /// Lets what is counted by provider begin at 0.
    pub fn know_providers<'a>(&self, providers: impl IntoIterator<Item = &'a ProviderId>) {
        for provider in providers {
            drop(self.0.exchanges.get_or_create(&by_provider(provider, "ok")));
            for result in Class::ALL.map(Class::as_str).into_iter().chain(["ok"]) {
                drop(self.0.refreshes.get_or_create(&by_provider(provider, result)));
            }
            self.provider_paused(provider, false);
            for state in revocation::State::ALL {
                drop(self.0.revocations.get_or_create(&by_state(provider, state)));
            }
            self.revocations_stored(provider, &[]);
        }
    }

    /// Lets what is counted by webhook begin at 0.
    pub fn know_webhooks(&self, servers: impl IntoIterator<Item = ServerId>) {
        for server in servers {
            for outcome in Delivered::ALL {
                drop(self.0.webhooks.get_or_create(&by_webhook(&server, outcome)));
            }
            self.webhook_backlog(&server, Duration::ZERO, 0);
        }
    }

    /// Counts a post to an MCP server's webhook.
    pub fn webhook(&self, server: &ServerId, outcome: Delivered) {
        self.0.webhooks.get_or_create(&by_webhook(server, outcome)).inc();
    }

    /// Tells how long the oldest signal waits for an MCP server's webhook, and how many were given up.
    pub fn webhook_backlog(&self, server: &ServerId, age: Duration, dead: i64) {
        let label = [("server", server.to_string().into())];
        let seconds = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        self.0.webhook_age.get_or_create(&label).set(seconds);
        self.0.webhook_dead.get_or_create(&label).set(dead);
    }

    /// Counts and logs a security event. Only for [`App::security_event`](crate::app::App::security_event), which tells
    /// the audit record too.
    pub(crate) fn security_event(&self, event: SecurityEvent) {
        count(&self.0.security_events, "code", event.code(), 1);
        tracing::warn!(event = event.code(), "security event");
    }

    /// Counts an elicitation that was handed out, new or again.
    pub fn elicitation_made(&self, is_new: bool) {
        count(&self.0.elicitations_made, "again", if is_new { "no" } else { "yes" }, 1);
    }

    /// Counts elicitations by their end.
    pub fn elicitations_ended(&self, state: State, number: usize) {
        count(&self.0.elicitations_ended, "state", state.as_str(), number as u64);
    }

    /// Counts a trip to a provider by its outcome.
    pub fn callback(&self, outcome: Outcome) {
        count(&self.0.callbacks, "outcome", outcome.as_str(), 1);
    }

    /// Counts a code that was sent to a provider; `error` is why there are no tokens.
    pub fn exchange(&self, provider: &ProviderId, error: Option<&ProviderError>) {
        let result = error.map_or("ok", ProviderError::code);
        self.0.exchanges.get_or_create(&by_provider(provider, result)).inc();
    }

    /// Lets what is counted by form begin at 0.
    pub fn know_forms<'a>(&self, forms: impl IntoIterator<Item = &'a ProviderId>) {
        for form in forms {
            for result in Checked::CODES {
                drop(self.0.secret_checks.get_or_create(&by_provider(form, result)));
            }
        }
    }

    /// Counts a key that a person typed, as the service judged it.
    pub fn secret_check(&self, form: &ProviderId, checked: &Checked) {
        self.0.secret_checks.get_or_create(&by_provider(form, checked.code())).inc();
    }

    /// Counts a refresh token that was sent to a provider; `class` is why there are no tokens.
    pub fn refreshed(&self, provider: &ProviderId, class: Option<Class>) {
        let result = class.map_or("ok", Class::as_str);
        self.0.refreshes.get_or_create(&by_provider(provider, result)).inc();
    }

    /// Counts how a refresh ended for the connection.
    pub fn refresh_ended(&self, finish: &Finish) {
        count(&self.0.refresh_ends, "outcome", finish.code(), 1);
    }

    /// Tells whether refreshes at a provider are held back.
    pub fn provider_paused(&self, provider: &ProviderId, paused: bool) {
        let label = [("provider", provider.to_string().into())];
        self.0.providers_paused.get_or_create(&label).set(i64::from(paused));
    }

    /// Counts a try of a revocation by what it led to.
    pub fn revocation(&self, provider: &ProviderId, state: revocation::State) {
        self.0.revocations.get_or_create(&by_state(provider, state)).inc();
    }

    /// Tells how many revocations of a provider are stored in each state; those not named are none.
    pub fn revocations_stored(&self, provider: &ProviderId, counts: &[(revocation::State, i64)]) {
        for state in revocation::State::ALL {
            let number = counts.iter().find(|(found, _)| *found == state).map_or(0, |(_, number)| *number);
            self.0.revocations_stored.get_or_create(&by_state(provider, state)).set(number);
        }
    }

    /// Counts a credential that was asked for.
    pub fn credential_lookup(&self, lookup: Lookup) {
        let result = match lookup {
            Lookup::Ready => "ready",
            Lookup::Missing => "missing",
            Lookup::Failed => "failed",
        };
        count(&self.0.lookups, "result", result, 1);
    }

    /// Counts a call that was made; `error` is why there was no answer.
    pub fn outbound(&self, error: Option<OutboundError>) {
        count(&self.0.outbound, "result", error.map_or("answered", OutboundError::code), 1);
    }

    /// Counts a request that the database failed.
    pub fn store_error(&self, error: &StoreError) {
        let kind = match error {
            StoreError::Unavailable(_) => "unavailable",
            StoreError::Corrupt { .. } => "corrupt",
            StoreError::Url | StoreError::Migration(_) | StoreError::Refused(_) => "refused",
        };
        count(&self.0.store_errors, "kind", kind, 1);
    }

    /// Counts what the audit record had no room for: a `hand_out` or a `refusal`.
    pub fn records_lost(&self, what: &'static str, number: i64) {
        count(&self.0.records_lost, "what", what, number.unsigned_abs());
    }

    /// Counts an answered request.
    pub fn answered(&self, answered: &Answered<'_>) {
        let Answered { listener, route, status, took } = *answered;
        let (listener, route) =
            (("listener", Cow::Borrowed(listener)), ("route", Cow::Owned(route.to_owned())));
        let status = ("status", status.to_string().into());
        self.0.http_requests.get_or_create(&[listener.clone(), route.clone(), status]).inc();
        self.0.http_durations.get_or_create(&[listener, route]).observe(took.as_secs_f64());
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

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

fn register(registry: &mut Registry, metric: &Metric, registered: impl Registered) {
    registry.register(metric.name, metric.help, registered);
}

/// A family of one label with its values at 0.
fn family(registry: &mut Registry, metric: &Metric, values: &[&'static str]) -> Counters<1> {
    let family = Counters::<1>::default();
    let label = metric.labels.first().copied().unwrap_or_default();
    for value in values {
        drop(family.get_or_create(&[(label, Cow::Borrowed(*value))]));
    }
    register(registry, metric, family.clone());
    family
}

fn count(family: &Counters<1>, label: &'static str, value: &'static str, number: u64) {
    family.get_or_create(&[(label, value.into())]).inc_by(number);
}

fn by_provider(provider: &ProviderId, result: &'static str) -> Labels<2> {
    [("provider", provider.to_string().into()), ("result", result.into())]
}

fn by_webhook(server: &ServerId, outcome: Delivered) -> Labels<2> {
    [("server", server.to_string().into()), ("outcome", outcome.as_str().into())]
}

fn by_state(provider: &ProviderId, state: revocation::State) -> Labels<2> {
    [("provider", provider.to_string().into()), ("state", state.as_str().into())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is registered is what is documented, with the same kinds and labels.
    #[test]
    fn every_metric_is_in_the_catalogue() {
        let metrics = Metrics::new();
        metrics.answered(&Answered { listener: "public", route: "/x", status: 200, took: Duration::ZERO });
        metrics.know_providers([&"acme".parse().unwrap()]);
        metrics.know_forms([&"keyed".parse().unwrap()]);
        metrics.know_webhooks(["files".parse().unwrap()]);
        let text = metrics.text();
        let mut said: Vec<String> =
            text.lines().filter(|line| line.starts_with("# TYPE ")).map(str::to_owned).collect();
        for metric in METRICS.iter().chain([&SECURITY_EVENTS]) {
            let kind = format!("# TYPE consentry_{} {}", metric.name, metric.kind);
            assert!(said.contains(&kind), "{kind}\n{text}");
            said.retain(|line| *line != kind);
            let sample = metric.full_name();
            let labelled =
                text.lines().find(|line| line.starts_with(&sample)).unwrap_or_else(|| panic!("{sample}"));
            for label in metric.labels {
                assert!(labelled.contains(&format!("{label}=\"")), "{labelled}");
            }
        }
        assert!(said.is_empty(), "not in the catalogue: {said:?}");
    }

    #[test]
    fn counters_exist_at_0_and_count() {
        let metrics = Metrics::new();
        for event in SecurityEvent::ALL {
            let line = format!("consentry_security_events_total{{code=\"{}\"}} 0", event.code());
            assert!(metrics.text().contains(&line), "{line}");
        }
        metrics.elicitations_ended(State::Expired, 3);
        assert!(metrics.text().contains("consentry_elicitations_ended_total{state=\"expired\"} 3"));
    }
}
