//! A provider whose address depends on who asks: from whom it is known, where it leads, and where it never leads.
//!
//! "Example Files" answers at two hosts here, each with accounts and a token log of its own.

mod changed;
mod hostile;

use std::{net::Ipv4Addr, time::Duration};

use consentry_fakes::{Client, Listen, Provider};
use serde_json::{Value, json};

use crate::{
    engine::Database,
    world::{Browser, FILES, SERVERS, World, link},
};

on_both_engines!(
    the_person_is_asked_once_and_everything_goes_there,
    what_does_not_fit_is_said_and_nothing_is_kept,
    what_was_typed_can_be_changed,
    what_may_not_be_called_is_said_at_the_field,
    what_must_be_there_first_is_told_with_what_was_typed,
    the_caller_says_it_and_nobody_is_asked,
    r110_a_caller_is_told_what_it_may_say,
    the_response_says_it,
);

/// The two hosts.
const FIRST: &str = "127.0.0.3";
const SECOND: &str = "127.0.0.13";

/// Everybody, and "Example Files" at its second host.
struct Stand {
    world: World,
    second: Provider,
}

impl Stand {
    /// With this table of the variable `site`, which stands for the host.
    async fn with(db: Database, table: &str) -> Self {
        let world = World::start_written(db, |text| templated(&text, table)).await;
        let port = world.files.address().port();
        let second = Listen::on(Ipv4Addr::new(127, 0, 0, 13)).port(port);
        let second = Provider::named("Example Files", second).await.unwrap();
        let secret = world.secrets().into_iter().find(|(what, _)| *what == "the client secret").unwrap().1;
        let client = Client::basic("consentry", &secret).name("Consentry");
        let uris = SERVERS.map(|server| format!("{}/callback/{server}/{FILES}", world.public_url));
        second.register(uris.into_iter().fold(client, Client::redirect_uri));
        Self { world, second }
    }

    async fn new(db: Database) -> Self {
        Self::with(db, &format!("hosts = [\"{FIRST}\", \"{SECOND}\"]")).await
    }

    /// What a tool gets for alice, with these variables.
    async fn resolves(&self, variables: Value) -> Value {
        self.tries(variables).await.expect(200)
    }

    async fn tries(&self, variables: Value) -> crate::world::Answer {
        let api = self.world.api("files");
        let mut question = api.question("alice", FILES);
        if !variables.is_null() {
            question["variables"] = variables;
        }
        api.post("/v1/credentials/resolve", &question).await
    }

    /// Alice at the link of this answer.
    async fn opens(&self, answer: &Value) -> Browser {
        assert_eq!(answer["status"], "action_required", "{answer}");
        let mut alice = self.world.browser();
        alice.opens(&link(&answer["elicitation"]).url).await;
        alice.signs_in("alice").await;
        alice
    }

    /// How often codes and refresh tokens came to each host.
    fn redeemed(&self) -> [usize; 2] {
        [&self.world.files, &self.second].map(|fake| fake.token_log().len())
    }
}

/// The settings with a variable in every address of "Example Files".
pub(crate) fn templated(text: &str, table: &str) -> String {
    let (before, files) = text.split_once(&format!("id = \"{FILES}\"")).expect("the provider's table");
    let (files, after) = files.split_once("[[providers]]").expect("another behind it");
    let issuer = files.split('"').find(|text| text.starts_with("http://")).expect("its issuer");
    let files = format!("{files}use = {{ base_url = \"{issuer}/api\" }}\n");
    let files = files.replace(&format!("//{FIRST}:"), "//{site}:");
    let variable = format!(
        "[providers.variables.site]\nlabel = \"Your site\"\nhelp = \"As in your browser.\"\nexample = \"{SECOND}\"\n{table}\n"
    );
    format!("{before}id = \"{FILES}\"{files}{variable}\n[[providers]]{after}")
}

async fn types(alice: &mut Browser, value: &str) {
    let form = alice.page().form_to("/input").set("site", value);
    alice.submits(form).await;
    alice.follows().await;
}

async fn the_person_is_asked_once_and_everything_goes_there(db: Database) {
    let stand = Stand::new(db).await;
    let mut alice = stand.opens(&stand.resolves(Value::Null).await).await;
    let text = alice.page().is("needs-input").text();
    assert!(text.contains("Your site") && text.contains("As in your browser."), "{text}");
    types(&mut alice, " https://127.0.0.13/ ").await;
    let text = alice.page().is("ready").text();
    assert!(text.contains(&format!("Your site : {SECOND}")), "{text}");
    assert!(text.contains(&format!("confirm at {SECOND}")), "{text}");
    alice.connects("octocat").await.is("connected");
    let answer = stand.resolves(Value::Null).await;
    assert_eq!(answer["status"], "ready", "{answer}");
    let api = answer["credential"]["use"]["base_url"].as_str().unwrap();
    assert!(api.starts_with(&format!("http://{SECOND}:")) && api.ends_with("/api"), "{api}");
    assert_eq!(stand.redeemed(), [0, 1]);
    // A refresh, and asking for more: nobody is asked again where it is.
    stand.second.clock().advance(Duration::from_secs(3_700));
    stand.world.advance(Duration::from_secs(3_700));
    assert_eq!(stand.resolves(Value::Null).await["connection"]["generation"], 2);
    assert_eq!(stand.redeemed(), [0, 2]);
    let api = stand.world.api("files");
    let mut more = api.question("alice", FILES);
    more["scopes"] = json!(["files.write"]);
    let more = api.post("/v1/credentials/resolve", &more).await.expect(200);
    alice.opens(&link(&more["elicitation"]).url).await;
    if alice.page().name().as_deref() == Some("sign-in") {
        alice.signs_in("alice").await;
    }
    alice.page().is("ready");
    alice.connects("octocat").await.is("connected");
    assert_eq!(stand.redeemed(), [0, 3]);
    // And its end.
    let id = answer["connection"]["id"].as_str().unwrap();
    api.delete(&format!("/v1/connections/{id}")).await.expect(204);
    stand.world.until(async || !stand.second.revocations().entries().is_empty()).await;
    assert!(stand.world.files.revocations().entries().is_empty());
}

async fn what_does_not_fit_is_said_and_nothing_is_kept(db: Database) {
    let stand = Stand::new(db).await;
    let answer = stand.resolves(Value::Null).await;
    let mut alice = stand.opens(&answer).await;
    for (value, said) in [
        ("", "Fill in Your site"),
        ("evil.example", "Your site must be one of these"),
        ("127.0.0.13#", "must be one of these: 127.0.0.3, 127.0.0.13"),
        (&"a".repeat(300), "too long"),
    ] {
        let form = alice.page().form_to("/input").set("site", value);
        let page = alice.submits(form).await;
        assert_eq!(page.status.as_u16(), 200);
        let text = page.is("needs-input").text();
        assert!(text.contains(said) && text.contains("needs another look"), "{value}: {text}");
        assert!(page.html.contains("aria-invalid=\"true\"") && page.html.contains("role=\"alert\""));
    }
    let id = link(&answer["elicitation"]).id.parse().unwrap();
    let asked = stand.world.database.store.elicitation(id).await.unwrap().unwrap();
    assert!(asked.typed.is_empty());
    // Whoever agrees without an answer is asked for it.
    let form = alice.page().form_to("/input");
    let continued = format!("{}/connect/{id}/continue", stand.world.public_url);
    let form = crate::world::Form { action: continued.parse().unwrap(), ..form };
    alice.submits(form).await;
    alice.follows().await;
    alice.page().is("needs-input");
    assert_eq!(stand.redeemed(), [0, 0]);
}

/// R73: the outbound guard refuses it, and the person is told where they can mend it, before any trip.
async fn what_may_not_be_called_is_said_at_the_field(db: Database) {
    let stand = Stand::with(db, &format!("hosts = [\"{FIRST}\", \"{SECOND}\", \"10.11.12.13\"]")).await;
    let answer = stand.resolves(Value::Null).await;
    let mut alice = stand.opens(&answer).await;
    let form = alice.page().form_to("/input").set("site", "10.11.12.13");
    let page = alice.submits(form).await.is("needs-input");
    let text = page.text();
    assert!(text.contains("Your site leads to an address that we may not use"), "{text}");
    assert!(page.html.contains("aria-invalid=\"true\" aria-describedby=\"wrong-1"), "{}", page.html);
    let id = link(&answer["elicitation"]).id.parse().unwrap();
    assert!(stand.world.database.store.elicitation(id).await.unwrap().unwrap().typed.is_empty());
    // The other one will do; and if it is the rules that change meanwhile, it is said there too.
    types(&mut alice, FIRST).await;
    let mut raw = crate::contract::raw::Raw::connect(&stand.world.database).await;
    assert_eq!(raw.run("UPDATE elicitations SET typed_json = '{\"site\":\"10.11.12.13\"}'").await, 1);
    let form = alice.page().form_to("/continue");
    let text = alice.submits(form).await.is("needs-input").text();
    assert!(text.contains("leads to an address that we may not use"), "{text}");
    types(&mut alice, FIRST).await;
    alice.connects("octocat").await.is("connected");
}

async fn what_must_be_there_first_is_told_with_what_was_typed(db: Database) {
    let first = format!(
        "hosts = [\"{FIRST}\", \"{SECOND}\"]\n[[providers.preconditions]]\nkind = \"admin\"\n\
         text = \"An administrator of {{site}} must have allowed it.\"\nurl = \"https://{{site}}/apps\"\n"
    );
    let stand = Stand::with(db, &first).await;
    let mut alice = stand.opens(&stand.resolves(Value::Null).await).await;
    types(&mut alice, SECOND).await;
    let page = alice.page().is("ready");
    let text = page.text();
    assert!(text.contains("An administrator of 127.0.0.13 must have allowed it."), "{text}");
    assert!(page.links().iter().any(|(url, _)| url.as_str() == "https://127.0.0.13/apps"));
}

async fn what_was_typed_can_be_changed(db: Database) {
    let stand = Stand::with(
        db,
        &format!(
            "[providers.variables.site.choices]\n\"{FIRST}\" = \"Europe\"\n\"{SECOND}\" = \"Elsewhere\""
        ),
    )
    .await;
    let mut alice = stand.opens(&stand.resolves(Value::Null).await).await;
    assert!(alice.page().is("needs-input").html.contains("type=\"radio\""));
    types(&mut alice, FIRST).await;
    assert!(alice.page().is("ready").text().contains("Your site : Europe"));
    let change =
        alice.page().links().into_iter().find(|(_, words)| words == "Change what you entered").unwrap().0;
    alice.clicks(change).await.is("needs-input");
    types(&mut alice, SECOND).await;
    assert!(alice.page().is("ready").text().contains("Your site : Elsewhere"));
    alice.connects("hubot").await.is("connected");
    assert_eq!(stand.redeemed(), [0, 1]);
}

async fn the_caller_says_it_and_nobody_is_asked(db: Database) {
    let stand = Stand::new(db).await;
    let second = json!({ "site": SECOND });
    let mut alice = stand.opens(&stand.resolves(second.clone()).await).await;
    alice.page().is("ready");
    assert!(!alice.page().text().contains("Change what you entered"), "it is not hers to say");
    alice.connects("octocat").await.is("connected");
    assert_eq!(stand.resolves(second).await["status"], "ready");
    assert_eq!(stand.resolves(Value::Null).await["status"], "ready", "what is connected will do");
    // At another site it is another thing: she is asked, and what is there goes on until she has agreed.
    let first = json!({ "site": FIRST });
    let answer = stand.resolves(first.clone()).await;
    let mut alice = stand.opens(&answer).await;
    alice.page().is("ready");
    assert_eq!(stand.resolves(Value::Null).await["status"], "ready");
    alice.connects("octocat").await.is("connected");
    assert_eq!(stand.resolves(first).await["status"], "ready");
    assert_eq!(stand.redeemed(), [1, 1]);
}

async fn r110_a_caller_is_told_what_it_may_say(db: Database) {
    let stand = Stand::new(db).await;
    for (variables, code, field) in [
        (json!({ "site": "evil.example" }), "variable_invalid", "variables.site"),
        (json!({ "site": "" }), "variable_invalid", "variables.site"),
        (json!({ "subdomain": "acme" }), "variable_not_allowed", "variables"),
        (json!({ "site": 1 }), "invalid_field", "variables.site"),
    ] {
        let body = stand.tries(variables.clone()).await.expect(400);
        assert_eq!((&body["code"], &body["field"]), (&json!(code), &json!(field)), "{variables}: {body}");
        assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    }
    let api = stand.world.api("files");
    let mut several = api.question("alice", FILES);
    several["provider"].take();
    let several = json!({
        "requests": [{ "provider": FILES, "variables": { "site": "a b" } }],
        "subject": several["subject"], "client": several["client"],
    });
    let body = api.post("/v1/credentials/resolve", &several).await.expect(400);
    assert_eq!(body["field"], "requests[0].variables.site", "{body}");
}

/// As Zoho does it: the response names the data centre whose token endpoint knows the code.
async fn the_response_says_it(db: Database) {
    let stand =
        Stand::with(db, &format!("hosts = [\"{FIRST}\", \"{SECOND}\"]\nfrom_callback = \"accounts-server\""))
            .await;
    let mut alice = stand.opens(&stand.resolves(Value::Null).await).await;
    alice.page().is("ready");
    for (said, outcome) in [
        (Some("https://evil.example"), "provider-unreachable"),
        (None, "provider-unreachable"),
        (Some("https://127.0.0.13"), "connected"),
    ] {
        alice.agrees().await.is("leaving");
        let authorize = alice.page().refresh().unwrap().to_string();
        let there = authorize.replace(&format!("//{FIRST}:"), &format!("//{SECOND}:"));
        let back = stand.second.approve(&there, "octocat").unwrap();
        let back = said.map_or(back.clone(), |said| format!("{back}&accounts-server={said}"));
        // RFC 9207: the issuer is the one that she left for.
        let back = back.replace("127.0.0.13%3A", "127.0.0.3%3A");
        alice.opens(&back).await.is(outcome);
        if outcome != "connected" {
            assert_eq!(stand.redeemed(), [0, 0], "{said:?}");
            let answer = stand.resolves(Value::Null).await;
            alice.opens(&link(&answer["elicitation"]).url).await.is("ready");
        }
    }
    assert_eq!(stand.redeemed(), [0, 1]);
    assert_eq!(stand.resolves(Value::Null).await["status"], "ready");
}
