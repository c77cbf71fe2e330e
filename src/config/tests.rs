//! The whole of loading: layers, findings, and that no value is ever told.

mod kinds;
mod mcp_endpoint;
mod mcp_providers;
mod mcp_servers;
mod sending;

use std::{fs, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};

mod variables;

use super::*;
use crate::random::Random;

/// A directory with a key file, and an environment with the secrets that the example names.
struct World {
    dir: tempfile::TempDir,
    pairs: Vec<(String, String)>,
}

const CANARY: &str = "canary-4711";

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        for name in ["consentry.key", "acme"] {
            fs::write(path(name), BASE64_STANDARD.encode(Random.bytes::<32>())).unwrap();
        }
        let pem = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(path("acme.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
        fs::write(path("public.crt"), pem.cert.pem()).unwrap();
        fs::write(path("public.key"), pem.signing_key.serialize_pem()).unwrap();
        let secret = || Random.secret().expose().to_owned();
        let pairs = [
            ("ID_CLIENT_SECRET", secret()),
            ("FILES_API_KEY", secret()),
            ("FILES_WEBHOOK_SECRET", format!("whsec_{}", BASE64_STANDARD.encode(Random.bytes::<32>()))),
            ("GITHUB_CLIENT_SECRET", secret()),
            ("TOOLS_REGISTRATION_TOKEN", secret()),
        ];
        Self { pairs: pairs.map(|(name, value)| (name.to_owned(), value)).to_vec(), dir }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Loads `text` with the file names of the example moved into the directory.
    fn load(&self, text: &str) -> Result<Settings, Vec<ConfigError>> {
        let mut text = text.replace("/run/secrets/acme_client_secret", &self.path("acme"));
        text = text.replace("/etc/consentry/logos/acme.svg", &self.path("acme.svg"));
        text = text.replace("/run/secrets/photos_client_key.pem", &self.path("public.key"));
        for name in ["consentry.key", "public.crt", "public.key", "internal.crt", "internal.key"] {
            let file = name.replace("internal", "public");
            text = text.replace(&format!("\"{name}\""), &format!("\"{}\"", self.path(&file)));
        }
        if !text.contains("[encryption]") {
            text.push_str(&format!(
                "\n[encryption]\nkeys = [{{ id = \"k\", file = \"{}\" }}]\n",
                self.path("consentry.key")
            ));
        }
        let path = self.path("consentry.toml");
        fs::write(&path, text).unwrap();
        load(Some(path.as_ref()), &Environment::new(self.pairs.clone()))
    }

    /// The keys that are refused; fails when a value is told.
    fn refused(&self, text: &str) -> Vec<String> {
        let errors = self.load(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        for error in &errors {
            let told = error.to_string();
            assert!(!told.contains("canary"), "{told}");
            assert!(self.pairs.iter().all(|(_, value)| value.len() < 12 || !told.contains(value)), "{told}");
        }
        errors.into_iter().map(|error| error.key).collect()
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }
}

/// The example with the settings that have no default in place.
fn uncommented() -> String {
    let lines = DEFAULTS.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') && !setting.is_empty() => setting,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds lines to a section of a small file of two servers and a provider.
fn with(section: &str, lines: &str) -> String {
    BASE.replace(&format!("{section}\n"), &format!("{section}\n{lines}\n"))
}

const BASE: &str = r#"
public_url = "https://connect.example.com"
[listen]
[database]
[lifetimes]
[limits]
[outbound]
[log]
[operator]
[[authorization_servers]]
id = "main"
issuer = "https://id.example.com"
client_id = "consentry"
[[mcp_servers]]
id = "files"
name = "Files"
resource = "https://files.example.com/mcp"
authorization_server = "main"
api_keys = [{ env = "FILES_API_KEY" }]
providers = ["acme"]
[[providers]]
id = "acme"
issuer = "https://acme.example.com"
client_id = "consentry"
client_secret = { env = "GITHUB_CLIENT_SECRET" }
scopes = ["read"]
"#;

#[test]
fn the_defaults_are_the_example() {
    let world = World::new();
    let settings = world.load("").unwrap();
    assert_eq!(settings.public_url.origin(), "http://localhost:8080");
    assert_eq!(settings.listen.public.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.database.url.expose(), "sqlite:consentry.db");
    assert_eq!(settings.lifetimes.elicitation, Duration::from_secs(1_800));
    assert_eq!(settings.limits.body_bytes, 65_536);
    assert!(settings.providers.is_empty());
}

#[test]
fn the_example_with_all_of_its_settings_is_good() {
    let world = World::new();
    let settings = world.load(&uncommented()).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(settings.mcp_servers[0].providers.len(), 2);
    let acme = settings.providers.iter().find(|provider| provider.id.as_str() == "acme").unwrap();
    assert_eq!(acme.allowed_scopes.to_text(), "read write");
    let github = settings.providers.iter().find(|provider| provider.id.as_str() == "github").unwrap();
    let revocation = github.revocation.as_ref().unwrap();
    assert_eq!(revocation.url.as_str(), "https://api.github.com/applications/Iv1.0123456789abcdef/grant");
    assert!(github.revokes_by_access_token() && acme.revokes_by_access_token());
    assert_eq!(acme.sending.required_scopes.to_text(), "offline_access");
    let photos = settings.providers.iter().find(|provider| provider.id.as_str() == "photos").unwrap();
    assert!(photos.sending.client_key.is_some() && photos.sending.renewal.is_some());
    assert!(settings.operator.help_url.is_some() && settings.listen.public_tls.is_some());
}

#[test]
fn the_environment_lies_over_the_file() {
    let world = World::new()
        .set("CONSENTRY_DATABASE__URL", "postgres://consentry:canary-4711@db/consentry")
        .set("CONSENTRY_DATABASE__CONNECTIONS", "7")
        .set("CONSENTRY_DATABASE__MIGRATE", "false")
        .set("CONSENTRY_OPERATOR__HELP_URL", "https://help.example.com/")
        .set("CONSENTRY_LIFETIMES__ELICITATION", "15m")
        .set("CONSENTRY_PORT", "tcp://10.0.0.1:80");
    let settings = world.load(&with("[database]", "connections = 9")).unwrap();
    assert!(settings.database.url.expose().starts_with("postgres://"));
    assert_eq!((settings.database.connections, settings.database.migrate), (7, false));
    assert_eq!(settings.lifetimes.elicitation, Duration::from_secs(900));
    assert!(settings.operator.help_url.is_some());
}

#[test]
fn a_variable_that_sets_nothing_is_named() {
    for (name, key) in [
        ("CONSENTRY_DATABASE__URLL", "database.urll"),
        ("CONSENTRY_DATABASE__CONNECTIONS", "CONSENTRY_DATABASE__CONNECTIONS"),
        ("CONSENTRY_LISTEN__TRUSTED_PROXIES", "CONSENTRY_LISTEN__TRUSTED_PROXIES"),
        ("CONSENTRY_PROVIDERS__0__ID", "CONSENTRY_PROVIDERS__0__ID"),
        ("CONSENTRY_NOTHING__AT_ALL", "CONSENTRY_NOTHING__AT_ALL"),
        ("CONSENTRY_DATABASE_URL", "CONSENTRY_DATABASE_URL"),
        ("CONSENTRY_PUBLICURL", "CONSENTRY_PUBLICURL"),
        ("CONSENTRY_PUBLIC_URL", "public_url"),
        ("CONSENTRY_LIFETIMES__SESSION", "lifetimes.session"),
    ] {
        assert_eq!(World::new().set(name, CANARY).refused(BASE)[0], key, "{name}");
    }
}

/// What looks like a setting and is none would leave it at its default: it is named with what was meant.
#[test]
fn a_variable_that_is_misspelt_is_told_with_the_nearest_setting() {
    let errors = World::new().set("CONSENTRY_DATABASE_URL", CANARY).load(BASE).unwrap_err();
    assert_eq!(errors[0].problem, "is no setting; it is spelt CONSENTRY_DATABASE__URL");
    let errors = World::new().set("CONSENTRY_DATABSE__URL", CANARY).load(BASE).unwrap_err();
    assert_eq!(errors[0].problem, "is no setting; the nearest is CONSENTRY_DATABASE__URL");
    let world = World::new()
        .set("CONSENTRY_PUBLIC_URI", CANARY)
        .set("CONSENTRY_CONFG", CANARY)
        .set("CONSENTRY_FILES_KEY", Random.secret().expose())
        // Made by Kubernetes of services' names.
        .set("CONSENTRY_PORT_8080_TCP_ADDR", CANARY)
        .set("CONSENTRY_DB_SERVICE_HOST", CANARY)
        .set("CONSENTRY_DB_SERVICE_PORT_PG", CANARY);
    let settings = world.load(&BASE.replace("FILES_API_KEY", "CONSENTRY_FILES_KEY")).unwrap();
    assert_eq!(settings.ignored.len(), 2, "{:?}", settings.ignored);
    let told = notes(&settings).join("\n");
    assert!(
        told.contains("CONSENTRY_CONFG is no setting, and is ignored; the nearest is CONSENTRY_CONFIG"),
        "{told}"
    );
    assert!(told.contains("CONSENTRY_PUBLIC_URI") && told.contains("CONSENTRY_PUBLIC_URL"), "{told}");
    assert!(!told.contains("canary"));
}

/// An outage must not be read as the end of every user's grant.
#[test]
fn a_code_that_means_later_is_not_terminal() {
    for (code, class, good) in [
        ("temporarily_unavailable", "terminal", false),
        ("server_error", "terminal", false),
        ("Slow_Down", "terminal", false),
        ("temporarily_unavailable", "transient", true),
        ("temporarily_unavailable", "operator", true),
        ("token_inactive", "terminal", true),
    ] {
        let loaded =
            World::new().load(&with("[[providers]]", &format!("error_classes = {{ {code} = \"{class}\" }}")));
        match loaded {
            Ok(_) => assert!(good, "{code}"),
            Err(errors) => assert!(!good && errors[0].key == "providers[0].error_classes", "{errors:?}"),
        }
    }
}

/// R103: every one of these stops the start; the key is named and the value is not.
#[test]
fn r103_what_cannot_work_is_refused_by_its_key() {
    let world = World::new()
        .set("SHORT", "canary-short")
        .set("DULL", &"a".repeat(40))
        .set("ZEROS", &format!("whsec_{}", BASE64_STANDARD.encode([0; 32])))
        .set("TYPED", &format!("whsec_{}", BASE64_STANDARD.encode("canarycanarycanarycanary")))
        .set("WEAK", &BASE64_STANDARD.encode([7; 32]));
    for (section, lines, key) in [
        ("[listen]", "public = \"canary\"", "listen.public"),
        ("[listen]", "internal = \"127.0.0.1:8080\"", "listen.internal"),
        ("[listen]", "trusted_proxies = [\"0.0.0.0/0\"]", "listen.trusted_proxies[0]"),
        ("[listen]", "trusted_proxies = [\"canary\"]", "listen.trusted_proxies[0]"),
        (
            "[listen]",
            "public_tls = { certificate = \"nowhere.crt\", key = \"public.key\" }",
            "listen.public_tls.certificate",
        ),
        ("[listen]", "drain = 25", "listen.drain"),
        ("[listen]", "connections = 0", "listen.connections"),
        ("[database]", "url = \"mysql://canary\"", "database.url"),
        ("[database]", "url = \"sqlite::memory:\"", "database.url"),
        ("[database]", "url = \"postgres://u:canary@h/d\"", "database.url"),
        ("[database]", "url = { value = \"postgres://u:canary@h/d\" }", "database.url"),
        ("[database]", "connections = \"canary\"", "database.connections"),
        ("[database]", "colour = \"canary\"", "database.colour"),
        ("[lifetimes]", "attempt = \"31m\"", "lifetimes.attempt"),
        ("[lifetimes]", "parked = \"11m\"", "lifetimes.parked"),
        ("[lifetimes]", "elicitation = \"25h\"", "lifetimes.elicitation"),
        ("[lifetimes]", "session_idle = \"13h\"", "lifetimes.session_idle"),
        ("[limits]", "body = \"1B\"", "limits.body"),
        ("[outbound]", "allowed = [\"*.canary\"]", "outbound.allowed[0]"),
        ("[outbound]", "allowed = [\"0.0.0.0/0\"]", "outbound.allowed[0]"),
        ("[outbound]", "proxy = \"socks5://canary\"", "outbound.proxy"),
        ("[outbound]", "proxy = \"http://u:canary@proxy:1\"", "outbound.proxy"),
        ("[outbound]", "ca_files = [\"nowhere.pem\"]", "outbound.ca_files[0]"),
        ("[log]", "filter = \"canary=canary=\"", "log.filter"),
        ("[log]", "format = \"canary\"", "log.format"),
        ("[operator]", "name = \"\"", "operator.name"),
        ("[operator]", "help_url = \"javascript:canary\"", "operator.help_url"),
        ("[[authorization_servers]]", "leeway = \"61s\"", "authorization_servers[0].leeway"),
        ("[[authorization_servers]]", "algorithms = [\"HS256\"]", "authorization_servers[0].algorithms[0]"),
        ("[[authorization_servers]]", "algorithms = [\"none\"]", "authorization_servers[0].algorithms[0]"),
        ("[[authorization_servers]]", "algorithms = []", "authorization_servers[0].algorithms"),
        ("[[authorization_servers]]", "subject_claim = \"Email\"", "authorization_servers[0].subject_claim"),
        (
            "[[authorization_servers]]",
            "access_tokens = \"introspection\"",
            "authorization_servers[0].client_secret",
        ),
        ("[[authorization_servers]]", "client_secret = \"canary\"", "authorization_servers[0].client_secret"),
        (
            "[[authorization_servers]]",
            "client_secret = { value = \"canary\" }",
            "authorization_servers[0].client_secret",
        ),
        (
            "[[authorization_servers]]",
            "client_secret = { env = \"UNSET\" }",
            "authorization_servers[0].client_secret",
        ),
        (
            "[[authorization_servers]]",
            "client_authentication = \"client_secret_post\"",
            "authorization_servers[0].client_authentication",
        ),
        (
            "[[mcp_servers]]",
            "webhook = { url = \"http://hooks.example.com/\", secret = { env = \"FILES_WEBHOOK_SECRET\" } }",
            "mcp_servers[0].webhook.url",
        ),
        (
            "[[mcp_servers]]",
            "webhook = { url = \"https://hooks.example.com/\", secret = { env = \"SHORT\" } }",
            "mcp_servers[0].webhook.secret",
        ),
        (
            "[[mcp_servers]]",
            "webhook = { url = \"https://hooks.example.com/\", secret = { env = \"ZEROS\" } }",
            "mcp_servers[0].webhook.secret",
        ),
        (
            "[[mcp_servers]]",
            "webhook = { url = \"https://hooks.example.com/\", secret = { env = \"TYPED\" } }",
            "mcp_servers[0].webhook.secret",
        ),
        ("[[providers]]", "client_authentication = \"none\"", "providers[0].client_authentication"),
        ("[[providers]]", "allowed_scopes = [\"write\"]", "providers[0].allowed_scopes"),
        ("[[providers]]", "preset = \"canary\"", "providers[0].preset"),
        ("[[providers]]", "resource = [\"canary\"]", "providers[0].resource[0]"),
        (
            "[[providers]]",
            "probe = { url = \"https://acme.example.com/me\", id = \"id\", label = \"l\", headers = { Authorization = \"canary\" } }",
            "providers[0].probe.headers",
        ),
        (
            "[[providers]]",
            "revocation = { url = \"https://acme.example.com/r\", headers = { Authorization = \"canary\" } }",
            "providers[0].revocation.headers",
        ),
        (
            "[[providers]]",
            "revocation = { url = \"https://acme.example.com/r\", gone = [200] }",
            "providers[0].revocation.gone",
        ),
        (
            "[[providers]]",
            "revocation = { url = \"http://acme.example.com/canary\" }",
            "providers[0].revocation.url",
        ),
        ("[[providers]]", "colour = \"canary\"", "providers[0].colour"),
        ("[[providers]]", "answer = { scope = \"{canary}\" }", "providers[0].answer.scope"),
        ("[[providers]]", "answer = { scheme = \"a canary\" }", "providers[0].answer.scheme"),
        ("[[providers]]", "answer = { default_life = \"1s\" }", "providers[0].answer.default_life"),
        (
            "[[providers]]",
            "answer = { ok = { path = \"ok\", equals = [1] } }",
            "providers[0].answer.ok.equals",
        ),
        ("[[providers]]", "slots = { Canary = { access_token = \"a\" } }", "providers[0].slots.Canary"),
        (
            "[[providers]]",
            "captures = { access_token = { from = \"answer\", path = \"a\" } }",
            "providers[0].captures.access_token",
        ),
        (
            "[[providers]]",
            "captures = { api = { from = \"answer\", path = \"a\", url_suffixes = [\".com\"] } }",
            "providers[0].captures.api.url_suffixes",
        ),
        (
            "[[providers]]",
            "captures = { api = { from = \"choice\", path = \"a\" } }",
            "providers[0].captures.api.from",
        ),
        // R73: what an answer says never chooses the host of a call, unless it is held against a list.
        (
            "[[providers]]",
            "captures = { api = { from = \"answer\", path = \"a\" } }\n\
             probe = { url = \"https://{api}.example.com/me\", id = \"id\", label = \"l\" }",
            "providers[0].probe.url",
        ),
        (
            "[[providers]]",
            "captures = { api = { from = \"answer\", path = \"a\" } }\n\
             probe = { url = \"{api}/me\", id = \"id\", label = \"l\" }",
            "providers[0].probe.url",
        ),
        (
            "[[providers]]",
            "probe = { url = \"https://a.example.com/{canary}\", id = \"id\", label = \"l\" }",
            "providers[0].probe.url",
        ),
        (
            "[[providers]]",
            "probe = { url = \"https://a.example.com/\", id = \"{id\", label = \"l\" }",
            "providers[0].probe.id",
        ),
        (
            "[[providers]]",
            "probe = { url = \"https://a.example.com/\", id = \"id\", label = \"l\", body = \"{}\" }",
            "providers[0].probe.body",
        ),
        ("[[providers]]", "choice = { id = \"id\", label = \"name\", as = \"site\" }", "providers[0].choice"),
        ("[[providers]]", "picker = \"\"", "providers[0].picker"),
        ("[[providers]]", "picker = \"Choose at {canary}.\"", "providers[0].picker"),
        (
            "[[providers]]",
            "preconditions = [{ kind = \"admin\", text = \"At {canary}.\" }]",
            "providers[0].preconditions[0].text",
        ),
        ("[[providers]]", "logo = 4", "providers[0].logo"),
        ("[[providers]]", "logo = \"/nothing/here.svg\"", "providers[0].logo"),
        ("[[providers]]", "logo = \"/\"", "providers[0].logo"),
        (
            "[[providers]]",
            "preconditions = [{ kind = \"admin\", text = \"x\", url = \"http://canary\" }]",
            "providers[0].preconditions[0].url",
        ),
    ] {
        assert_eq!(world.refused(&with(section, lines)), [key], "{section} {lines}");
    }
    for (from, to, key) in [
        ("\"https://connect.example.com\"", "\"http://connect.example.com\"", "public_url"),
        ("\"https://connect.example.com\"", "\"canary\"", "public_url"),
        ("\"https://connect.example.com\"", "4", "public_url"),
        (
            "issuer = \"https://id.example.com\"",
            "issuer = \"http://id.example.com\"",
            "authorization_servers[0].issuer",
        ),
        (
            "issuer = \"https://id.example.com\"",
            "issuer = \"https://id.example.com?canary\"",
            "authorization_servers[0].issuer",
        ),
        ("id = \"main\"", "id = \"Canary/\"", "authorization_servers[0].id"),
        (
            "authorization_server = \"main\"",
            "authorization_server = \"canary\"",
            "mcp_servers[0].authorization_server",
        ),
        // Without a sign-in, and only then, nobody need be there to sign in at.
        ("authorization_server = \"main\"", "", "mcp_servers[0].authorization_server"),
        (
            "authorization_server = \"main\"",
            "identity = \"code\"\nrequire_subject_token = true",
            "mcp_servers[0].require_subject_token",
        ),
        ("providers = [\"acme\"]", "providers = [\"canary\"]", "mcp_servers[0].providers[0]"),
        ("providers = [\"acme\"]", "providers = [\"acme\", \"acme\"]", "mcp_servers[0].providers[1]"),
        ("\"FILES_API_KEY\"", "\"SHORT\"", "mcp_servers[0].api_keys[0]"),
        ("\"FILES_API_KEY\"", "\"DULL\"", "mcp_servers[0].api_keys[0]"),
        ("[{ env = \"FILES_API_KEY\" }]", "[]", "mcp_servers[0].api_keys"),
        ("scopes = [\"read\"]", "scopes = [\"canary canary\"]", "providers[0].scopes"),
        ("[listen]", "colour = 1\n[listen]", "colour"),
        ("[listen]", "[encryption]\nkeys = []\n[listen]", "encryption.keys"),
        ("[listen]", "[encryption]\nkeys = [{ id = \"k\", env = \"WEAK\" }]\n[listen]", "encryption.keys[0]"),
        (
            "[listen]",
            "[encryption]\nkeys = [{ id = \"k\", env = \"SHORT\" }]\n[listen]",
            "encryption.keys[0]",
        ),
        (
            "[listen]",
            "[encryption]\nkeys = [{ id = \"k\", file = \"nowhere.key\" }]\n[listen]",
            "encryption.keys[0]",
        ),
        ("[listen]", "[encryption]\nkeys = [{ id = \"k\" }]\n[listen]", "encryption.keys[0]"),
    ] {
        assert_eq!(world.refused(&BASE.replace(from, to))[0], key, "{to}");
    }
}

/// R73: an endpoint is https, or http on this machine in development.
#[test]
fn r73_endpoints_are_web_addresses() {
    let world = World::new();
    for url in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ssh://canary",
        "http://acme.example.com/a",
        "http://127.0.0.1:9/a",
        "https://u:canary@acme.example.com/",
        "https://acme.example.com/#canary",
        "canary",
        "//canary/a",
    ] {
        for field in ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "userinfo_endpoint"]
        {
            let keys = world.refused(&with("[[providers]]", &format!("{field} = \"{url}\"")));
            assert_eq!(keys, [format!("providers[0].{field}")], "{url}");
        }
    }
    let local = with("[[providers]]", "token_endpoint = \"http://127.0.0.2:9/t\"")
        .replace("https://connect.example.com", "http://localhost:8080");
    world.load(&local).unwrap();
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let keys = World::new().refused(
        &with("[limits]", "headers = 1").replace("id = \"acme\"", "id = \"A\"").replace("\"sub\"", "3"),
    );
    assert_eq!(keys, ["limits.headers", "providers[0].id", "mcp_servers[0].providers[0]"]);
}

/// R103, R117: a file that is not TOML tells its line and nothing of what stands there.
#[test]
fn r117_a_file_that_cannot_be_parsed_is_not_quoted() {
    let world = World::new();
    for text in ["a = \"canary", "canary canary", "x = canary", "[canary", "secret = 'canary\n'"] {
        let errors = world.load(&format!("\n{text}")).unwrap_err();
        assert!(errors[0].problem.starts_with("is not TOML: line "), "{errors:?}");
        assert!(!errors[0].to_string().contains("canary"), "{errors:?}");
    }
    let missing = load(Some("nowhere.toml".as_ref()), &Environment::default()).unwrap_err();
    assert_eq!(missing[0].to_string(), "nowhere.toml cannot be read: entity not found");
}

#[test]
fn the_first_key_is_made_once_and_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let environment = Environment::new([
        ("CONSENTRY_CONFIG", path("consentry.toml").display().to_string()),
        ("CONSENTRY_DATABASE__URL", format!("sqlite:{}", path("a.db").display())),
    ]);
    fs::write(path("consentry.toml"), "[encryption]\nkeys = [{ id = \"k\", file = \"nowhere.key\" }]")
        .unwrap();
    assert_eq!(first_key(None, &environment, Random).unwrap(), FirstKey::NotNeeded);
    assert_eq!(load(None, &environment).unwrap_err()[0].key, "encryption.keys[0]");

    let key = path("consentry.key");
    let defaults = DEFAULTS.replace("consentry.key", &key.display().to_string());
    fs::write(path("consentry.toml"), "").unwrap();
    let made = |defaults: &str| first_key::of_defaults(defaults, None, &environment, Random);
    assert_eq!(made(&defaults), Ok(FirstKey::Made(key.clone())));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let first = fs::read(&key).unwrap();
    assert_eq!(made(&defaults), Ok(FirstKey::NotNeeded));
    assert_eq!(fs::read(&key).unwrap(), first);

    fs::remove_file(&key).unwrap();
    fs::write(path("a.db"), "").unwrap();
    let errors = made(&defaults).unwrap_err();
    assert!(errors[0].problem.contains("give its key back"), "{errors:?}");
    assert!(!key.exists());
}
