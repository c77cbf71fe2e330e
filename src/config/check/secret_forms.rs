//! `[[providers]]` with `kind = "secret"`: what is connected by typing a key.

use std::{collections::HashMap, ops::RangeInclusive};

use super::Checker;
use crate::{
    config::{Advice, FormField, FormProbe, Pattern, SecretForm, raw},
    elicitation::ProviderId,
    template::Template,
    values::is_name,
};

/// What a form of ours posts itself.
const OUR_FIELDS: [&str; 3] = ["csrf", "reveal", "save"];
/// Fields of one form, and choices of one field.
const FIELDS: RangeInclusive<usize> = 1..=12;
const CHOICES_MAX: usize = 100;

impl Checker<'_> {
    pub(super) fn secret_forms(&mut self, list: Vec<(String, raw::SecretForm)>) -> Vec<SecretForm> {
        list.into_iter().filter_map(|(at, raw)| self.secret_form(&at, raw)).collect()
    }

    fn secret_form(&mut self, at: &str, raw: raw::SecretForm) -> Option<SecretForm> {
        let hosts = hosts(&raw);
        self.demand(FIELDS.contains(&raw.fields.len()), format!("{at}.fields"), "must be 1 to 12 fields");
        let mut names = HashMap::new();
        let mut fields = Vec::new();
        for (n, field) in raw.fields.into_iter().enumerate() {
            let at = format!("{at}.fields[{n}]");
            self.unique(&mut names, &format!("{at}.name"), &field.name);
            fields.extend(self.form_field(&at, field, &hosts));
        }
        let has_secret = fields.iter().any(|field| field.secret);
        self.demand(has_secret, format!("{at}.fields"), "has no secret among them");
        let sample = |name: &str| fields.iter().find(|field| field.name == name).map(sample);
        let usage = self.usage(&format!("{at}.use"), raw.usage, &sample);
        let probe = raw.probe.and_then(|probe| self.form_probe(&format!("{at}.probe"), probe, &fields));
        for (key, template) in [
            ("use.base_url", usage.base_url.as_ref()),
            ("probe.url", probe.as_ref().map(|probe| &probe.url)),
            ("probe.body", probe.as_ref().and_then(|probe| probe.body.as_ref())),
        ] {
            let optional = |name: &str| fields.iter().any(|field| field.name == name && field.optional);
            let whole = !template.is_some_and(|template| template.names().any(optional));
            self.demand(whole, format!("{at}.{key}"), "has a place for a field that may stay empty");
        }
        let name = raw.name.unwrap_or_else(|| raw.id.clone());
        self.name(&format!("{at}.name"), &name);
        for (key, text) in [("what", &raw.what), ("probe_note", &raw.probe_note)] {
            self.words(&format!("{at}.{key}"), text.as_deref());
        }
        let (rate, concurrent) = (raw.requests_per_second, raw.concurrent_requests);
        self.check_request_budget(at, rate, concurrent);
        let mut link = |key: &str, text: Option<String>| {
            text.and_then(|text| self.link(&format!("{at}.{key}"), &text, false))
        };
        Some(SecretForm {
            id: raw.id.parse::<ProviderId>().ok()?,
            name,
            fields,
            what: raw.what,
            key_url: link("key_url", raw.key_url),
            probe,
            probe_note: raw.probe_note,
            usage,
            manage_url: link("manage_url", raw.manage_url),
            docs_url: link("docs_url", raw.docs_url),
            requests_per_second: rate,
            concurrent_requests: concurrent,
        })
    }

    fn form_field(&mut self, at: &str, raw: raw::Field, hosts: &Hosts) -> Option<FormField> {
        let named = is_name(&raw.name) && !OUR_FIELDS.contains(&raw.name.as_str());
        let problem = "must be a to z, then digits and underscores too, and none of csrf, reveal and save";
        self.demand(named, format!("{at}.name"), problem);
        self.name(&format!("{at}.label"), &raw.label);
        self.words(&format!("{at}.help"), raw.help.as_deref());
        self.words(&format!("{at}.example"), raw.example.as_deref());
        let in_host = hosts.holds(&raw.name);
        let read = |text: &str| if in_host { Pattern::whole(text) } else { Pattern::new(text) };
        let pattern = raw.pattern.as_deref().map(read);
        let pattern = pattern.and_then(|pattern| self.findings.keep(format!("{at}.pattern"), pattern));
        let test = raw.test.as_deref().map(Pattern::new);
        let test = test.and_then(|pattern| self.findings.keep(format!("{at}.test"), pattern));
        let mut wrong = Vec::new();
        for (n, advice) in raw.wrong.into_iter().enumerate() {
            let at = format!("{at}.wrong[{n}]");
            self.words(&format!("{at}.advice"), Some(&advice.advice));
            let pattern = self.findings.keep(format!("{at}.pattern"), Pattern::new(&advice.pattern));
            wrong.extend(pattern.map(|pattern| Advice { pattern, advice: advice.advice }));
        }
        self.demand(raw.choices.len() <= CHOICES_MAX, format!("{at}.choices"), "must be at most 100");
        for label in raw.choices.values() {
            self.name(&format!("{at}.choices"), label);
        }
        let offered = raw.choices.is_empty() || !raw.secret;
        self.demand(offered, format!("{at}.secret"), "must be false: what can be chosen is no secret");
        if let Some(default) = &raw.default {
            let fits = raw.choices.contains_key(default) || (raw.choices.is_empty() && !raw.secret);
            self.demand(
                fits,
                format!("{at}.default"),
                "must be one of choices, or of a field that is no secret",
            );
        }
        for suffix in &raw.suffixes {
            let fits = suffix.starts_with('.') && suffix.len() > 2 && is_host(&suffix[1..]);
            self.demand(fits, format!("{at}.suffixes"), "must be ends of hosts, such as \".example.com\"");
        }
        if in_host {
            self.demand(!raw.secret, format!("{at}.secret"), "must be false: it is part of a host");
            let bounded = pattern.is_some()
                || !raw.choices.is_empty()
                || !raw.suffixes.is_empty()
                || hosts.ends_below(&raw.name);
            let problem = "is part of a host: needs choices, suffixes, or a pattern for the whole value";
            self.demand(bounded, at, problem);
        }
        let (choices, suffixes) = (raw.choices, raw.suffixes);
        Some(FormField {
            name: raw.name,
            label: raw.label,
            help: raw.help,
            example: raw.example,
            secret: raw.secret,
            optional: raw.optional,
            pattern,
            choices,
            default: raw.default,
            suffixes,
            wrong,
            test,
            in_host,
        })
    }

    fn form_probe(&mut self, at: &str, raw: raw::FormProbe, fields: &[FormField]) -> Option<FormProbe> {
        let sample = |name: &str| fields.iter().find(|field| field.name == name).map(sample);
        let headers =
            self.header_templates(&format!("{at}.headers"), raw.headers.unwrap_or_default(), &sample);
        let query = self.query_templates(&format!("{at}.query"), raw.query.unwrap_or_default(), &sample);
        let basic = raw.basic.and_then(|basic| self.basic(&format!("{at}.basic"), &basic, &sample));
        let is_field = |name: &str| fields.iter().any(|field| field.name == name);
        let body = raw.body.map(|text| Template::with_names(&text, is_field));
        if let Some(body) = &body {
            let filled = body.fill(|_| Some("x"), crate::template::Writing::Json);
            let is_json = filled
                .is_some_and(|filled| serde_json::from_str::<serde::de::IgnoredAny>(filled.expose()).is_ok());
            self.demand(is_json, format!("{at}.body"), "must be JSON, with places inside its strings");
        }
        for (key, path) in [("id", &raw.id), ("label", &raw.label)] {
            if let Some(path) = path {
                self.text(&format!("{at}.{key}"), path);
            }
        }
        let fits = raw.rejected.iter().all(|status| (400..500).contains(status));
        self.demand(fits, format!("{at}.rejected"), "must be statuses of 400 to 499");
        let ok = raw.ok.map(|ok| (ok.path, ok.equals.and_then(|value| serde_json::to_value(value).ok())));
        Some(FormProbe {
            method: raw.method,
            url: self.url_template(&format!("{at}.url"), &raw.url, &sample)?,
            headers,
            query,
            basic,
            body,
            id: raw.id,
            label: raw.label,
            ok,
            rejected: raw.rejected,
        })
    }

    /// A sentence that pages show.
    pub(super) fn words(&mut self, key: &str, text: Option<&str>) {
        let fits = text.is_none_or(|text| {
            (1..=500).contains(&text.chars().count()) && !text.chars().any(char::is_control)
        });
        self.demand(fits, key, "must be 1 to 500 characters without control characters");
    }
}

/// A value that would fit.
fn sample(field: &FormField) -> String {
    match (field.choices.keys().next(), field.suffixes.first()) {
        (Some(choice), _) => choice.clone(),
        (None, Some(suffix)) => format!("example{suffix}"),
        (None, None) if field.in_host => "example.com".to_owned(),
        (None, None) => "x".to_owned(),
    }
}

/// The hosts that fields are part of: what stands between `://` and the path in the URLs of a form.
struct Hosts(Vec<String>);

fn hosts(raw: &raw::SecretForm) -> Hosts {
    let urls = raw.usage.base_url.iter().chain(raw.probe.iter().map(|probe| &probe.url));
    let authority = |url: &String| {
        let after = url.split_once("://")?.1;
        Some(after.split(['/', '?', '#', '\\']).next()?.to_owned())
    };
    Hosts(urls.filter_map(authority).collect())
}

impl Hosts {
    fn holds(&self, name: &str) -> bool {
        self.0.iter().any(|host| Template::new(host).names().any(|place| place == name))
    }

    /// Whether wherever the field stands, a domain of the settings' own follows: `{name}.example.com`.
    fn ends_below(&self, name: &str) -> bool {
        self.0.iter().filter(|host| host.contains(&format!("{{{name}}}"))).all(|host| {
            let end = host.rsplit_once('}').map_or("", |(_, end)| end);
            end.starts_with('.') && end.matches('.').count() >= 2 && is_host(&end[1..])
        })
    }
}

/// Labels of letters, digits and hyphens with dots between; maybe a port.
fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split('.').all(label) && port.parse::<u16>().is_ok()
}
