//! Every metric by name, as the registry and `docs/metrics.md` tell it.

use super::SecurityEvent;

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Without the prefix `consentry_` and without the suffixes of its kind.
    pub name: &'static str,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
    /// The values that its labels take, for the document.
    pub values: &'static str,
}

/// Every metric, in the order of the registry.
pub const METRICS: [Metric; 20] = [
    Metric {
        name: "build",
        kind: "info",
        labels: &["version"],
        help: "What is running",
        values: "`version`: the program's.",
    },
    Metric {
        name: "http_requests",
        kind: "counter",
        labels: &["listener", "route", "status"],
        help: "Answered requests",
        values: "`listener`: `public`, `internal`. `route`: its pattern, such as `/connect/{id}/continue`, or `other` \
                 for what matches none. `status`: of the answer; `499` when the client hung up before.",
    },
    Metric {
        name: "http_request_duration_seconds",
        kind: "histogram",
        labels: &["listener", "route"],
        help: "From the head of a request to the head of its answer, waits included",
        values: "As above.",
    },
    Metric {
        name: "elicitations_made",
        kind: "counter",
        labels: &["again"],
        help: "Elicitations handed out",
        values: "`again`: `no` for a new one, `yes` for an open one that was handed out once more.",
    },
    Metric {
        name: "elicitations_ended",
        kind: "counter",
        labels: &["state"],
        help: "Elicitations by their end",
        values: "`state`: `completed`, `declined`, `cancelled`, `expired`, `failed`.",
    },
    Metric {
        name: "callbacks",
        kind: "counter",
        labels: &["outcome"],
        help: "Trips to a third party by their outcome",
        values: "`outcome`: `connected`, `partly_connected`, `denied`, `admin_approval`, `unreachable`, \
                 `unusable`, `misconfigured`, `code_refused`, `kept_previous`, `closed_meanwhile`, `ended`.",
    },
    Metric {
        name: "exchanges",
        kind: "counter",
        labels: &["provider", "result"],
        help: "Authorization codes sent to a third party's token endpoint",
        values: "`provider`: its id. `result`: `ok`, `code_refused`, `provider_misconfigured`, `provider_denied`, \
                 `provider_unreachable`, `provider_answer_malformed`, `account_mismatch`, `provider_policy`.",
    },
    Metric {
        name: "secret_checks",
        kind: "counter",
        labels: &["provider", "result"],
        help: "Keys that people typed, as the third party judged them",
        values: "`provider`: its id. `result`: `works`, `rejected`, `unknown` (nobody could say), `address` (it makes \
                 an address that may not be called).",
    },
    Metric {
        name: "refreshes",
        kind: "counter",
        labels: &["provider", "result"],
        help: "Refresh tokens sent to a third party's token endpoint",
        values: "`provider`: its id. `result`: `ok`, or the class of the failure: `terminal` (the grant is dead), \
                 `operator` (our client is refused), `configuration` (our request is refused), `transient`, \
                 `suspicious` (an answer that no token endpoint should give), `not_sent`, `ambiguous` (sent, and no \
                 answer), `policy` (a redirect).",
    },
    Metric {
        name: "refresh_ends",
        kind: "counter",
        labels: &["outcome"],
        help: "How the work of refreshing a connection ended",
        values: "`outcome`: `renewed`, `moved` (somebody else had done it), `fenced` (too late: dropped), `given_back` \
                 (disconnected meanwhile), `failed` (kept, tried again), `later` and `paused` (nothing was sent), \
                 `unreadable`, `store_away` (not stored), `busy` (another replica was at it for long), `drained`; or why \
                 the connection needs its user: `refused_by_provider`, `rotation_lost`, `account_mismatch`, \
                 `refresh_expired`, `consent_expired`.",
    },
    Metric {
        name: "provider_paused",
        kind: "gauge",
        labels: &["provider"],
        help: "Whether refreshes at a third party are held back by this process, but for a trial now and then: 1 while \
               it fails, has asked us to wait, or refuses our client; the log says which",
        values: "`provider`: its id.",
    },
    Metric {
        name: "credential_lookups",
        kind: "counter",
        labels: &["result"],
        help: "Credentials that MCP servers asked for",
        values: "`result`: `ready` (handed out), `missing` (the user is asked), `failed`.",
    },
    Metric {
        name: "revocations",
        kind: "counter",
        labels: &["provider", "state"],
        help: "Tries to tell third parties that a token is no longer wanted",
        values: "`provider`: its id. `state`: `confirmed`; `due` (it is tried again); `shared` (not told, another \
                 connection has the same account); `impossible` (it has no way to be told); `dead` (given up).",
    },
    Metric {
        name: "revocations_stored",
        kind: "gauge",
        labels: &["provider", "state"],
        help: "Revocations that are stored, by how far they have come",
        values: "`provider`: its id. `state`: `due` (waits for its next try), `confirmed`, `shared`, `impossible`, \
                 `dead`; those that are over until they are deleted for their age.",
    },
    Metric {
        name: "webhooks",
        kind: "counter",
        labels: &["server", "outcome"],
        help: "Posts to MCP servers' webhooks",
        values: "`server`: the MCP server's id. `outcome`: `taken`; `failed` (it is posted again); `gone` (the receiver \
                 answered 410, nothing is posted to it any more); `dead` (given up).",
    },
    Metric {
        name: "webhook_oldest_due_seconds",
        kind: "gauge",
        labels: &["server"],
        help: "For how long the oldest signal waits for its MCP server's webhook; 0 when none does",
        values: "`server`: the MCP server's id. Measured every 15 seconds.",
    },
    Metric {
        name: "webhook_dead_letters",
        kind: "gauge",
        labels: &["server"],
        help: "Signals that were given up and can be replayed",
        values: "`server`: the MCP server's id. Measured every 15 seconds.",
    },
    Metric {
        name: "outbound_requests",
        kind: "counter",
        labels: &["result"],
        help: "Calls to authorization servers, third parties and webhooks",
        values: "`result`: `answered`, whatever the answer was, or why there was none: `outbound_refused` (not allowed \
                 to go there), `outbound_unwritable`, `outbound_dns`, `outbound_connect`, `outbound_tls`, \
                 `outbound_connect_timeout`, `outbound_timeout`, `outbound_cut`, `outbound_too_large`, \
                 `outbound_garbled`.",
    },
    Metric {
        name: "store_errors",
        kind: "counter",
        labels: &["kind"],
        help: "Requests that the database failed",
        values: "`kind`: `unavailable`, `corrupt` (a row cannot be read), `refused`.",
    },
    Metric {
        name: "audit_records_lost",
        kind: "counter",
        labels: &["what"],
        help: "Happenings that the audit record had no room for, because the database did not take any for long",
        values: "`what`: `hand_out`, `refusal`.",
    },
];

/// Refusals, beside [`METRICS`] because their values have sentences of their own.
pub(super) const SECURITY_EVENTS: Metric = Metric {
    name: "security_events",
    kind: "counter",
    labels: &["code"],
    help: "Refusals that a defender wants to see",
    values: "`code`: see below. Each is also a line in the log, with the same code as `event`.",
};

/// `docs/metrics.md`.
pub fn document() -> String {
    let mut text = String::from(
        "<!-- Made by scripts/generate from src/telemetry; change it there. -->\n\n# Metrics\n\n\
         `GET /metrics` on the internal listener, in the text format of Prometheus. Every metric exists from the start, \
         counters at 0. No label holds anything of a user's, and none is chosen by a caller.\n\n",
    );
    for metric in METRICS.iter().chain([&SECURITY_EVENTS]) {
        let labels = metric.labels.join(", ");
        let (name, kind, help, values) = (metric.full_name(), metric.kind, metric.help, metric.values);
        text.push_str(&format!("## `{name}`\n\n{help}. A {kind}, by {labels}.\n\n{values}\n\n"));
    }
    text.push_str("## Security events\n\n| code | what happened |\n|---|---|\n");
    for event in SecurityEvent::ALL {
        text.push_str(&format!("| `{}` | {} |\n", event.code(), event.meaning()));
    }
    text
}

impl Metric {
    /// The name on the wire.
    pub fn full_name(&self) -> String {
        let suffix = match self.kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        format!("consentry_{}{suffix}", self.name)
    }
}
