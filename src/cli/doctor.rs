//! `consentry doctor`: looks at everything that the configuration names, live, and calls good only what has answered.
//! Changes nothing.

use serde::Serialize;
use serde_json::json;

use super::{Context, output::CliError, providers::redirect_uris};
use crate::{
    clock::Clock,
    config::{self, Provider, Settings, notes},
    identity::{Identity, IdentityError},
    keys,
    outbound::Outbound,
    provider::Providers,
    random::Random,
    server,
    store::{ConnectionFilter, Store, StoreError},
    telemetry::Metrics,
    vault::Vault,
};

/// What was found of one thing.
#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    state: State,
    detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    Note,
    Bad,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, what: impl Into<String>, state: State, detail: impl Into<String>) {
        self.0.push(Finding { what: what.into(), state, detail: detail.into() });
    }
}

pub(super) async fn run(context: &Context) -> Result<(), CliError> {
    let mut settings = context.settings()?;
    let clock = Clock::system();
    let vault = Vault::new(std::mem::take(&mut settings.keys), Random).map_err(CliError::failed)?;
    let outbound = server::outbound(&settings, &Metrics::new(), &clock).map_err(CliError::failed)?;
    let mut findings = Findings::default();
    findings.add("configuration", State::Good, "can be read, with every key file and secret that it names");
    for note in notes(&settings) {
        findings.add("configuration", State::Note, note);
    }
    database(&settings, &vault, &clock, &mut findings).await;
    authorization_servers(&settings, &vault, &outbound, &clock, &mut findings).await;
    providers(&settings, &outbound, &clock, &mut findings).await;
    secret_forms(&settings, &mut findings);
    public_url(&settings, &outbound, &mut findings).await;
    tell(context, &findings.0)
}

fn tell(context: &Context, findings: &[Finding]) -> Result<(), CliError> {
    let good = !findings.iter().any(|finding| finding.state == State::Bad);
    let lines = findings.iter().map(|finding| {
        let state = match finding.state {
            State::Good => "good",
            State::Note => "note",
            State::Bad => "BAD ",
        };
        format!("{state}  {}: {}", finding.what, finding.detail)
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    context.out.say(&json!({ "ok": good, "findings": findings }), &text)?;
    if good { Ok(()) } else { Err(CliError::Told) }
}

async fn database(settings: &Settings, vault: &Vault, clock: &Clock, findings: &mut Findings) {
    // Opening would make the file.
    if config::sqlite_file(&settings.database.url).is_some_and(|file| !file.exists()) {
        findings.add("database", State::Note, "does not exist yet; `consentry serve` makes it");
        return;
    }
    let store = match Store::open_existing(&settings.database.url, 2).await {
        Ok(store) => store,
        Err(error) => return findings.add("database", State::Bad, error.to_string()),
    };
    match store.is_migrated().await {
        Ok(true) => {
            findings.add("database", State::Good, "answers, and its schema is this program's");
            keys(&store, vault, clock, findings).await;
        }
        Ok(false) | Err(StoreError::Refused(_)) => {
            findings.add(
                "database",
                State::Note,
                "answers, but its schema is behind; run `consentry migrate`",
            );
        }
        Err(error) => findings.add("database", State::Bad, error.to_string()),
    }
    store.shut_down().await;
}

async fn keys(store: &Store, vault: &Vault, clock: &Clock, findings: &mut Findings) {
    let newest = vault.current_key();
    match keys::fits(store, vault, true, clock.now()).await {
        Ok(Ok(())) => {}
        Ok(Err(barred)) => return findings.add("keys", State::Bad, barred.to_string()),
        Err(error) => return findings.add("keys", State::Bad, error.to_string()),
    }
    let stored = match store.connections(ConnectionFilter::default(), 1).await {
        Ok(stored) => stored,
        Err(error) => return findings.add("keys", State::Bad, error.to_string()),
    };
    let Some(connection) = stored.first() else {
        return findings.add(
            "keys",
            State::Note,
            format!("{newest} seals; no credential is stored to try it on"),
        );
    };
    match crate::credential::open(vault, connection) {
        Ok(_) => findings.add(
            "keys",
            State::Good,
            format!("{newest} seals, and the first stored credential opens"),
        ),
        Err(error) => findings.add("keys", State::Bad, format!("a stored credential does not open: {error}")),
    }
}

async fn authorization_servers(
    settings: &Settings,
    vault: &Vault,
    outbound: &Outbound,
    clock: &Clock,
    findings: &mut Findings,
) {
    let identity = Identity::new(
        settings.authorization_servers.clone(),
        outbound.clone(),
        vault.clone(),
        clock.clone(),
        Random,
        settings.public_url.clone(),
    );
    for server in &settings.authorization_servers {
        let what = format!("authorization server {}", server.id);
        match identity.probe(&server.id).await {
            Ok(_) => {
                let uri = settings.public_url.join(&format!("/sign-in/callback/{}", server.id));
                findings.add(
                    what,
                    State::Good,
                    format!("its metadata and keys can be used; redirect URI {uri}"),
                );
            }
            Err(error @ IdentityError::PairwiseOnly) => {
                findings.add(
                    what,
                    State::Bad,
                    format!("{error}; name a claim that is the same for all clients"),
                );
            }
            Err(error) => findings.add(what, State::Bad, error.to_string()),
        }
    }
}

async fn providers(settings: &Settings, outbound: &Outbound, clock: &Clock, findings: &mut Findings) {
    let providers =
        Providers::new(settings.providers.clone(), settings.refresh.trial, outbound.clone(), clock.clone());
    for provider in providers.iter() {
        let what = format!("provider {}", provider.id);
        if provider.mcp.is_some() {
            third_party(settings, &providers, provider, &what, findings).await;
            continue;
        }
        match providers.endpoints(provider).await {
            Ok(endpoints) => {
                let host = endpoints.authorization.host_str().unwrap_or_default();
                let uris = redirect_uris(settings, provider).join(", ");
                let (state, asked) = match endpoints.s256.is_some() {
                    true => (State::Good, "its metadata can be used"),
                    // Nothing but a person's own trip shows whether they are right.
                    false => (State::Note, "its endpoints stand in the configuration, and were not asked"),
                };
                // Where the address depends on the person, it was filled with the example.
                let sampled = provider.blueprint.is_some() && provider.variables.is_empty();
                let host = if sampled { format!("{host}, for example") } else { host.to_owned() };
                findings.add(&what, state, format!("{asked}; leaves for {host}; redirect URIs {uris}"));
                if provider.pkce && endpoints.s256 == Some(false) {
                    findings.add(
                        what,
                        State::Bad,
                        "does not take PKCE with S256; only `pkce = false` lets it be used",
                    );
                }
            }
            Err(error) => findings.add(what, State::Bad, error.to_string()),
        }
    }
}

/// The whole way to a third-party MCP server, and where it ends.
async fn third_party(
    settings: &Settings,
    providers: &Providers,
    provider: &Provider,
    what: &str,
    findings: &mut Findings,
) {
    let (found, endpoints) = match providers.examine(&provider.id).await {
        Ok(found) => found,
        Err(fault) => return findings.add(what, State::Bad, fault.to_string()),
    };
    let issuer = endpoints.issuer.as_deref().unwrap_or_default();
    let uris = redirect_uris(settings, provider).join(", ");
    findings.add(
        what,
        State::Good,
        format!(
            "its authorization server is {issuer}; tokens are for {}; redirect URIs {uris}",
            found.resource
        ),
    );
    if provider.issuer.is_none() && found.issuers.len() > 1 {
        findings.add(
            what,
            State::Note,
            format!(
                "it names {} authorization servers, and the first is used; issuer = \"...\" chooses one",
                found.issuers.len()
            ),
        );
    }
}

/// What is connected by a form cannot be tried without somebody's key.
fn secret_forms(settings: &Settings, findings: &mut Findings) {
    for form in &settings.secret_forms {
        let detail = match form.probe {
            Some(_) => "users enter its values, and each is tried when it is entered; nothing was tried now",
            None => "users enter its values, and nothing can try them",
        };
        findings.add(format!("provider {}", form.id), State::Note, detail);
    }
}

/// Whether the public URL leads to a Consentry. It may not run yet, so that is a note.
async fn public_url(settings: &Settings, outbound: &Outbound, findings: &mut Findings) {
    let Ok(url) = url::Url::parse(&settings.public_url.join("/livez")) else { return };
    let (state, detail) = match outbound.get_json(&url, None).await {
        Ok(answer) if answer.status.is_success() => (State::Good, "answers for /livez".to_owned()),
        Ok(answer) => (State::Note, format!("answers {} for /livez", answer.status.as_u16())),
        Err(error) => (State::Note, format!("cannot be reached from here: {error}")),
    };
    findings.add("public URL", state, detail);
}
