//! A browser without a screen: cookies by server, pages read by their buttons and fields.

use std::collections::HashMap;

use crate::client::http;

#[derive(Default)]
pub(crate) struct Browser {
    cookies: HashMap<String, String>,
}

/// What a browser ended up with; redirects are not followed.
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) text: String,
}

impl Browser {
    pub(crate) async fn open(&mut self, url: &str) -> Seen {
        self.send(http().get(url)).await
    }

    /// Presses a button of a page: posts its hidden fields, these, and nothing else.
    pub(crate) async fn press(&mut self, base: &str, page: &Seen, fields: &[(&str, &str)]) -> Seen {
        let action = between(&page.text, "action=\"", "\"").unwrap();
        let handle = between(&page.text, "name=\"request\" value=\"", "\"").unwrap();
        let mut form = vec![("request", handle)];
        form.extend_from_slice(fields);
        self.send(http().post(format!("{base}{action}")).form(&form)).await
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Seen {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = request.header("cookie", cookies.join("; ")).send().await.unwrap();
        for cookie in response.headers().get_all("set-cookie") {
            let (pair, attributes) = cookie.to_str().unwrap().split_once(';').unwrap();
            assert!(attributes.contains("HttpOnly") && attributes.contains("SameSite=Lax"));
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        let header = response.headers().get("location");
        let location = header.map(|value| value.to_str().unwrap().to_owned());
        Seen { status: response.status().as_u16(), location, text: response.text().await.unwrap() }
    }
}

pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}
