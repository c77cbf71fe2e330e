//! What is read of a provider: paths, names, hosts that may come in answers, and sentences for people.
//!
//! A value from an answer may stand in an address only where its host stays within a list (R73): checked here for the
//! shape, and again for each value when it comes.

use std::time::Duration;

use url::Url;

use super::{Checker, sending::braces};
use crate::{
    config::{Capture, CaptureFrom, Choice, Expected, Precondition, Probe, ProbeMethod, Provider, Reads},
    values::is_name,
};

/// Names with a meaning of their own wherever braces stand.
const TAKEN: [&str; 5] = ["access_token", "client_id", "client_secret", "refresh_token", "token"];
const LONGEST_PATH: usize = 200;
const LONGEST_SENTENCE: usize = 300;
const LIVES: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(3_650 * 86_400);

impl Checker<'_> {
    pub(super) fn check_reads(&mut self, at: &str, provider: &Provider) {
        let reads = &provider.reads;
        let answer = &reads.answer;
        for (key, path) in [
            ("access_token", &answer.access_token),
            ("refresh_token", &answer.refresh_token),
            ("expires_in", &answer.expires_in),
            ("expires_at", &answer.expires_at),
            ("refresh_expires_in", &answer.refresh_expires_in),
            ("scope", &answer.scope),
            ("scope_from_callback", &answer.scope_from_callback),
            ("error", &answer.error),
        ] {
            path.iter().for_each(|path| self.path(&format!("{at}.answer.{key}"), path));
        }
        let scheme = answer.scheme.as_deref();
        self.demand(
            scheme.is_none_or(|it| !it.is_empty() && is_scheme(it)),
            format!("{at}.answer.scheme"),
            NO_SCHEME,
        );
        let fits = answer.default_life.is_none_or(|life| LIVES.contains(&life));
        self.demand(fits, format!("{at}.answer.default_life"), "must be 1m to 3650d");
        self.expected(&format!("{at}.answer.ok"), answer.ok.as_ref());
        for (name, slot) in &reads.slots {
            let key = format!("{at}.slots.{name}");
            self.value_name(&key, name);
            self.path(&format!("{key}.access_token"), &slot.access_token);
            let paths = [&slot.refresh_token, &slot.expires_in, &slot.scope];
            paths.into_iter().flatten().for_each(|path| self.path(&key, path));
        }
        for (name, capture) in &reads.captures {
            self.capture(&format!("{at}.captures.{name}"), name, capture, reads.choice.as_ref());
        }
        if let Some(choice) = &reads.choice {
            self.choice(&format!("{at}.choice"), choice, provider);
        }
        if let Some(granted) = &reads.granted {
            let key = format!("{at}.granted");
            self.filled_address(&format!("{key}.url"), &granted.url, provider);
            if !granted.list.is_empty() {
                self.path(&format!("{key}.list"), &granted.list);
            }
            self.path(&format!("{key}.scope"), &granted.scope);
            self.expected(&format!("{key}.only"), granted.only.as_ref());
        }
        if let Some(signature) = &reads.callback_signature {
            self.path(&format!("{at}.callback_signature.param"), &signature.param);
            let problem = "needs a client_secret, which is its key";
            self.demand(provider.client_secret.is_some(), format!("{at}.callback_signature"), problem);
        }
        for code in &reads.admin_codes {
            let fits = (1..=256).contains(&code.len()) && !code.contains(char::is_control);
            self.demand(fits, format!("{at}.admin_codes"), "holds something that is no error code");
        }
        for (n, precondition) in reads.preconditions.iter().enumerate() {
            self.precondition(&format!("{at}.preconditions[{n}]"), precondition);
        }
        reads.picker.iter().for_each(|text| self.sentence(&format!("{at}.picker"), text));
    }

    pub(super) fn check_probe(&mut self, at: &str, probe: &Probe, provider: &Provider) {
        self.path_text(&format!("{at}.id"), &probe.id);
        self.path_text(&format!("{at}.label"), &probe.label);
        let advice = "for another scheme than Bearer write `scheme`";
        self.check_headers(&format!("{at}.headers"), &probe.headers, Err(advice));
        for value in probe.headers.values() {
            self.known(&format!("{at}.headers"), value, provider, &["access_token", "client_id"]);
        }
        let fits = probe.scheme.as_deref().is_none_or(is_scheme);
        self.demand(fits, format!("{at}.scheme"), NO_SCHEME);
        self.expected(&format!("{at}.ok"), probe.ok.as_ref());
        match &probe.url {
            Some(url) => self.filled_address(&format!("{at}.url"), url, provider),
            None => {
                let alone =
                    probe.method == ProbeMethod::Get && probe.headers.is_empty() && probe.scheme.is_none();
                self.demand(alone, at, "has no url: method, headers and scheme are of no use there");
            }
        }
        if let Some(body) = &probe.body {
            let posted = probe.method == ProbeMethod::Post && probe.url.is_some();
            self.demand(posted, format!("{at}.body"), "needs method = \"POST\" and a url");
            let json = serde_json::from_str::<serde_json::Value>(body).is_ok();
            self.demand(json, format!("{at}.body"), "is not JSON");
        }
    }

    fn capture(&mut self, key: &str, name: &str, capture: &Capture, choice: Option<&Choice>) {
        self.value_name(key, name);
        self.path(&format!("{key}.path"), &capture.path);
        for suffix in &capture.url_suffixes {
            let problem =
                "holds something that is no host or \".domain\" with a dot inside, in small letters";
            self.demand(is_suffix(suffix), format!("{key}.url_suffixes"), problem);
        }
        let chosen = capture.from != CaptureFrom::Choice || choice.is_some();
        self.demand(chosen, format!("{key}.from"), "is \"choice\", and there is no choice");
    }

    fn choice(&mut self, key: &str, choice: &Choice, provider: &Provider) {
        if !choice.list.is_empty() {
            self.path(&format!("{key}.list"), &choice.list);
        }
        self.path_text(&format!("{key}.id"), &choice.id);
        self.path_text(&format!("{key}.label"), &choice.label);
        self.value_name(&format!("{key}.as"), &choice.name);
        let twice = provider.reads.captures.contains_key(&choice.name);
        self.demand(!twice, format!("{key}.as"), "is the name of a capture too");
        if let Some(consent) = &choice.consent {
            self.path(&format!("{key}.consent.path"), &consent.path);
            self.path(&format!("{key}.consent.claim"), &consent.claim);
        }
        match &choice.url {
            Some(url) => self.filled_address(&format!("{key}.url"), url, provider),
            None => {
                let asked = provider.probe.as_ref().is_some_and(|probe| probe.url.is_some());
                self.demand(asked, key, "needs a url, or a probe with one whose answer holds the list");
            }
        }
    }

    /// An address in which values may stand in braces.
    fn filled_address(&mut self, key: &str, text: &str, provider: &Provider) {
        self.known(key, text, provider, &["client_id"]);
        let (one, other) = (sampled(text, &provider.reads, "a"), sampled(text, &provider.reads, "b"));
        if let Some(url) = self.endpoint(key, &one)
            && Url::parse(&other).is_ok_and(|other| other.host() != url.host())
        {
            self.refuse(key, "lets a value without url_suffixes choose the host");
        }
    }

    /// Each name in braces is one of a value.
    fn known(&mut self, key: &str, text: &str, provider: &Provider, also: &[&str]) {
        let reads = &provider.reads;
        for name in braces(text) {
            let known = also.contains(&name)
                || reads.captures.contains_key(name)
                || reads.choice.as_ref().is_some_and(|choice| choice.name == name);
            let there: Vec<_> = reads.captures.keys().map(|name| format!("{{{name}}}")).collect();
            let there =
                if there.is_empty() { String::new() } else { format!("; captured: {}", there.join(", ")) };
            self.demand(
                known,
                key,
                format!("has a name in braces that is neither captured nor chosen{there}"),
            );
        }
    }

    fn value_name(&mut self, key: &str, name: &str) {
        let plain = name.len() <= 32 && is_name(name);
        self.demand(plain, key, "must be a name of 1 to 32 of a-z, 0-9 and underscore, a letter first");
        self.demand(!TAKEN.contains(&name), key, "is a name with a meaning of its own");
    }

    fn path(&mut self, key: &str, path: &str) {
        let fits = (1..=LONGEST_PATH).contains(&path.len())
            && path.trim() == path
            && !path.contains(|c: char| c.is_control() || matches!(c, '{' | '}'));
        self.demand(fits, key, "must be a path of 1 to 200 characters without braces");
    }

    /// A path, or text with paths in braces.
    fn path_text(&mut self, key: &str, text: &str) {
        let opened = text.matches('{').count();
        let whole = braces(text).filter(|name| !name.is_empty()).count() == opened
            && text.matches('}').count() == opened;
        let fits = (1..=LONGEST_PATH).contains(&text.len()) && !text.contains(char::is_control) && whole;
        self.demand(fits, key, "must be a path, or text with paths in braces, of 1 to 200 characters");
    }

    fn expected(&mut self, key: &str, expected: Option<&Expected>) {
        let Some(expected) = expected else { return };
        self.path(&format!("{key}.path"), &expected.path);
        let scalar = !(expected.equals.is_array() || expected.equals.is_object());
        self.demand(scalar, format!("{key}.equals"), "must be text, a number or a truth value");
    }

    fn precondition(&mut self, key: &str, precondition: &Precondition) {
        self.sentence(&format!("{key}.text"), &precondition.text);
        if let Some(url) = &precondition.url {
            self.link(&format!("{key}.url"), url.as_str(), false);
        }
    }

    fn sentence(&mut self, key: &str, text: &str) {
        let fits = (1..=LONGEST_SENTENCE).contains(&text.len()) && !text.contains(char::is_control);
        self.demand(fits, key, "must be 1 to 300 characters on one line");
    }
}

const NO_SCHEME: &str = "must be letters, digits and hyphens, as in \"Bearer\"";

fn is_scheme(text: &str) -> bool {
    text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// A host, or what hosts end with: then with a dot first. One with nothing but a top-level domain is none.
fn is_suffix(text: &str) -> bool {
    let host = text.strip_prefix('.').unwrap_or(text);
    host.contains('.')
        && host.split('.').all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        })
}

/// A value that fits for a name of a kept value: of those with a list of hosts one within it, as a whole address where it
/// is to `begin` one. None for a name that none has.
pub(super) fn sample(reads: &Reads, name: &str, begin: bool) -> Option<String> {
    let Some(capture) = reads.captures.get(name) else {
        return reads.choice.as_ref().filter(|choice| choice.name == name).map(|_| "a".to_owned());
    };
    let Some(suffix) = capture.url_suffixes.first() else { return Some("a".to_owned()) };
    let host = if suffix.starts_with('.') { format!("a{suffix}") } else { suffix.clone() };
    Some(if begin { format!("https://{host}") } else { host })
}

/// The address with a value of each name; one without a list of hosts is `letter`.
fn sampled(text: &str, reads: &Reads, letter: &str) -> String {
    let mut whole = text.to_owned();
    for name in braces(text) {
        let place = format!("{{{name}}}");
        let value = sample(reads, name, text.starts_with(&place)).filter(|value| value != "a");
        whole = whole.replace(&place, value.as_deref().unwrap_or(letter));
    }
    whole
}
