//! The catalogue as an operator meets it: a folder of entries of their own, laid over the built-in ones, listed, shown,
//! linted and compared by the real program.

mod words;

use std::{fs, path::Path, process::Command};

use serde_json::Value;

/// What an operator writes from a provider's documentation.
const ACME: &str = r#"
name = "Acme"
category = "project"
authorization_endpoint = "https://acme.example/oauth/authorize"
token_endpoint = "https://acme.example/oauth/token"
docs_url = "https://acme.example/docs/oauth"
confidence = "medium"
setup = ["Open the developer page and add an app with {callback_url}."]

[probe]
url = "https://api.acme.example/me"
id = "id"
label = "email"

[scope_words]
read = "See your projects"
"#;

/// A directory with settings and a folder of entries.
struct Place(tempfile::TempDir);

impl Place {
    fn new(providers: &str, entries: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path().join("entries")).unwrap();
        for (name, text) in entries {
            fs::write(place.path().join("entries").join(name), text).unwrap();
        }
        fs::write(place.path().join("consentry.toml"), format!("catalogue = \"entries\"\n{providers}"))
            .unwrap();
        let key = place.json(&["key", "new", "--id", "k"], 0);
        fs::write(place.path().join("consentry.key"), key["key"].as_str().unwrap()).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn json(&self, arguments: &[&str], code: i32) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_consentry"))
            .args(arguments)
            .args(["--json", "--config", "consentry.toml"])
            .current_dir(self.path())
            .env_clear()
            .env("SECRET", "the-secret-of-an-app")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// An operator's provider of this entry.
fn provider(id: &str) -> String {
    format!(
        "[[providers]]\nid = \"{id}\"\npreset = \"{id}\"\nclient_id = \"c\"\nclient_secret = {{ env = \"SECRET\" }}\n"
    )
}

fn of_id<'a>(list: &'a Value, id: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap()
}

#[test]
fn an_entry_of_the_folder_is_a_provider_without_a_new_program() {
    let settings = format!("{}scopes = [\"read\"]\n", provider("acme"));
    let place = Place::new(
        &settings,
        &[("acme.toml", ACME), ("github.toml", "extends = \"github\"\nname = \"Our GitHub\"\n")],
    );
    place.json(&["check"], 0);

    let list = place.json(&["providers", "list"], 0);
    assert_eq!(list["configured"][0]["name"], "Acme");
    assert_eq!(of_id(&list["catalogue"], "acme")["source"], "overlay");
    let github = of_id(&list["catalogue"], "github");
    assert_eq!((&github["name"], &github["replaces_built_in"]), (&"Our GitHub".into(), &true.into()));

    let shown = place.json(&["providers", "show", "github"], 0);
    assert_eq!(shown["keys"]["name"]["from"], "entries/github.toml");
    assert_eq!(shown["keys"]["token_endpoint"]["from"], "github.toml");
    let shown = place.json(&["providers", "show", "acme"], 0);
    assert_eq!(shown["keys"]["scopes"]["from"], "settings");
    assert_eq!(shown["keys"]["probe"]["from"], "entries/acme.toml");
    assert!(!shown.to_string().contains("the-secret"));

    let diff = place.json(&["providers", "diff"], 0);
    assert_eq!(of_id(&diff["entries"], "acme")["what"], "added");
    let github = of_id(&diff["entries"], "github");
    assert_eq!(github["changes"].as_array().unwrap().len(), 1);
    assert_eq!(github["changes"][0]["after"], "Our GitHub");
}

/// A mistake stops the start of whoever uses the entry, and of nobody else; lint tells of all.
#[test]
fn a_mistake_in_an_entry_is_told_with_its_file_and_line() {
    let wrong = ACME.replace("[probe]", "colour = \"red\"\n[probe]");
    let line = wrong.lines().position(|line| line.starts_with("colour")).unwrap() + 1;
    let entries = [("acme.toml", wrong.as_str())];
    let unused = Place::new("", &entries);
    unused.json(&["check"], 0);
    let used = Place::new(&provider("acme"), &entries);
    let errors = &used.json(&["check"], 2)["errors"];
    assert_eq!(errors.as_array().unwrap().len(), 1, "{errors}");
    assert_eq!(errors[0]["key"], format!("catalogue: entries/acme.toml:{line}: colour"));

    let linted = used.json(&["providers", "lint"], 1);
    let error = linted["findings"].as_array().unwrap().iter().find(|one| one["level"] == "error").unwrap();
    assert_eq!((&error["key"], &error["line"]), (&"colour".into(), &line.into()));
    used.json(&["providers", "lint", "entries/acme.toml"], 1);
    fs::write(used.path().join("entries/acme.toml"), ACME).unwrap();
    let linted = used.json(&["providers", "lint", "entries"], 0);
    assert_eq!((&linted["entries"], &linted["findings"]), (&1.into(), &Value::Array(vec![])));
}

#[test]
fn a_folder_that_cannot_be_used_stops_the_start() {
    let place = Place::new("", &[("Not An Id.toml", ACME)]);
    let errors = &place.json(&["check"], 2)["errors"];
    assert!(errors[0]["problem"].as_str().unwrap().starts_with("must be called id.toml"), "{errors}");
    fs::remove_dir_all(place.path().join("entries")).unwrap();
    let errors = &place.json(&["check"], 2)["errors"];
    assert_eq!(errors[0]["key"], "catalogue: entries", "{errors}");
}
