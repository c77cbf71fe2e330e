//! What is particular of a provider, in words, from the keys of its entry.

use toml::{Table, Value};

use super::example::may;

/// A sentence for each key that makes a difference to operators or users.
pub(super) fn particulars(entry: &Table) -> Vec<String> {
    let entry = Keys(entry);
    let mut told = Vec::new();
    variables(entry, &mut told);
    if entry.0.get("kind").is_none_or(|kind| kind.as_str() == Some("oauth2")) {
        at_the_provider(entry, &mut told);
        permissions(entry, &mut told);
        tokens(entry, &mut told);
        life(entry, &mut told);
        end(entry, &mut told);
    }
    usage(entry, &mut told);
    told
}

#[derive(Clone, Copy)]
struct Keys<'a>(&'a Table);

impl<'a> Keys<'a> {
    fn has(self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    fn text(self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str()
    }

    fn is(self, key: &str, value: bool) -> bool {
        self.0.get(key).and_then(Value::as_bool) == Some(value)
    }

    fn table(self, key: &str) -> Option<Keys<'a>> {
        self.0.get(key)?.as_table().map(Keys)
    }

    fn list(self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.0.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    /// The names of a table's keys.
    fn names(self, key: &str) -> Option<String> {
        let table = self.table(key)?;
        (!table.0.is_empty()).then(|| listed(table.0.keys().map(String::as_str)))
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn variables(entry: Keys<'_>, told: &mut Vec<String>) {
    for (name, _) in entry.table("variables").into_iter().flat_map(|all| all.0) {
        let Some(variable) = entry.table("variables").and_then(|all| all.table(name)) else { continue };
        let label = variable.text("label").unwrap_or(name);
        let settings = format!("from `values = {{ {name} = \"...\" }}` in the settings");
        let sources =
            [("operator", settings.as_str()), ("caller", "from the call"), ("user", "the user is asked")];
        let sources = sources.into_iter().filter(|(who, _)| may(variable.0, who)).map(|(_, words)| words);
        let whose = match variable.text("from_callback") {
            Some(_) => "the provider says it when the user comes back".to_owned(),
            None => sources.collect::<Vec<_>>().join(", else "),
        };
        let default =
            variable.text("default").map(|default| format!("; else `{default}`")).unwrap_or_default();
        told.push(format!("`{{{name}}}` in its addresses is \"{label}\": {whose}{default}."));
    }
}

fn at_the_provider(entry: Keys<'_>, told: &mut Vec<String>) {
    for condition in entry.list("preconditions") {
        let text = condition.get("text").and_then(Value::as_str).unwrap_or_default();
        told.push(format!("Users read before they leave: \"{text}\""));
    }
    if let Some(picker) = entry.text("picker") {
        told.push(format!("Users read before they leave: \"{picker}\""));
    }
    if let Some(codes) = some(listed(entry.list("admin_codes").filter_map(Value::as_str))) {
        told.push(format!(
            "The error {codes} means that an administrator must agree first; users are told so."
        ));
    }
    if entry.table("choice").is_some() {
        told.push("After they agreed, users choose which of several accounts is used; where there is one, it is taken.".to_owned());
    }
    if entry.is("form_post", true) {
        told.push("It answers by a form post, which needs an https `public_url`.".to_owned());
    }
    if entry.is("pkce", false) {
        told.push("PKCE is left out: it would break something there.".to_owned());
    }
    if entry.has("callback_signature") {
        told.push("Its answers to the browser are signed, and checked.".to_owned());
    }
}

fn permissions(entry: Keys<'_>, told: &mut Vec<String>) {
    if entry.table("granted").is_some() {
        told.push(
            "Which permissions were given is asked after the connect, for users can untick some.".to_owned(),
        );
    }
    if let Some(scopes) = some(listed(entry.list("required_scopes").filter_map(Value::as_str))) {
        told.push(format!("{scopes} is asked for always, beside what is wanted."));
    }
    if let Some(second) = entry.table("second_scope") {
        let (param, prefix) =
            (second.text("param").unwrap_or_default(), second.text("prefix").unwrap_or_default());
        told.push(format!(
            "Scopes that begin with `{prefix}` are sent without it in `{param}`, a parameter of their own."
        ));
    }
    if let Some(slots) = entry.names("slots") {
        told.push(format!(
            "A connection can hold further tokens, which are handed out under `credential.slots`: {slots}."
        ));
    }
}

fn tokens(entry: Keys<'_>, told: &mut Vec<String>) {
    let how = match entry.text("client_authentication") {
        Some("none") => Some("It knows no client secret: the client is public."),
        Some("private_key_jwt") => {
            Some("The client proves itself by a signature (`client_key`), not by a secret.")
        }
        Some("secret_as_basic_user") => Some("The client secret is sent as the user name of HTTP Basic."),
        _ => None,
    };
    told.extend(how.map(str::to_owned));
    match entry.text("token_body") {
        Some("json") => told.push("Token requests are JSON.".to_owned()),
        Some("query") => told.push("Token requests carry their parameters in the address.".to_owned()),
        _ => {}
    }
    for (name, theirs) in entry.table("param_names").into_iter().flat_map(|names| names.0) {
        told.push(format!("It calls `{name}` `{}`.", theirs.as_str().unwrap_or_default()));
    }
    if entry.has("token_steps") {
        told.push("The first access token is exchanged for one that lives longer, at once.".to_owned());
    }
    if let Some(captures) = entry.names("captures") {
        told.push(format!("Kept with the connection and handed out under `credential.values`: {captures}."));
    }
}

fn life(entry: Keys<'_>, told: &mut Vec<String>) {
    if entry.has("renewal") {
        told.push("Access tokens are renewed by themselves; there is no refresh token.".to_owned());
    } else if entry.text("refresh_token") == Some("never") {
        told.push("There are no refresh tokens: when access ends, users connect again.".to_owned());
    } else if entry.text("refresh_token") == Some("always") {
        told.push("It must give a refresh token; without one the user is asked to try again.".to_owned());
    }
    if let Some(idle) = entry.text("refresh_idle") {
        told.push(format!("What nobody uses for {idle} ends there; it is renewed in time."));
    }
    if let Some(life) = entry.text("consent_lifetime") {
        told.push(format!("Consent ends {life} after it was given; users are asked in time."));
    }
}

fn end(entry: Keys<'_>, told: &mut Vec<String>) {
    let revocation = entry.table("revocation");
    let ends = revocation.and_then(|own| own.text("ends"));
    let sentence = match (revocation.is_some(), ends) {
        (true, Some("token")) => {
            "Disconnecting ends the token at the provider, not what else the user gave to the app."
        }
        (true, Some("account")) => "Disconnecting removes the app from the whole account at the provider.",
        (true, _) => "Disconnecting ends at the provider all that the user gave to the app.",
        // By RFC 7009, or as discovery says.
        (false, _) if entry.has("revocation_endpoint") || entry.has("issuer") => return,
        (false, _) if entry.has("manage_url") => {
            "It cannot be told to end a grant: disconnecting deletes it here, and users are shown where to remove it there."
        }
        (false, _) => "It cannot be told to end a grant: disconnecting deletes it here.",
    };
    told.push(sentence.to_owned());
}

fn usage(entry: Keys<'_>, told: &mut Vec<String>) {
    let Some(usage) = entry.table("use") else { return };
    if let Some(url) = usage.text("base_url") {
        told.push(format!("Its API: `{url}`."));
    }
    for (key, what) in [("headers", "header"), ("query", "query parameter")] {
        for (name, value) in usage.table(key).into_iter().flat_map(|all| all.0) {
            let value = value.as_str().unwrap_or_default();
            told.push(format!("Calls carry the {what} `{name}`: `{value}`."));
        }
    }
    if usage.has("basic") {
        told.push("Calls are authenticated by HTTP Basic.".to_owned());
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
