//! What an entry of the catalogue says, read here a second time and independently: a test that asked the program what
//! an entry means would agree with it whatever it answered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;
use toml::Table;

/// An entry, with what its provider answers.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) id: String,
    table: Table,
    answers: Table,
}

/// Every entry, ordered by id.
pub(super) fn all() -> Vec<Fact> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tables = BTreeMap::new();
    for file in fs::read_dir(root.join("providers")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "toml") {
            let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
            tables.insert(id, read(&path));
        }
    }
    let whole = |id: &String, own: &Table| {
        let answers = root.join(format!("tests/it/catalogue/answers/{id}.toml"));
        let table = match own.get("extends").and_then(toml::Value::as_str) {
            Some(base) => tables[base].clone().into_iter().chain(own.clone()).collect(),
            None => own.clone(),
        };
        Fact { id: id.clone(), table, answers: if answers.exists() { read(&answers) } else { Table::new() } }
    };
    tables.iter().map(|(id, own)| whole(id, own)).collect()
}

/// Every file of recorded answers, by the id that it is for.
pub(super) fn answers() -> BTreeMap<String, Table> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/catalogue/answers");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path))).collect()
}

fn read(path: &Path) -> Table {
    fs::read_to_string(path).unwrap().parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A pair of a query or a form.
pub(super) type Pair = (String, String);

/// An answer as it is sent.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) body: String,
}

fn find<'a>(table: &'a Table, path: &str) -> Option<&'a toml::Value> {
    let mut steps = path.split('.');
    let first = table.get(steps.next()?)?;
    steps.try_fold(first, |at, step| at.get(step))
}

impl Fact {
    /// All that it says.
    pub(super) fn whole(&self) -> Value {
        serde_json::to_value(&self.table).unwrap()
    }

    /// Of this kind: `oauth2` where it says nothing.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.text("kind").unwrap_or("oauth2") == kind
    }

    pub(super) fn client_id(&self) -> String {
        format!("CID.{}.0", self.id)
    }

    pub(super) fn client_secret(&self) -> String {
        format!("SEC.{}.s3cr3t", self.id)
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        find(&self.table, path)?.as_str()
    }

    pub(super) fn says(&self, path: &str) -> bool {
        find(&self.table, path).is_some()
    }

    pub(super) fn is_true(&self, path: &str) -> Option<bool> {
        find(&self.table, path)?.as_bool()
    }

    pub(super) fn list(&self, path: &str) -> Vec<&str> {
        let list = find(&self.table, path).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).collect()
    }

    pub(super) fn numbers(&self, path: &str) -> Vec<u16> {
        let list = find(&self.table, path).and_then(toml::Value::as_array);
        let numbers = list.into_iter().flatten().filter_map(toml::Value::as_integer);
        numbers.filter_map(|one| u16::try_from(one).ok()).collect()
    }

    pub(super) fn tables(&self, path: &str) -> Vec<&Table> {
        let list = find(&self.table, path).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_table).collect()
    }

    pub(super) fn table(&self, path: &str) -> Option<&Table> {
        find(&self.table, path)?.as_table()
    }

    /// A table of texts; empty where it is not there.
    pub(super) fn texts(&self, path: &str) -> BTreeMap<String, String> {
        self.table(path).map(texts).unwrap_or_default()
    }

    /// Variables that nobody but the operator tells in these tests, and what they tell.
    pub(super) fn operators(&self) -> BTreeMap<String, String> {
        let wanted = |name: &String| {
            let variable = |key: &str| self.says(&format!("variables.{name}.{key}"));
            !variable("default") && !variable("from_callback")
        };
        let mut values = self.variables();
        values.retain(|name, _| wanted(name));
        values
    }

    /// Every variable, as it is before the callback.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        for (name, variable) in self.table("variables").into_iter().flatten() {
            let of = |key: &str| variable.get(key).and_then(toml::Value::as_str).map(str::to_owned);
            let listed = || variable.get("hosts").and_then(|list| list.get(0)).and_then(toml::Value::as_str);
            let value = of("default").or_else(|| of("example")).or_else(|| listed().map(str::to_owned));
            values
                .insert(name.clone(), value.unwrap_or_else(|| panic!("{}: {name} has no example", self.id)));
        }
        values
    }

    /// What must be kept with the connection.
    pub(super) fn kept(&self) -> BTreeMap<String, String> {
        self.answers.get("values").and_then(toml::Value::as_table).map(texts).unwrap_or_default()
    }

    /// An address of the entry, as it is before the callback.
    pub(super) fn before(&self, template: &str) -> String {
        self.filled(template, &self.variables())
    }

    /// The same with what the callback and the answers have told.
    pub(super) fn after(&self, template: &str) -> String {
        let mut values = self.variables();
        values.extend(self.kept());
        self.filled(template, &values)
    }

    fn filled(&self, template: &str, values: &BTreeMap<String, String>) -> String {
        let filled = template.replace("{client_id}", &self.client_id());
        values.iter().fold(filled, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// An endpoint by its RFC 8414 name: as the entry has it, or as our metadata say.
    pub(super) fn endpoint(&self, name: &str) -> Option<String> {
        match self.text(name) {
            Some(url) => Some(self.after(url)),
            None => self.discovered().filter(|_| name != "refresh_endpoint").map(|base| {
                let name = name.trim_end_matches("_endpoint");
                format!("{base}/discovered/{name}")
            }),
        }
    }

    /// Where its metadata are, when it is discovered: the issuer without a slash at the end.
    pub(super) fn discovered(&self) -> Option<String> {
        let issuer = self.text("issuer")?;
        let whole = self.says("authorization_endpoint") && self.says("token_endpoint");
        (!whole).then(|| self.after(issuer).trim_end_matches('/').to_owned())
    }

    /// What it wants to be asked for: the parameter, and the scopes that stand in it.
    pub(super) fn asked(&self) -> Vec<(String, BTreeSet<String>)> {
        let (mut first, mut second) = (BTreeSet::new(), BTreeSet::new());
        let prefix = self.text("second_scope.prefix");
        for scope in self.list("scopes").into_iter().chain(self.list("required_scopes")) {
            match prefix.and_then(|prefix| scope.strip_prefix(prefix)) {
                Some(bare) => second.insert(bare.to_owned()),
                None => first.insert(scope.to_owned()),
            };
        }
        let names =
            [self.text("scope_param").unwrap_or("scope"), self.text("second_scope.param").unwrap_or("")];
        let both = names.map(str::to_owned).into_iter().zip([first, second]);
        both.filter(|(_, scopes)| !scopes.is_empty()).collect()
    }

    /// Parameters of the callback that the provider adds.
    pub(super) fn callback(&self) -> Vec<Pair> {
        let table = self.answers.get("callback").and_then(toml::Value::as_table);
        table.map(texts).unwrap_or_default().into_iter().collect()
    }

    /// One of the recorded answers.
    pub(super) fn recorded(&self, name: &str) -> Option<Told> {
        find(&self.answers, name)?.as_table().map(told)
    }

    /// The recorded answer to a step.
    pub(super) fn recorded_step(&self, at: usize) -> Option<Told> {
        self.answers.get("steps")?.get(at)?.as_table().map(told)
    }

    /// What must be read of the probe.
    pub(super) fn account(&self, key: &str) -> Option<&str> {
        find(&self.answers, &format!("probe.{key}"))?.as_str()
    }

    /// Its settings, beside those of the catalogue.
    pub(super) fn settings(&self) -> String {
        let id = &self.id;
        let mut text = format!("\n[[providers]]\nid = \"{id}\"\npreset = \"{id}\"\n");
        if self.is("oauth2") {
            let (client, secret) = (self.client_id(), self.client_secret());
            text += &format!("client_id = \"{client}\"\nclient_secret = {{ value = \"{secret}\" }}\n");
            let values = self.operators();
            if !values.is_empty() {
                let values: Vec<_> =
                    values.iter().map(|(name, value)| format!("{name} = \"{value}\"")).collect();
                text += &format!("values = {{ {} }}\n", values.join(", "));
            }
        }
        text
    }
}

fn texts(table: &Table) -> BTreeMap<String, String> {
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    table.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn told(table: &Table) -> Told {
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
    let status = table.get("status").and_then(toml::Value::as_integer).unwrap_or(200);
    Told {
        status: u16::try_from(status).unwrap(),
        kind: text("type").unwrap_or("application/json").to_owned(),
        body: text("body").unwrap_or("{}").to_owned(),
    }
}

impl Told {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, kind: "application/json".into(), body: body.to_string() }
    }

    /// The connection ends without an answer.
    pub(super) fn nothing() -> Self {
        Self { status: 0, kind: String::new(), body: String::new() }
    }

    /// The same with another text at a path, where there is a text already.
    pub(super) fn with(mut self, path: &str, text: &str) -> (Self, bool) {
        if self.kind.contains("form") {
            let mut pairs: Vec<Pair> =
                url::form_urlencoded::parse(self.body.as_bytes()).into_owned().collect();
            let found = pairs.iter_mut().find(|(name, _)| name == path);
            let there = found.is_some();
            if let Some((_, value)) = found {
                text.clone_into(value);
            }
            self.body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            return (self, there);
        }
        let mut body: Value = serde_json::from_str(&self.body).expect("a recorded answer is JSON");
        let pointer = pointer(path);
        let there = match body.pointer_mut(&pointer) {
            Some(at @ Value::String(_)) => {
                *at = text.into();
                true
            }
            _ => false,
        };
        self.body = body.to_string();
        (self, there)
    }
}

/// `a.b[0].c` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.split('.')
        .flat_map(|step| step.split('['))
        .map(|step| format!("/{}", step.trim_end_matches(']')))
        .collect()
}
