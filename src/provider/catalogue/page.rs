//! `docs/providers/`: a page of each entry, and the list of all, for operators.
//!
//! A page says what is of this provider alone; what holds for all of them stands in the list, once.

use toml::Value;

use super::{Catalogue, Category, Entry, Problem, particular::particulars};

const LIST_HEAD: &str = include_str!("list.md");

impl Entry {
    /// Its page, in Markdown.
    pub fn page(&self) -> String {
        let (id, name, about) = (&self.id, self.name(), &self.about);
        let mut page = format!(
            "<!-- Made by scripts/generate from providers/{id}.toml; change it there. -->\n\n# {name}\n\n{}\n",
            self.facts()
        );
        if self.kind() == "oauth2" {
            page.push_str(&format!("\nURL to register there: `{{public_url}}/callback/{{server}}/{id}`\n"));
        }
        page.push_str("\n## Setting it up\n\n");
        if let Some(url) = &about.setup_url {
            page.push_str(&format!("Begin at <{url}>.\n\n"));
        }
        for (at, step) in (1..).zip(&about.setup) {
            let number = if about.setup.len() > 1 { format!("{at}. ") } else { String::new() };
            page.push_str(&format!("{number}{}\n", step.replace("{callback_url}", "the URL above")));
        }
        page.push_str(&format!("\n```toml\n{}```\n", self.example()));
        self.fields(&mut page);
        self.scopes(&mut page);
        let particulars = particulars(&self.settings);
        for (heading, sentences) in [
            ("What is particular", &particulars),
            ("Worth knowing", &about.notes),
            ("Not checked", &about.unverified),
        ] {
            if !sentences.is_empty() {
                page.push_str(&format!("\n## {heading}\n\n"));
                sentences.iter().for_each(|sentence| page.push_str(&format!("- {sentence}\n")));
            }
        }
        page
    }

    fn facts(&self) -> String {
        let about = &self.about;
        let mut facts = vec![match self.kind() {
            "secret" => "A key that users enter".to_owned(),
            "redirect" => "A page of the MCP server's own".to_owned(),
            _ => "OAuth 2".to_owned(),
        }];
        facts.extend(about.confidence.map(|confidence| format!("confidence {}", confidence.word())));
        facts.push(match &about.verified_on {
            Some(day) => format!("compared with the provider's own pages on {day}"),
            None => "not yet compared with the provider's own pages".to_owned(),
        });
        facts.extend(self.text("docs_url").map(|url| format!("[its documentation]({url})")));
        format!("{}.", facts.join(", "))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(Value::as_str)
    }

    /// What users enter, for keys.
    fn fields(&self, page: &mut String) {
        let Some(fields) = self.settings.get("fields").and_then(Value::as_array) else { return };
        page.push_str("\n## What users enter\n\n| field | | looks like |\n|---|---|---|\n");
        for field in fields {
            let text = |key: &str| field.get(key).and_then(Value::as_str).unwrap_or_default();
            let is = |key: &str, default| field.get(key).and_then(Value::as_bool).unwrap_or(default);
            let secret = if is("secret", true) { "secret" } else { "not secret" };
            let optional = if is("optional", false) { ", optional" } else { "" };
            let example = Some(text("example")).filter(|example| !example.is_empty());
            let example = example.map(|example| format!("`{example}`")).unwrap_or_default();
            page.push_str(&format!("| {} | {secret}{optional} | {example} |\n", cell(text("label"))));
        }
        if let Some(url) = self.text("key_url") {
            page.push_str(&format!("\nThey find it at <{url}>."));
        }
        let probe = self.settings.get("probe").and_then(|probe| probe.get("url")?.as_str());
        let checked = match (probe, self.text("probe_note")) {
            (Some(url), _) => format!("A call to `{url}` tells whether it is good."),
            (None, Some(note)) => format!("It cannot be checked: {note}"),
            (None, None) => "It cannot be checked.".to_owned(),
        };
        page.push_str(&format!("\n{checked}\n"));
    }

    fn scopes(&self, page: &mut String) {
        let words = self.settings.get("scope_words").and_then(Value::as_table);
        let Some(words) = words.filter(|words| !words.is_empty()) else { return };
        let default: Vec<_> =
            self.settings.get("scopes").and_then(Value::as_array).into_iter().flatten().collect();
        page.push_str("\n## Scopes\n\n| scope | as users read it |\n|---|---|\n");
        for (scope, words) in words {
            let mark = if default.iter().any(|one| one.as_str() == Some(scope)) {
                " (asked for by default)"
            } else {
                ""
            };
            page.push_str(&format!("| `{scope}`{mark} | {} |\n", cell(words.as_str().unwrap_or_default())));
        }
    }
}

/// Text that ends no cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The list of all built-in entries, by category.
///
/// # Errors
/// An entry that cannot be read; the tests read every one.
pub fn index() -> Result<String, Problem> {
    let mut entries = Vec::new();
    for id in Catalogue::built_in().ids() {
        entries.extend(Catalogue::built_in_entry(id)?);
    }
    // None at the end.
    let place = |entry: &Entry| (entry.about.category.is_none(), entry.about.category);
    entries.sort_by_key(|entry| (place(entry), entry.name().to_lowercase()));
    let of_kind = |kind: &str| entries.iter().filter(|entry| entry.kind() == kind).count();
    let mut list = LIST_HEAD
        .replace("{oauth2}", &of_kind("oauth2").to_string())
        .replace("{secret}", &of_kind("secret").to_string());
    for of_one in entries.chunk_by(|one, other| one.about.category == other.about.category) {
        let heading = of_one[0].about.category.map_or("Others", Category::words);
        list.push_str(&format!(
            "\n## {heading}\n\n| provider | id | | confidence | compared on |\n|---|---|---|---|---|\n"
        ));
        for entry in of_one {
            let kind = if entry.kind() == "secret" { "key" } else { "OAuth" };
            list.push_str(&format!(
                "| [{}]({}.md) | `{}` | {kind} | {} | {} |\n",
                cell(entry.name()),
                entry.id,
                entry.id,
                entry.about.confidence.map_or("", |confidence| confidence.word()),
                entry.about.verified_on.as_deref().unwrap_or_default(),
            ));
        }
    }
    Ok(list)
}
