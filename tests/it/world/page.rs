//! What a browser shows: one answer, read as a person and as a browser reads it.

use reqwest::{StatusCode, Url, header::HeaderMap};

use super::html::{self, Tag};

/// An answer to a browser.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// Where it came from.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) html: String,
}

/// A form on a page.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// Where it is sent.
    pub(crate) action: Url,
    /// By POST; by GET otherwise.
    pub(crate) post: bool,
    /// What is sent when nobody changes anything: hidden and prefilled fields, ticked boxes.
    pub(crate) fields: Vec<(String, String)>,
    /// Its buttons: text, name and value.
    pub(crate) buttons: Vec<(String, Option<(String, String)>)>,
}

impl Page {
    /// The page's name (`data-page`), where it is one of Consentry's.
    pub(crate) fn name(&self) -> Option<String> {
        let main = html::tags(&self.html).into_iter().find(|tag| tag.name == "main")?;
        main.get("data-page").map(str::to_owned)
    }

    /// Fails unless it is this page of Consentry's.
    #[track_caller]
    pub(crate) fn is(&self, name: &str) -> &Self {
        assert_eq!(self.name().as_deref(), Some(name), "{} at {}: {}", self.status, self.url, self.text());
        self
    }

    /// The text that a person reads.
    pub(crate) fn text(&self) -> String {
        let tags = html::tags(&self.html);
        let body = tags.iter().find(|tag| tag.name == "body");
        html::text(body.map_or(&self.html, |body| html::inside(&self.html, body)))
    }

    /// A header's value; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap_or("not ASCII"))
    }

    /// Where a redirect leads.
    pub(crate) fn location(&self) -> Option<Url> {
        if !self.status.is_redirection() {
            return None;
        }
        let location = self.headers.get("location")?.to_str().expect("a location is ASCII");
        Some(self.url.join(location).expect("a location is a URL"))
    }

    /// Where the page sends the browser by itself (`<meta http-equiv="refresh">`).
    pub(crate) fn refresh(&self) -> Option<Url> {
        let refresh =
            html::tags(&self.html).into_iter().find(|tag| tag.get("http-equiv") == Some("refresh"))?;
        let (_, url) = refresh.get("content")?.split_once("url=")?;
        Some(self.url.join(url).expect("a refresh leads to a URL"))
    }

    /// Every link: where it leads, and its words.
    pub(crate) fn links(&self) -> Vec<(Url, String)> {
        html::tags(&self.html)
            .iter()
            .filter(|tag| tag.name == "a")
            .filter_map(|tag| {
                let leads = self.url.join(tag.get("href")?).ok()?;
                Some((leads, html::text(html::inside(&self.html, tag))))
            })
            .collect()
    }

    /// The first link whose path ends so.
    #[track_caller]
    pub(crate) fn link_to(&self, path_end: &str) -> Url {
        let links = self.links();
        let found = links.iter().find(|(url, _)| url.path().ends_with(path_end));
        found.unwrap_or_else(|| panic!("no link to {path_end} on {}: {links:?}", self.url)).0.clone()
    }

    /// Every form.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let tags = html::tags(&self.html);
        let forms = tags.iter().filter(|tag| tag.name == "form");
        forms.map(|form| self.form(form, &tags)).collect()
    }

    /// The first form whose action's path ends so.
    #[track_caller]
    pub(crate) fn form_to(&self, path_end: &str) -> Form {
        let forms = self.forms();
        let found = forms.iter().find(|form| form.action.path().ends_with(path_end));
        found.unwrap_or_else(|| panic!("no form to {path_end} on {}: {}", self.url, self.text())).clone()
    }

    fn form(&self, form: &Tag, tags: &[Tag]) -> Form {
        let own: Vec<&Tag> = tags.iter().filter(|tag| html::holds(&self.html, form, tag)).collect();
        let pair =
            |tag: &Tag| Some((tag.get("name")?.to_owned(), tag.get("value").unwrap_or_default().to_owned()));
        let is_sent = |tag: &&&Tag| match tag.get("type") {
            Some("checkbox" | "radio") => tag.get("checked").is_some(),
            Some("submit" | "button") => false,
            _ => tag.get("disabled").is_none(),
        };
        let inputs = own.iter().filter(|tag| matches!(&*tag.name, "input" | "textarea"));
        let options = |select: &Tag| {
            let inside = |tag: &&&Tag| tag.name == "option" && html::holds(&self.html, select, tag);
            let options: Vec<&&Tag> = own.iter().filter(inside).collect();
            let chosen = options.iter().find(|tag| tag.get("selected").is_some()).or(options.first())?;
            Some((select.get("name")?.to_owned(), chosen.get("value")?.to_owned()))
        };
        let selects = own.iter().filter(|tag| tag.name == "select").filter_map(|tag| options(tag));
        let buttons = own.iter().filter(|tag| tag.name == "button");
        let action = form.get("action").unwrap_or_default();
        Form {
            action: self.url.join(action).expect("a form is sent to a URL"),
            post: form.get("method").is_some_and(|method| method.eq_ignore_ascii_case("post")),
            fields: inputs.filter(is_sent).filter_map(|tag| pair(tag)).chain(selects).collect(),
            buttons: buttons.map(|tag| (html::text(html::inside(&self.html, tag)), pair(tag))).collect(),
        }
    }
}

impl Form {
    /// Sets a field.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(found, _)| found != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Presses the button of this name and value.
    #[track_caller]
    pub(crate) fn press(mut self, name: &str, value: &str) -> Self {
        let wanted = Some((name.to_owned(), value.to_owned()));
        assert!(
            self.buttons.iter().any(|(_, sent)| *sent == wanted),
            "no button {name}={value}: {:?}",
            self.buttons
        );
        self.fields.extend(wanted);
        self
    }
}
