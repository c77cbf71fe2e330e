//! This room against a strict provider over real HTTP.

mod account;
mod dialects;
mod discovery;
mod exchange;
mod leaving;
mod refresh;
mod revocation;

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use consentry_fakes::{self as fakes, Client, Listen};
use url::Url;

use super::{Departure, Providers};
use crate::{
    clock::Clock,
    config::Provider,
    outbound::{AddressPolicy, Limits, Outbound, OutboundSettings},
    random::Random,
    scope::Scopes,
    secret::Secret,
};

const CALLBACK: &str = "http://localhost/callback/files/acme";
/// As it is by default.
const TRIAL: Duration = Duration::from_secs(30);
const CLIENT_SECRET: &str = "s:%+&é";

/// A provider that is discovered from `issuer`.
pub(super) fn acme(issuer: &str) -> Provider {
    Provider {
        id: "acme".parse().unwrap(),
        name: "Acme".into(),
        mcp: None,
        issuer: Some(issuer.into()),
        issuer_always_sent: false,
        authorization_endpoint: None,
        token_endpoint: None,
        revocation_endpoint: None,
        revocation: None,
        userinfo_endpoint: None,
        client_id: "client".into(),
        client_secret: Some(Secret::new(CLIENT_SECRET)),
        client_authentication: None,
        sending: crate::config::Sending::default(),
        scopes: Scopes::default(),
        allowed_scopes: Scopes::default(),
        scope_separator: ' ',
        scope_words: BTreeMap::new(),
        scope_aliases: BTreeMap::new(),
        scope_includes: BTreeMap::new(),
        authorize_params: BTreeMap::new(),
        account_chooser_params: BTreeMap::new(),
        account_hint_param: "login_hint".to_owned(),
        resource: Vec::new(),
        pkce: true,
        form_post: false,
        cancel_codes: Vec::new(),
        error_classes: std::collections::BTreeMap::new(),
        refresh_idle: None,
        consent_lifetime: None,
        requests_per_second: 20,
        concurrent_requests: 16,
        probe: None,
        usage: None,
        reads: crate::config::Reads::default(),
        manage_url: None,
        docs_url: None,
        blueprint: None,
        variables: crate::values::Values::default(),
    }
}

/// "Example Files" and Consentry's side of it.
struct World {
    fake: fakes::Provider,
    clock: Clock,
    provider: Provider,
    providers: Providers,
}

/// One way to the provider and back.
struct Trip {
    verifier: Secret,
    code: Secret,
    asked: Scopes,
}

impl World {
    async fn start() -> Self {
        let fake = fakes::Provider::start(Listen::on(Ipv4Addr::new(127, 0, 0, 3))).await.unwrap();
        fake.register(Client::basic("client", CLIENT_SECRET).redirect_uri(CALLBACK));
        let provider = acme(fake.base_url());
        Self::with(fake, provider)
    }

    fn with(fake: fakes::Provider, provider: Provider) -> Self {
        let clock = Clock::manual();
        let providers = Providers::new(vec![provider.clone()], TRIAL, outbound(clock.clone()), clock.clone());
        Self { fake, clock, provider, providers }
    }

    /// The same with a provider that is configured otherwise.
    fn changed(self, change: impl FnOnce(&mut Provider)) -> Self {
        let Self { fake, mut provider, .. } = self;
        change(&mut provider);
        Self::with(fake, provider)
    }

    /// The same with its endpoints in the configuration.
    fn configured(self) -> Self {
        let (authorization, token) = (self.url("/authorize"), self.url("/token"));
        self.changed(|provider| {
            provider.authorization_endpoint = Some(authorization);
            provider.token_endpoint = Some(token);
        })
    }

    async fn leave(&self, verifier: &Secret, scopes: &Scopes) -> Url {
        let departure = Departure {
            state: &Random.secret(),
            verifier,
            redirect_uri: CALLBACK,
            scopes,
            account_hint: None,
        };
        self.providers.departure(&self.provider, departure).await.unwrap()
    }

    /// Octocat allows it.
    async fn travel(&self) -> Trip {
        let (verifier, asked) = (Random.secret(), Scopes::new(["files.read", "profile"]).unwrap());
        let left = self.leave(&verifier, &asked).await;
        let back = self.fake.approve(left.as_str(), "octocat").unwrap();
        Trip { verifier, code: parameter(&back, "code"), asked }
    }

    async fn exchange(&self, trip: &Trip) -> Result<super::Tokens, super::ProviderError> {
        self.providers.exchange(&self.provider, &trip.code, &trip.verifier, CALLBACK, &trip.asked).await
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(self.fake.base_url()).unwrap().join(path).unwrap()
    }
}

/// A client that reaches this machine.
fn outbound(clock: Clock) -> Outbound {
    outbound_within(clock, Limits::default())
}

fn outbound_within(clock: Clock, limits: Limits) -> Outbound {
    let policy = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
    Outbound::new(OutboundSettings { policy, limits, ..OutboundSettings::default() }, clock).unwrap()
}

fn parameter(url: &str, name: &str) -> Secret {
    let url = Url::parse(url).unwrap();
    let found = url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    Secret::new(found.unwrap_or_else(|| panic!("no {name}")))
}

#[test]
fn the_challenge_is_that_of_rfc_7636_appendix_b() {
    let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_eq!(super::challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}
