//! The sections that are not lists: listeners, database, lifetimes, limits, outgoing calls, log, operator.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use url::Url;

use super::Checker;
use crate::{
    config::{
        Database, IpNetwork, Lifetimes, Limits, Listen, Log, Operator, OutboundSettings, Refresh, TlsFiles,
        Webhooks, raw,
        units::{Span, say},
    },
    outbound::Allowed,
    secret::Secret,
    store::Engine,
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

impl Checker<'_> {
    pub(super) fn listen(&mut self, raw: raw::Listen) -> Option<Listen> {
        let public = self.address("listen.public", &raw.public);
        let internal = self.address("listen.internal", &raw.internal);
        let same =
            public.is_some() && public == internal && public.is_some_and(|address| address.port() != 0);
        self.demand(!same, "listen.internal", "must differ from listen.public");
        let connections = self.between("listen.connections", raw.connections, 16, 1_000_000);
        let listen = Listen {
            trusted_proxies: self.trusted_proxies(&raw.trusted_proxies),
            public_tls: self.tls("listen.public_tls", raw.public_tls),
            internal_tls: self.tls("listen.internal_tls", raw.internal_tls),
            header_timeout: self.span(
                "listen.header_timeout",
                raw.header_timeout,
                SECOND,
                Duration::from_secs(120),
            ),
            connections,
            drain: self.span("listen.drain", raw.drain, Duration::ZERO, Duration::from_secs(600)),
            public: public?,
            internal: internal?,
        };
        Some(listen)
    }

    fn address(&mut self, key: &str, text: &str) -> Option<SocketAddr> {
        self.findings
            .keep(key, text.parse().map_err(|_| "must be an address and a port such as 127.0.0.1:8080"))
    }

    fn trusted_proxies(&mut self, texts: &[String]) -> Vec<IpNetwork> {
        let mut networks = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let key = format!("listen.trusted_proxies[{at}]");
            let Some(network) = self.findings.keep(&key, text.parse::<IpNetwork>()) else { continue };
            self.demand(!network.is_everyone(), &key, "trusts every address; give the proxy's own");
            networks.push(network);
        }
        networks
    }

    fn tls(&mut self, at: &str, raw: Option<raw::TlsFiles>) -> Option<TlsFiles> {
        let raw = raw?;
        for (key, path) in [("certificate", &raw.certificate), ("key", &raw.key)] {
            self.readable(&format!("{at}.{key}"), path);
        }
        Some(TlsFiles { certificate: raw.certificate.into(), key: raw.key.into() })
    }

    fn readable(&mut self, key: &str, path: &str) {
        let file = std::fs::File::open(path).and_then(|file| file.metadata());
        let is_file =
            file.map_err(|error| format!("names the file {path}, which cannot be read: {}", error.kind()));
        if let Some(metadata) = self.findings.keep(key, is_file) {
            self.demand(metadata.is_file(), key, format!("names {path}, which is no file"));
        }
    }

    pub(super) fn database(&mut self, raw: raw::Database, in_file: bool) -> Option<Database> {
        let key = "database.url";
        let url = match raw.url {
            raw::TextOrSecret::Secret(source) => {
                source.read(key, self.environment, self.loopback, self.findings)
            }
            raw::TextOrSecret::Text(url) => {
                let open = in_file && !self.loopback && has_password(&url);
                self.demand(
                    !open,
                    key,
                    "holds a password, which may not stand in the file; use { env } or { file }",
                );
                Some(url)
            }
        }?;
        self.findings.keep(key, Engine::of(&url))?;
        let connections = self.between("database.connections", raw.connections, 2, 500);
        Some(Database { url, connections, migrate: raw.migrate })
    }

    pub(super) fn refresh(&mut self, raw: &raw::Refresh) -> Refresh {
        Refresh {
            wait: self.span("refresh.wait", raw.wait, SECOND, 60 * SECOND),
            trial: self.span("refresh.trial", raw.trial, SECOND, HOUR),
            warn_ahead: self.span("refresh.warn_ahead", raw.warn_ahead, HOUR, 90 * DAY),
        }
    }

    pub(super) fn webhooks(&mut self, raw: &raw::Webhooks) -> Webhooks {
        Webhooks {
            timeout: self.span("webhooks.timeout", raw.timeout, SECOND, 60 * SECOND),
            concurrent: self.between("webhooks.concurrent", raw.concurrent, 1, 64),
        }
    }

    pub(super) fn lifetimes(&mut self, raw: &raw::Lifetimes) -> Lifetimes {
        let all = Lifetimes {
            elicitation: self.span("lifetimes.elicitation", raw.elicitation, SECOND, DAY),
            attempt: self.span("lifetimes.attempt", raw.attempt, SECOND, DAY),
            parked: self.span("lifetimes.parked", raw.parked, SECOND, DAY),
            sign_in: self.span("lifetimes.sign_in", raw.sign_in, SECOND, HOUR),
            session_idle: self.span("lifetimes.session_idle", raw.session_idle, SECOND, 30 * DAY),
            session: self.span("lifetimes.session", raw.session, SECOND, 30 * DAY),
            history: self.span("lifetimes.history", raw.history, HOUR, 3_650 * DAY),
            audit: self.span("lifetimes.audit", raw.audit, DAY, 3_650 * DAY),
        };
        for (holds, key, problem) in [
            (all.attempt <= all.elicitation, "attempt", "must not be longer than lifetimes.elicitation"),
            (all.parked <= all.attempt, "parked", "must not be longer than lifetimes.attempt"),
            (all.session_idle <= all.session, "session_idle", "must not be longer than lifetimes.session"),
        ] {
            self.demand(holds, format!("lifetimes.{key}"), problem);
        }
        all
    }

    pub(super) fn limits(&mut self, raw: &raw::Limits) -> Limits {
        Limits {
            body_bytes: self.between("limits.body", raw.body.0, 4 << 10, 4 << 20),
            head_bytes: self.between("limits.head", raw.head.0, 8 << 10, 256 << 10),
            headers: self.between("limits.headers", raw.headers, 16, 1_000),
            requests_per_minute: self.between(
                "limits.requests_per_minute",
                raw.requests_per_minute,
                60,
                1_000_000,
            ),
            elicitations_per_minute: self.between(
                "limits.elicitations_per_minute",
                raw.elicitations_per_minute,
                1,
                100_000,
            ),
            streams_per_server: self.between("limits.streams_per_server", raw.streams_per_server, 1, 10_000),
            scopes: self.between("limits.scopes", raw.scopes, 1, 1_000),
        }
    }

    pub(super) fn outbound(&mut self, raw: raw::Outbound) -> OutboundSettings {
        for (at, entry) in raw.allowed.iter().enumerate() {
            let problem =
                "must be a name, a name with a port, or a network of IPv4 /8 or IPv6 /7 at the widest";
            match entry.parse::<Allowed>() {
                Ok(allowed) => self.policy.allowed.push(allowed),
                Err(_) => self.refuse(format!("outbound.allowed[{at}]"), problem),
            }
        }
        for (at, path) in raw.ca_files.iter().enumerate() {
            self.readable(&format!("outbound.ca_files[{at}]"), path);
        }
        let proxy = raw.proxy.and_then(|text| self.proxy("outbound.proxy", &text));
        OutboundSettings {
            allowed: raw.allowed,
            ca_files: raw.ca_files.into_iter().map(PathBuf::from).collect(),
            proxy,
            timeout: self.span("outbound.timeout", raw.timeout, SECOND, Duration::from_secs(60)),
            answer_bytes: self.between("outbound.answer", raw.answer.0, 16 << 10, 16 << 20),
        }
    }

    fn proxy(&mut self, key: &str, text: &str) -> Option<Url> {
        let url = self.findings.keep(key, Url::parse(text).map_err(|_| "is not a URL"))?;
        let fits = matches!(url.scheme(), "http" | "https") && url.has_host();
        self.demand(fits, key, "must be an http or https URL");
        let bare = url.username().is_empty() && url.password().is_none();
        self.demand(bare, key, "must not hold a user name or a password");
        Some(url)
    }

    pub(super) fn log(&mut self, raw: raw::Log) -> Log {
        let parsed = tracing_subscriber::EnvFilter::try_new(&raw.filter);
        self.demand(
            parsed.is_ok(),
            "log.filter",
            "must be a level such as info, or info,consentry::connect=debug",
        );
        Log { filter: raw.filter, json: raw.format == raw::LogFormat::Json }
    }

    pub(super) fn operator(&mut self, raw: raw::Operator) -> Operator {
        self.name("operator.name", &raw.name);
        Operator {
            name: raw.name,
            help_url: raw.help_url.and_then(|text| self.link("operator.help_url", &text, true)),
            privacy_url: raw.privacy_url.and_then(|text| self.link("operator.privacy_url", &text, false)),
        }
    }

    /// A name that pages show.
    pub(super) fn name(&mut self, key: &str, name: &str) {
        let fits = (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        self.demand(fits && !name.trim().is_empty(), key, "must be 1 to 100 characters");
    }

    /// `value`, and a finding when it is out of bounds.
    fn between<N: PartialOrd + Copy + std::fmt::Display>(
        &mut self,
        key: &str,
        value: N,
        least: N,
        most: N,
    ) -> N {
        self.demand(least <= value && value <= most, key, format!("must be {least} to {most}"));
        value
    }

    fn span(&mut self, key: &str, value: Span, least: Duration, most: Duration) -> Duration {
        let fits = least <= value.0 && value.0 <= most;
        self.demand(fits, key, format!("must be {} to {}", say(least), say(most)));
        value.0
    }
}

fn has_password(url: &Secret) -> bool {
    Url::parse(url.expose())
        .is_ok_and(|url| url.password().is_some() || url.query_pairs().any(|(key, _)| key == "password"))
}
