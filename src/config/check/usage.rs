//! The table `use`, and what else is a text with places for values.

use std::collections::BTreeMap;

use super::Checker;
use crate::{
    config::{Usage, raw},
    template::{Template, Writing},
};

/// These say how a request is sent, not whose it is.
const NOT_OURS: [&str; 4] = ["connection", "content-length", "host", "transfer-encoding"];
/// Longest template, in bytes.
const LONGEST: usize = 4_096;

impl Checker<'_> {
    /// How a credential is used. `sample` gives a value that would fit for each name that may stand in it.
    pub(super) fn usage(
        &mut self,
        at: &str,
        raw: raw::Usage,
        sample: &dyn Fn(&str) -> Option<String>,
    ) -> Usage {
        let key = format!("{at}.base_url");
        let base_url = raw.base_url.and_then(|text| self.url_template(&key, &text, sample));
        let headers = self.header_templates(&format!("{at}.headers"), raw.headers, sample);
        let query = self.query_templates(&format!("{at}.query"), raw.query, sample);
        let basic = raw.basic.and_then(|basic| self.basic(&format!("{at}.basic"), &basic, sample));
        let twice = basic.is_some() && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        self.demand(!twice, format!("{at}.basic"), "is a header Authorization, and headers has one too");
        Usage { base_url, headers, query, basic }
    }

    /// HTTP Basic.
    pub(super) fn basic(
        &mut self,
        at: &str,
        raw: &raw::Basic,
        sample: &dyn Fn(&str) -> Option<String>,
    ) -> Option<(Template, Template)> {
        let username = self.template(&format!("{at}.username"), &raw.username, sample)?;
        let password = self.template(&format!("{at}.password"), &raw.password, sample)?;
        // RFC 7617, section 2.
        self.demand(!raw.username.contains(':'), format!("{at}.username"), "must not hold a colon");
        Some((username, password))
    }

    /// Headers with places; the names as they were written.
    pub(super) fn header_templates(
        &mut self,
        key: &str,
        headers: BTreeMap<String, String>,
        sample: &dyn Fn(&str) -> Option<String>,
    ) -> BTreeMap<String, Template> {
        let mut read = BTreeMap::new();
        for (name, value) in headers {
            let valid = http::HeaderName::from_bytes(name.as_bytes()).is_ok()
                && http::HeaderValue::from_str(&value).is_ok();
            self.demand(valid, key, "holds something that is no header");
            let free = !NOT_OURS.iter().any(|header| header.eq_ignore_ascii_case(&name));
            self.demand(free, key, "sets a header that says how a request is sent");
            if let Some(template) = self.template(key, &value, sample) {
                read.insert(name, template);
            }
        }
        read
    }

    /// Query parameters with places.
    pub(super) fn query_templates(
        &mut self,
        key: &str,
        query: BTreeMap<String, String>,
        sample: &dyn Fn(&str) -> Option<String>,
    ) -> BTreeMap<String, Template> {
        let mut read = BTreeMap::new();
        for (name, value) in query {
            let fits = (1..=100).contains(&name.len()) && !name.chars().any(char::is_control);
            self.demand(fits, key, "holds a name that is not 1 to 100 characters without control characters");
            if let Some(template) = self.template(key, &value, sample) {
                read.insert(name, template);
            }
        }
        read
    }

    /// A text in which every place has a value.
    pub(super) fn template(
        &mut self,
        key: &str,
        text: &str,
        sample: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Template> {
        let fits = text.len() <= LONGEST && !text.chars().any(char::is_control);
        self.demand(fits, key, "must be at most 4096 characters without control characters");
        let template = Template::new(text);
        let known = template.names().all(|name| sample(name).is_some());
        self.demand(known, key, "has a name in braces for which nothing is known here");
        (fits && known).then_some(template)
    }

    /// A URL with places, which with values that fit is one that may be called.
    pub(super) fn url_template(
        &mut self,
        key: &str,
        text: &str,
        sample: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Template> {
        let template = self.template(key, text, sample)?;
        let samples: BTreeMap<&str, String> =
            template.names().filter_map(|name| Some((name, sample(name)?))).collect();
        let filled = template.fill(|name| samples.get(name).map(String::as_str), Writing::Url)?;
        if let Some(first) = template.names().next()
            && text.starts_with(&format!("{{{first}}}"))
            && url::Url::parse(filled.expose()).is_err()
        {
            let problem = "which is not known to be an address: a captured value is one with `url_suffixes`";
            self.refuse(key, format!("begins with {{{first}}}, {problem}"));
            return None;
        }
        self.endpoint(key, filled.expose())?;
        Some(template)
    }
}
