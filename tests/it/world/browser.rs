//! A browser without scripts: cookies, redirects one at a time, forms as they stand in the HTML, and the headers that
//! tell a server where a request comes from. So CSRF tokens and hidden fields are tested by being used.

use std::sync::{Arc, Mutex, MutexGuard};

use consentry::clock::Clock;
use reqwest::{
    Client, Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{
    jar::Jar,
    page::{Form, Page},
};

/// Redirects that a browser follows before it gives up.
const REDIRECTS_MAX: usize = 20;

/// A tab. Its clones of [`Browser::tab`] share the profile's cookies.
pub(crate) struct Browser {
    client: Client,
    clock: Clock,
    jar: Arc<Mutex<Jar>>,
    page: Option<Page>,
    /// Every answer so far, redirects included: what an attacker at the screen or in the history sees.
    history: Vec<Page>,
    /// Sent with every request, over what the browser sends by itself.
    pub(crate) more_headers: HeaderMap,
}

impl Browser {
    /// A fresh profile.
    pub(crate) fn new(client: Client, clock: Clock) -> Self {
        Self {
            client,
            clock,
            jar: Arc::default(),
            page: None,
            history: Vec::new(),
            more_headers: HeaderMap::new(),
        }
    }

    /// Another tab of the same profile.
    pub(crate) fn tab(&self) -> Self {
        Self { jar: Arc::clone(&self.jar), ..Self::new(self.client.clone(), self.clock.clone()) }
    }

    /// The profile's cookies.
    pub(crate) fn jar(&self) -> MutexGuard<'_, Jar> {
        self.jar.lock().unwrap()
    }

    /// What it shows.
    #[track_caller]
    pub(crate) fn page(&self) -> &Page {
        self.page.as_ref().expect("a page was opened")
    }

    /// Every answer so far.
    pub(crate) fn history(&self) -> &[Page] {
        &self.history
    }

    /// Opens a URL from outside (a link in a chat, the address bar) and follows redirects to a page.
    pub(crate) async fn opens(&mut self, url: &str) -> &Page {
        self.goes(url).await;
        self.follows().await
    }

    /// The same, and follows nothing.
    pub(crate) async fn goes(&mut self, url: &str) -> &Page {
        self.page = None;
        self.request(Method::GET, url.parse().expect("a URL"), None).await
    }

    /// Follows redirects until there is a page.
    pub(crate) async fn follows(&mut self) -> &Page {
        for _ in 0..REDIRECTS_MAX {
            if self.page().location().is_none() {
                return self.page();
            }
            self.follows_one().await;
        }
        panic!("too many redirects, at {}", self.page().url);
    }

    /// Follows one redirect.
    pub(crate) async fn follows_one(&mut self) -> &Page {
        let location = self.page().location().expect("a redirect");
        self.request(Method::GET, location, None).await
    }

    /// Follows a link of the page, and redirects to the next one.
    pub(crate) async fn clicks(&mut self, link: Url) -> &Page {
        self.request(Method::GET, link, None).await;
        self.follows().await
    }

    /// Sends a form of the page, and follows nothing.
    pub(crate) async fn submits(&mut self, form: Form) -> &Page {
        let Form { mut action, post, fields, .. } = form;
        if post {
            return self.request(Method::POST, action, Some(encode(&fields))).await;
        }
        action.set_query(Some(&encode(&fields)));
        self.request(Method::GET, action, None).await
    }

    /// Presses the button of the form whose action ends so, and follows redirects to a page.
    pub(crate) async fn presses(&mut self, action_end: &str) -> &Page {
        let form = self.page().form_to(action_end);
        self.submits(form).await;
        self.follows().await
    }

    /// Loads the page again.
    pub(crate) async fn reloads(&mut self) -> &Page {
        let url = self.page().url.clone();
        self.request(Method::GET, url, None).await;
        self.follows().await
    }

    /// Makes one request as this browser, from the page that it shows.
    pub(crate) async fn request(&mut self, method: Method, url: Url, body: Option<String>) -> &Page {
        self.tries(method, url, body).await.expect("a whole answer")
    }

    /// The same where the server may be gone before it has answered; the page then stays.
    pub(crate) async fn tries(
        &mut self,
        method: Method,
        url: Url,
        body: Option<String>,
    ) -> Result<&Page, reqwest::Error> {
        let from = self.page.as_ref().map(|page| page.url.clone());
        let same_site = from.as_ref().is_none_or(|from| from.host_str() == url.host_str());
        let cookies = self.jar().header(&url, method == Method::POST && !same_site, self.clock.now());
        let mut headers = self.origin_headers(&method, &url);
        if let Some(cookies) = cookies {
            headers.insert("cookie", HeaderValue::from_str(&cookies).expect("cookies are ASCII"));
        }
        if body.is_some() {
            headers.insert("content-type", HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        headers.extend(self.more_headers.clone());
        let request = self.client.request(method, url.clone()).headers(headers);
        let answer = request.body(body.unwrap_or_default()).send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        self.jar().take(&url, &headers, self.clock.now());
        let html = answer.text().await?;
        let page = Page { url, status, headers, html };
        self.history.push(page.clone());
        Ok(self.page.insert(page))
    }

    /// What browsers tell of where a navigation comes from (Fetch, and Fetch Metadata). Redirects within a chain are
    /// taken for navigations of their own; the site is then no closer than in life.
    fn origin_headers(&self, method: &Method, url: &Url) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name, value: &str| {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).expect("ASCII"));
        };
        put("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        put("sec-fetch-mode", "navigate");
        put("sec-fetch-dest", "document");
        let Some(page) = &self.page else {
            put("sec-fetch-site", "none");
            return headers;
        };
        let site = match () {
            () if page.url.origin() == url.origin() => "same-origin",
            () if page.url.host_str() == url.host_str() => "same-site",
            () => "cross-site",
        };
        put("sec-fetch-site", site);
        let policy = page.header("referrer-policy");
        let tells = policy != "no-referrer" && (policy != "same-origin" || site == "same-origin");
        if method == Method::POST {
            // With no-referrer a browser hides the origin of a post too.
            let origin = page.url.origin().ascii_serialization();
            put("origin", if tells { &origin } else { "null" });
        }
        if tells && site == "same-origin" {
            put("referer", page.url.as_str());
        }
        headers
    }
}

/// `application/x-www-form-urlencoded`.
pub(crate) fn encode(fields: &[(String, String)]) -> String {
    let mut url: Url = "http://form/".parse().expect("a URL");
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}
