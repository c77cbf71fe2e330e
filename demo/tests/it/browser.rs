//! A browser without a screen: cookies by host, redirects, links and buttons. Enough to walk through the pages of
//! everybody as a person would.

use std::collections::HashMap;

use reqwest::{RequestBuilder, Url};

use crate::http;

#[derive(Default)]
pub(crate) struct Browser {
    cookies: HashMap<(String, String), String>,
    here: Option<Url>,
    page: String,
}

impl Browser {
    pub(crate) async fn open(&mut self, url: &str) {
        let url = self.here.as_ref().map_or_else(|| url.parse(), |here| here.join(url)).unwrap();
        self.send(http().get(url)).await;
    }

    /// Follows the link that begins with `start`.
    pub(crate) async fn follow(&mut self, start: &str) {
        let link = self.attribute("href", start);
        self.open(&link).await;
    }

    /// Sends the form whose action holds `action`, by the button of this name and value.
    pub(crate) async fn press(&mut self, action: &str, button: &[(&str, &str)]) {
        let form = self.page.split("<form").find(|form| form.contains(action)).unwrap();
        let form = form.split("</form").next().unwrap().to_owned();
        let inputs = form.split("<input").skip(1).filter(|input| !input.contains("type=\"radio\""));
        let fields = inputs.filter_map(|input| Some((attribute(input, "name")?, attribute(input, "value")?)));
        let button = button.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let fields: Vec<(String, String)> = fields.chain(button).collect();
        let url = self.here.as_ref().unwrap().join(&attribute(&form, "action").unwrap()).unwrap();
        self.send(http().post(url).form(&fields)).await;
    }

    /// What `<main data-page>` says.
    pub(crate) fn page(&self) -> String {
        attribute(&self.page, "data-page").unwrap_or_default()
    }

    fn attribute(&self, name: &str, start: &str) -> String {
        let before = format!("{name}=\"");
        let mut values =
            self.page.split(&before).skip(1).map(|rest| unescape(rest.split('"').next().unwrap()));
        values.find(|value| value.starts_with(start)).unwrap()
    }

    async fn send(&mut self, request: RequestBuilder) {
        let mut request = request.build().unwrap();
        loop {
            let url = request.url().clone();
            let host = url.host_str().unwrap().to_owned();
            let cookies = self.cookies.iter().filter(|((of, _), _)| *of == host);
            let cookies: Vec<String> = cookies.map(|((_, name), value)| format!("{name}={value}")).collect();
            request.headers_mut().insert("cookie", cookies.join("; ").parse().unwrap());
            let response = http().execute(request).await.unwrap();
            for cookie in response.headers().get_all("set-cookie") {
                let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
                let value = rest.split(';').next().unwrap();
                self.cookies.insert((host.clone(), name.to_owned()), value.to_owned());
            }
            let location = response.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
            self.here = Some(url.clone());
            let Some(location) = location else {
                self.page = response.text().await.unwrap();
                return;
            };
            request = http().get(url.join(&location).unwrap()).build().unwrap();
        }
    }
}

fn attribute(text: &str, name: &str) -> Option<String> {
    text.split_once(&format!("{name}=\""))?.1.split('"').next().map(unescape)
}

fn unescape(text: &str) -> String {
    text.replace("&#38;", "&").replace("&amp;", "&")
}
