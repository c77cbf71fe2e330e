//! Forms, and the calls that they make.

use std::{collections::BTreeMap, time::Duration};

use consentry_fakes::{Answer, KeyService, Listen};

use super::{Checked, SecretForms, Typed, fingerprint};
use crate::{
    clock::Clock,
    config::{SecretForm, form_of},
    connection::Account,
    outbound::{AddressPolicy, Outbound, OutboundSettings},
    subject::Subject,
};

const KEY: &str = "key-of-octocat-0123456789";

/// A form of these fields, as the settings make it.
pub(super) fn form(fields: &str) -> SecretForm {
    let host = if fields.contains("\"host\"") { "{host}" } else { "acme.example" };
    form_of(&format!("fields = [{fields}]\nuse = {{ base_url = \"https://{host}/v1\" }}\n"))
}

struct World {
    service: KeyService,
    clock: Clock,
    outbound: Outbound,
}

impl World {
    async fn start() -> Self {
        let service = KeyService::start(Listen::default()).await.unwrap();
        service.add_key(KEY, "acct_1", "octocat@example.com");
        let clock = Clock::manual();
        let policy = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
        let settings = OutboundSettings { policy, ..OutboundSettings::default() };
        let outbound = Outbound::new(settings, clock.clone()).unwrap();
        Self { service, clock, outbound }
    }

    /// A form with an e-mail address and a key, with this `use` and `probe`; `{base}` is the service.
    fn form(&self, usage: &str, probe: &str) -> SecretForm {
        let fields = "{ name = \"email\", label = \"E\", secret = false, optional = true }, { name = \"key\", label = \"K\" }";
        let text = format!("fields = [{fields}]\nuse = {usage}\nprobe = {probe}\n");
        form_of(&text.replace("{base}", self.service.base_url()))
    }

    async fn check(&self, form: &SecretForm, key: &str) -> Result<Checked, Duration> {
        let forms = SecretForms::new(vec![form.clone()], self.outbound.clone(), self.clock.clone());
        forms.check(&alice(), form, &typed(form, key)).await
    }
}

fn alice() -> Subject {
    Subject::new("https://id.example", "alice").unwrap()
}

fn typed(form: &SecretForm, key: &str) -> Typed {
    let values = BTreeMap::from([("email", "octocat@example.com"), ("key", key)]);
    Typed::read(form, |name| values.get(name).copied()).unwrap()
}

fn octocat() -> Checked {
    let label = Some("octocat@example.com".to_owned());
    Checked::Works(Account { id: Some("acct_1".to_owned()), label })
}

/// The strict service refuses a key that stands elsewhere, or in two places.
#[tokio::test]
async fn a_key_is_sent_where_its_service_wants_it() {
    let world = World::start().await;
    let probe = |path: &str| format!("{{ url = \"{{base}}/{path}\", id = \"id\", label = \"email\" }}");
    for (usage, probe) in [
        ("{ headers = { Authorization = \"Bearer {key}\" } }", probe("bearer")),
        ("{ headers = { X-Api-Key = \"{key}\" } }", probe("header")),
        ("{ basic = { username = \"{email}\", password = \"{key}\" } }", probe("basic")),
        ("{ query = { api_key = \"{key}\" } }", probe("query")),
        ("{}", probe("query?api_key={key}")),
        ("{ headers = { Authorization = \"Bearer {key}\" } }", "{ url = \"{base}/header\", headers = { X-Api-Key = \"{key}\" }, id = \"id\", label = \"email\" }".to_owned()),
        (
            "{ headers = { Authorization = \"{key}\" } }",
            "{ method = \"POST\", url = \"{base}/graphql\", body = '{\"query\":\"{ viewer { id email } }\"}', \
             ok = { path = \"data.viewer.id\" }, id = \"data.viewer.id\", label = \"data.viewer.email\" }"
                .to_owned(),
        ),
    ] {
        let form = world.form(usage, &probe);
        assert_eq!(world.check(&form, KEY).await, Ok(octocat()), "{usage} {probe}");
        assert_eq!(world.check(&form, "another-key").await, Ok(Checked::Rejected), "{usage} {probe}");
    }
    let strange = "key with spaces & signs=%+\"\\";
    world.service.add_key(strange, "acct_1", "octocat@example.com");
    let form = world.form("{ query = { api_key = \"{key}\" } }", &probe("query"));
    assert_eq!(world.check(&form, strange).await, Ok(octocat()));
    let form = world.form("{}", &probe("query?api_key={key}"));
    assert_eq!(world.check(&form, strange).await, Ok(octocat()));
}

#[tokio::test]
async fn what_a_service_says_is_sorted() {
    let world = World::start().await;
    let form = world.form(
        "{ headers = { X-Api-Key = \"{key}\" } }",
        "{ url = \"{base}/header\", id = \"id\", label = \"email\", ok = { path = \"email\" } }",
    );
    for (answer, expected) in [
        (Answer::status(401), Checked::Rejected),
        (Answer::status(403), Checked::Rejected),
        (Answer::json(200, &serde_json::json!({ "error": "no" })), Checked::Rejected),
        (Answer::status(404), Checked::Unknown("status")),
        (Answer::status(500), Checked::Unknown("failing")),
        (Answer::too_many("3"), Checked::Unknown("busy")),
        (Answer::redirect("http://127.0.0.1:1/"), Checked::Unknown("redirect")),
        (Answer::html(200), Checked::Unknown("not_json")),
    ] {
        world.service.next_answer("/header", answer);
        assert_eq!(world.check(&form, KEY).await, Ok(expected));
    }
    world.service.next_answer("/header", Answer::drop_connection());
    assert!(matches!(world.check(&form, KEY).await, Ok(Checked::Unknown(_))));
    world.service.accept_connections(false).await.unwrap();
    assert!(matches!(world.check(&form, KEY).await, Ok(Checked::Unknown(_))));
}

/// R89: what a person types leads nowhere that the client may not go.
#[tokio::test]
async fn r89_an_address_that_may_not_be_called_is_none() {
    let mut world = World::start().await;
    let policy = AddressPolicy { allow_loopback: false, ..AddressPolicy::default() };
    let settings = OutboundSettings { policy, ..OutboundSettings::default() };
    world.outbound = Outbound::new(settings, world.clock.clone()).unwrap();
    let form = world.form("{ headers = { X-Api-Key = \"{key}\" } }", "{ url = \"{base}/header\" }");
    assert_eq!(world.check(&form, KEY).await, Ok(Checked::Address));
    assert!(world.service.log().entries().is_empty());
}

/// R70: nobody sorts keys by us, and nobody is held up by another.
#[tokio::test]
async fn r70_one_persons_tries_are_counted() {
    let world = World::start().await;
    let form = world.form("{ headers = { X-Api-Key = \"{key}\" } }", "{ url = \"{base}/header\" }");
    let mut many = form.clone();
    many.requests_per_second = 1_000;
    let forms = SecretForms::new(vec![many], world.outbound.clone(), world.clock.clone());
    let typed = typed(&form, "another-key");
    for _ in 0..super::CHECKS_PER_MINUTE {
        assert_eq!(forms.check(&alice(), &form, &typed).await, Ok(Checked::Rejected));
    }
    let wait = forms.check(&alice(), &form, &typed).await.unwrap_err();
    let bob = Subject::new("https://id.example", "bob").unwrap();
    assert_eq!(forms.check(&bob, &form, &typed).await, Ok(Checked::Rejected));
    world.clock.advance(wait);
    assert_eq!(forms.check(&alice(), &form, &typed).await, Ok(Checked::Rejected));
}

/// R87: a service gets so many requests a second; who waits too long is told that nobody knows.
#[tokio::test]
async fn r87_a_service_is_not_asked_more_often_than_it_likes() {
    let world = World::start().await;
    let mut form = world.form("{ headers = { X-Api-Key = \"{key}\" } }", "{ url = \"{base}/header\" }");
    form.requests_per_second = 1;
    let forms = SecretForms::new(vec![form.clone()], world.outbound.clone(), world.clock.clone());
    let typed = typed(&form, KEY);
    assert!(matches!(forms.check(&alice(), &form, &typed).await, Ok(Checked::Works(_))));
    let (forms, clock) = (forms.clone(), world.clock.clone());
    let owner = alice();
    let second = forms.check(&owner, &form, &typed);
    let time = async {
        tokio::task::yield_now().await;
        clock.advance(super::LINE);
    };
    let (second, ()) = tokio::join!(second, time);
    // Either its turn came first or the end of its patience; never a second request within the second.
    assert!(matches!(second, Ok(Checked::Works(_) | Checked::Unknown("crowded"))), "{second:?}");
}

/// R63: another host is another place, another path is not.
#[test]
fn r63_a_fingerprint_tells_places_apart() {
    let of = |url: &str| {
        fingerprint(&form_of(&format!(
            "fields = [{{ name = \"k\", label = \"K\" }}]\nuse = {{ base_url = \"{url}\" }}\n"
        )))
    };
    assert_eq!(of("https://acme.example/v1"), of("https://ACME.example/v2"));
    assert_ne!(of("https://acme.example/v1"), of("https://acme.example.evil.example/v1"));
}
