//! Keys that people type: the whole way from the question to the hand-out, through the real router and a strict service.

mod attacks;
mod codes;
mod values;

use consentry::{
    config::{Advice, FormField, FormProbe, Pattern, ProbeMethod, SecretForm, Settings, Usage},
    template::Template,
};
use consentry_fakes::{Answer, KeyService, Listen};
use serde_json::{Value, json};

use crate::{
    engine::Database,
    rows::rows,
    world::{Api, Browser, FILES, Form, Link, World},
};

on_both_engines! {
    a_key_is_checked_stored_and_handed_out,
    r50_a_key_that_nobody_can_check_is_typed_again,
    a_key_that_is_refused_later_is_asked_for_again,
    another_key_takes_the_place_of_the_first,
    one_key_answers_every_open_question,
    a_no_is_a_no,
    a_key_is_removed_here_and_stays_there,
    what_a_form_is_without_a_probe,
    r63_a_key_is_not_handed_out_for_another_place,
}

/// The form's id.
pub(crate) const KEYS: &str = "example-keys";
/// A key of octocat's.
pub(crate) const KEY: &str = "sk_live_octocat_0123456789";
/// A key that the service does not know.
pub(crate) const WRONG: &str = "sk_live_nobody_9876543210";

/// "Example Keys" with octocat's key.
pub(crate) async fn service() -> KeyService {
    let service = KeyService::start(Listen::on([127, 0, 0, 6])).await.unwrap();
    service.add_key(KEY, "acct_1", "octocat@example.com");
    service
}

/// A browser of a person's who has opened a link and signed in.
async fn at_the_form(world: &World, person: &str, url: &str) -> Browser {
    let mut browser = world.browser();
    browser.opens(url).await;
    browser.signs_in(person).await;
    browser
}

/// A browser of alice's that sees her link's form.
async fn sees(world: &World, link: &Link) -> Browser {
    let alice = at_the_form(world, "alice", &link.url).await;
    alice.page().is("secret-form");
    alice
}

/// A browser of alice's in which she has connected by her key.
async fn connected(world: &World, api: &Api) -> Browser {
    let link = api.asks("alice", KEYS).await;
    let mut alice = sees(world, &link).await;
    alice.types(KEY).await.is("connected");
    alice
}

/// A field for a secret.
fn field(name: &str, label: &str) -> FormField {
    FormField {
        name: name.to_owned(),
        label: label.to_owned(),
        help: None,
        example: None,
        secret: true,
        optional: false,
        pattern: None,
        choices: [].into(),
        default: None,
        suffixes: Vec::new(),
        wrong: Vec::new(),
        test: None,
        in_host: false,
    }
}

/// Its form, as an operator's settings would have it.
pub(crate) fn form(base: &str) -> SecretForm {
    let key = FormField {
        help: Some("Begins with sk_.".to_owned()),
        pattern: Some(Pattern::new("^sk_").unwrap()),
        wrong: vec![Advice {
            pattern: Pattern::new("^pk_").unwrap(),
            advice: "This is a publishable key. Copy the secret key.".to_owned(),
        }],
        test: Some(Pattern::new("^sk_test_").unwrap()),
        ..field("api_key", "API key")
    };
    let plan = FormField {
        secret: false,
        optional: true,
        choices: [("a".to_owned(), "Plan A".to_owned()), ("b".to_owned(), "Plan B".to_owned())].into(),
        ..field("plan", "Plan")
    };
    SecretForm {
        id: KEYS.parse().unwrap(),
        name: "Example Keys".to_owned(),
        fields: vec![plan, key],
        what: Some("A key can read everything in its workspace.".to_owned()),
        key_url: Some("https://keys.example/settings".parse().unwrap()),
        probe: Some(FormProbe {
            method: ProbeMethod::Get,
            url: Template::new(&format!("{base}/bearer")),
            headers: [].into(),
            query: [].into(),
            basic: None,
            body: None,
            id: Some("id".to_owned()),
            label: Some("email".to_owned()),
            ok: None,
            rejected: vec![401, 403],
        }),
        probe_note: None,
        usage: Usage {
            base_url: Some(Template::new(&format!("{base}/v1"))),
            headers: [("Authorization".to_owned(), Template::new("Bearer {api_key}"))].into(),
            ..Usage::default()
        },
        manage_url: Some("https://keys.example/settings".parse().unwrap()),
        docs_url: None,
        requests_per_second: 100,
        concurrent_requests: 8,
    }
}

/// Lets every MCP server ask for a form.
pub(crate) fn offer(settings: &mut Settings, form: SecretForm) {
    for server in &mut settings.mcp_servers {
        server.providers.push(form.id.clone());
    }
    settings.secret_forms.push(form);
}

/// A world in which a key can be typed.
pub(crate) async fn start(db: Database) -> (World, KeyService) {
    let service = service().await;
    let base = service.base_url().to_owned();
    (World::start_with(db, |settings| offer(settings, form(&base))).await, service)
}

impl Browser {
    /// The page's form for a key.
    #[track_caller]
    pub(crate) fn key_form(&self) -> Form {
        self.page().form_to("/secret")
    }

    /// Types a key and sends the form.
    pub(crate) async fn types(&mut self, key: &str) -> &crate::world::Page {
        let form = self.key_form().set("api_key", key);
        self.submits(form).await;
        self.follows().await
    }
}

async fn a_key_is_checked_stored_and_handed_out(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let offered = api.get("/v1/providers").await.expect(200);
    let ours = offered["providers"].as_array().unwrap().iter().find(|one| one["id"] == KEYS).unwrap();
    let view = json!({ "id": KEYS, "kind": "secret", "name": "Example Keys", "scopes": [], "allowed_scopes": [], "variables": [] });
    assert_eq!(*ours, view);
    let link = api.asks("alice", KEYS).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await.is("sign-in");
    let page = alice.signs_in("alice").await.is("secret-form").clone();
    assert_eq!(page.status, 200);
    assert!(page.text().contains("A key can read everything in its workspace."), "{}", page.text());
    assert!(page.html.contains("type=\"password\"") && page.html.contains("https://keys.example/settings"));

    let rejected = alice.types(WRONG).await.is("secret-rejected").clone();
    assert_eq!(rejected.status, 422);
    assert!(!rejected.html.contains(WRONG));
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");

    let form = alice.key_form().set("api_key", &format!("  {KEY}\n")).set("plan", "b");
    let answer = alice.submits(form).await.clone();
    assert_eq!((answer.status, answer.location().unwrap().query()), (reqwest::StatusCode::SEE_OTHER, None));
    let done = alice.follows().await.is("connected").clone();
    assert!(
        done.text().contains("octocat@example.com") && !done.text().contains("without"),
        "{}",
        done.text()
    );
    alice.reloads().await.is("connected");

    let ready = api.resolves("alice", KEYS).await;
    let base = format!("{}/v1", service.base_url());
    let credential = json!({
        "kind": "secret",
        "fields": { "api_key": KEY, "plan": "b" },
        "use": { "base_url": base, "headers": { "Authorization": format!("Bearer {KEY}") }, "query": {} },
    });
    assert_eq!((&ready["status"], &ready["credential"]), (&json!("ready"), &credential));
    assert_eq!(ready["connection"]["account"], json!({ "id": "acct_1", "label": "octocat@example.com" }));
    let told: Vec<String> = api.told().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(told, ["connection.created", "elicitation.completed"]);
    let kept = api.get("/v1/connections?sub=alice").await.expect(200)["connections"][0].clone();
    assert_eq!(
        (&kept["kind"], &kept["unchecked"], &kept["test_mode"]),
        (&json!("secret"), &json!(false), &json!(false))
    );
    assert_eq!(kept["expires_at"], Value::Null);
    // Two checks, each with what was typed, and nothing else was ever asked.
    assert_eq!(service.log().entries().len(), 2);
    // A token says how it is used, too.
    let link = api.asks("alice", FILES).await;
    alice.opens(&link.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
    let credential = api.resolves("alice", FILES).await["credential"].clone();
    let header = format!("Bearer {}", credential["access_token"].as_str().unwrap());
    assert_eq!(
        credential["use"],
        json!({ "base_url": null, "headers": { "Authorization": header }, "query": {} })
    );
}

/// R50: nothing is given back, and nothing is kept between two posts.
async fn r50_a_key_that_nobody_can_check_is_typed_again(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", KEYS).await;
    let mut alice = sees(&world, &link).await;
    service.always_answer("/bearer", Answer::status(500));
    let before = rows(&world.database).await;
    let test = "sk_test_octocat_0123456789";
    let page = alice.types(test).await.is("secret-unchecked").clone();
    assert_eq!(page.status, 200);
    assert!(!page.html.contains(test));
    let after = rows(&world.database).await;
    assert_eq!((&before["elicitations"], &before["attempts"]), (&after["elicitations"], &after["attempts"]));
    assert!(after["connections"].is_empty());

    // Nothing was kept: saving wants it once more.
    let form = alice.key_form().press("save", "unchecked");
    let page = alice.submits(form).await.is("secret-rejected").clone();
    assert_eq!(page.status, 422);
    assert!(rows(&world.database).await["connections"].is_empty());
    alice.types(test).await.is("secret-unchecked");
    let form = alice.key_form().set("api_key", test).press("save", "unchecked");
    alice.submits(form).await;
    let done = alice.follows().await.is("connected").text();
    assert!(done.contains("6789") && !done.contains(test), "{done}");
    let ready = api.resolves("alice", KEYS).await;
    assert_eq!(ready["credential"]["fields"], json!({ "api_key": test }));
    assert_eq!(ready["connection"]["account"], json!({ "id": null, "label": "…6789" }));
    let kept = api.get("/v1/connections?sub=alice").await.expect(200)["connections"][0].clone();
    assert_eq!((&kept["unchecked"], &kept["test_mode"]), (&json!(true), &json!(true)));
    assert_eq!(api.elicitation(&link.id).await["reason"], "unchecked");
}

/// A key cannot be renewed: one report is enough.
async fn a_key_that_is_refused_later_is_asked_for_again(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let mut alice = connected(&world, &api).await;
    let held = api.resolves("alice", KEYS).await["connection"].clone();
    let report =
        json!({ "connection": held["id"], "generation": held["generation"], "problem": "unauthorized" });
    let reported = api.post("/v1/credentials/report", &report).await.expect(200);
    assert_eq!(reported["connection"]["status"], "needs_reconnect");
    let again = api.asks("alice", KEYS).await;
    assert_eq!(service.log().entries().len(), 1, "nobody has tried the key again");
    let page = alice.opens(&again.url).await.is("secret-form").text();
    assert!(page.contains("octocat@example.com"), "{page}");
    service.add_key("sk_live_another_0123456789", "acct_1", "octocat@example.com");
    alice.types("sk_live_another_0123456789").await.is("connected");
    let ready = api.resolves("alice", KEYS).await;
    assert_eq!(ready["credential"]["fields"]["api_key"], "sk_live_another_0123456789");
    assert_eq!(ready["connection"]["id"], held["id"]);
    let told: Vec<String> = api.told().await.into_iter().map(|(kind, _)| kind).collect();
    assert!(
        told.contains(&"connection.needs_reconnect".to_owned())
            && told.contains(&"connection.updated".to_owned())
    );
}

async fn another_key_takes_the_place_of_the_first(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let mut alice = connected(&world, &api).await;
    let made = api.post("/v1/elicitations", &api.question("alice", KEYS)).await.expect(201);
    alice.opens(made["elicitation"]["url"].as_str().unwrap()).await.is("already-connected");
    alice.agrees().await.is("secret-form");
    assert!(alice.page().text().contains("octocat@example.com"), "{}", alice.page().text());
    service.add_key("sk_live_hubot_0123456789", "acct_2", "hubot@example.com");
    alice.types("sk_live_hubot_0123456789").await.is("connected");
    let ready = api.resolves("alice", KEYS).await;
    assert_eq!(ready["connection"]["account"]["id"], "acct_2");
    // And the connection that is there will do where it is kept.
    let made = api.post("/v1/elicitations", &api.question("alice", KEYS)).await.expect(201);
    alice.opens(made["elicitation"]["url"].as_str().unwrap()).await.is("already-connected");
    alice.presses("/keep").await.is("connected");
    // On their own page they change it without being asked.
    let id = ready["connection"]["id"].as_str().unwrap().to_owned();
    alice.opens(&format!("{}/connections/{id}", world.public_url)).await.is("connection");
    alice.presses("/reconnect").await.is("secret-form");
}

async fn one_key_answers_every_open_question(db: Database) {
    let (world, _service) = start(db).await;
    let api = world.api("files");
    let mut other = api.question("alice", KEYS);
    other["client"]["ref"] = json!("another client");
    let (one, two) =
        (api.asks("alice", KEYS).await, api.post("/v1/credentials/resolve", &other).await.expect(200));
    let mut alice = world.browser();
    alice.opens(&one.url).await;
    alice.signs_in("alice").await;
    alice.types(KEY).await.is("connected");
    for id in [&*one.id, two["elicitation"]["id"].as_str().unwrap()] {
        assert_eq!(api.elicitation(id).await["state"], "completed");
    }
    let ended = api.told().await.into_iter().filter(|(kind, _)| kind == "elicitation.completed").count();
    assert_eq!(ended, 2);
}

async fn a_no_is_a_no(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", KEYS).await;
    let mut alice = sees(&world, &link).await;
    let form = alice.key_form().set("api_key", KEY);
    alice.declines().await.is("declined");
    // What is sent after it changes nothing, and nobody is asked.
    alice.submits(form).await;
    alice.follows().await.is("declined");
    assert!(service.log().entries().is_empty() && rows(&world.database).await["connections"].is_empty());
}

async fn a_key_is_removed_here_and_stays_there(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    let mut alice = connected(&world, &api).await;
    alice.opens(&format!("{}/connections?server=files", world.public_url)).await.is("connections");
    let text = alice.page().text();
    assert!(text.contains("octocat@example.com") && text.contains("until you remove it there"), "{text}");
    let page = alice.presses("/disconnect").await.is("disconnected").clone();
    assert!(
        page.text().contains("until you remove it there")
            && page.html.contains("https://keys.example/settings")
    );
    let rows = rows(&world.database).await;
    assert!(rows["connections"].is_empty() && rows["revocations"].is_empty());
    assert_eq!(service.log().entries().len(), 1, "the service was told nothing");
    api.asks("alice", KEYS).await;
}

async fn what_a_form_is_without_a_probe(db: Database) {
    let (service, mut form) = (service().await, form("https://keys.example"));
    form.probe = None;
    let world = World::start_with(db, |settings| offer(settings, form.clone())).await;
    let api = world.api("files");
    let link = api.asks("alice", KEYS).await;
    let mut alice = sees(&world, &link).await;
    assert!(alice.page().text().contains("cannot check"), "{}", alice.page().text());
    // A publishable key is stored only by who insists.
    let page = alice.types("pk_live_octocat_0123456789").await.is("secret-unchecked").text();
    assert!(page.contains("This is a publishable key. Copy the secret key."), "{page}");
    alice.types(WRONG).await.is("connected");
    assert!(service.log().entries().is_empty());
    assert_eq!(api.resolves("alice", KEYS).await["credential"]["fields"]["api_key"], WRONG);
}

async fn r63_a_key_is_not_handed_out_for_another_place(db: Database) {
    let (world, service) = start(db).await;
    let api = world.api("files");
    connected(&world, &api).await;
    let base = service.base_url().to_owned();
    let moved = world
        .replica_with(|settings| {
            let mut form = form(&base);
            form.usage.base_url = Some(Template::new("https://keys.evil.example/v1"));
            offer(settings, form);
        })
        .await;
    let elsewhere = world.api_at(&moved, "files");
    let asked = elsewhere.asks("alice", KEYS).await;
    assert_eq!(elsewhere.elicitation(&asked.id).await["state"], "pending");
    moved.stops().await;
    let kept = api.get("/v1/connections?sub=alice").await.expect(200)["connections"][0].clone();
    assert_eq!((&kept["status"], &kept["reason"]), (&json!("needs_reconnect"), &json!("provider_changed")));
    let told: Vec<String> = api.told().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(told.iter().filter(|kind| *kind == "connection.needs_reconnect").count(), 1);
}
