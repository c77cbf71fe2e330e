//! A browser profile's cookies, by the rules of RFC 6265bis that matter here: host, path, `Secure`, `SameSite`,
//! prefixes, expiry. Ports do not separate cookies, as in life.

use consentry::clock::Millis;
use reqwest::{Url, header::HeaderMap};

/// One cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) name: String,
    pub(crate) value: String,
    /// The host that set it; none of ours may reach further.
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) secure: bool,
    pub(crate) http_only: bool,
    /// `Strict`, `Lax` or `None`, as sent; browsers treat nothing as `Lax`.
    pub(crate) same_site: Option<String>,
    /// Never, when absent: until the browser is closed.
    pub(crate) expires: Option<Millis>,
}

/// The cookies of one profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar(Vec<Cookie>);

impl Jar {
    /// Takes what an answer sets.
    pub(crate) fn take(&mut self, url: &Url, headers: &HeaderMap, now: Millis) {
        for header in headers.get_all("set-cookie") {
            let text = header.to_str().expect("a cookie is ASCII");
            let Some(cookie) = read(url, text, now) else { continue };
            let gone = cookie.expires.is_some_and(|expires| expires <= now);
            self.0.retain(|one| {
                (&one.host, &one.name, &one.path) != (&cookie.host, &cookie.name, &cookie.path)
            });
            if !gone {
                self.0.push(cookie);
            }
        }
    }

    /// The `Cookie` header of a request. `cross_site_post`: another site's page posted it.
    pub(crate) fn header(&self, url: &Url, cross_site_post: bool, now: Millis) -> Option<String> {
        let mut sent: Vec<&Cookie> =
            self.0.iter().filter(|one| one.goes_to(url, cross_site_post, now)).collect();
        sent.sort_by_key(|one| std::cmp::Reverse(one.path.len()));
        let pairs: Vec<String> = sent.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Every cookie that a host has set, for tests that look at them.
    pub(crate) fn of(&self, host: &str) -> impl Iterator<Item = &Cookie> {
        self.0.iter().filter(move |one| one.host == host)
    }

    /// Loses the cookies of a host whose names begin so: a private window, a cleaned browser.
    pub(crate) fn lose(&mut self, host: &str, start: &str) {
        self.0.retain(|one| one.host != host || !one.name.starts_with(start));
    }
}

impl Cookie {
    fn goes_to(&self, url: &Url, cross_site_post: bool, now: Millis) -> bool {
        let path = url.path();
        let in_path = path == self.path
            || path
                .strip_prefix(&*self.path)
                .is_some_and(|rest| self.path.ends_with('/') || rest.starts_with('/'));
        self.host == host(url)
            && in_path
            && (!self.secure || url.scheme() == "https")
            && self.expires.is_none_or(|expires| expires > now)
            && (!cross_site_post || self.same_site.as_deref() == Some("None"))
    }
}

fn host(url: &Url) -> &str {
    url.host_str().expect("a web page has a host")
}

/// A cookie that a browser would take.
fn read(url: &Url, text: &str, now: Millis) -> Option<Cookie> {
    let mut parts = text.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    let directory = url.path().rsplit_once('/').map_or("/", |(directory, _)| directory);
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        host: host(url).to_owned(),
        path: if directory.is_empty() { "/".to_owned() } else { directory.to_owned() },
        secure: false,
        http_only: false,
        same_site: None,
        expires: None,
    };
    let mut domain = None;
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match &*key.to_ascii_lowercase() {
            "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
            "secure" => cookie.secure = true,
            "httponly" => cookie.http_only = true,
            "samesite" => cookie.same_site = Some(value.to_owned()),
            "max-age" => {
                let seconds: i64 = value.parse().ok()?;
                cookie.expires = Some(Millis(now.0.saturating_add(seconds.saturating_mul(1000))));
            }
            "domain" => domain = Some(value),
            _ => {}
        }
    }
    let https = url.scheme() == "https";
    let prefixed = cookie.name.starts_with("__Host-");
    let refused = domain.is_some_and(|domain| domain.trim_start_matches('.') != host(url))
        || (cookie.secure && !https)
        || (prefixed && !(cookie.secure && domain.is_none() && cookie.path == "/"))
        || (cookie.same_site.as_deref() == Some("None") && !cookie.secure);
    (!refused).then_some(cookie)
}

#[test]
fn a_cookie_goes_where_it_may() {
    let now = Millis(1_000);
    let url = |text: &str| text.parse::<Url>().unwrap();
    let mut jar = Jar::default();
    let mut headers = HeaderMap::new();
    for set in [
        "a=1; Path=/; HttpOnly; SameSite=Lax",
        "b=2; Path=/deep; Max-Age=10",
        "c=3; Path=/; Secure",
        "__Host-d=4; Path=/",
        "e=5; Path=/; Domain=example.com",
    ] {
        headers.append("set-cookie", set.parse().unwrap());
    }
    jar.take(&url("http://localhost:1/x"), &headers, now);
    assert_eq!(jar.header(&url("http://localhost:2/"), false, now).as_deref(), Some("a=1"));
    assert_eq!(jar.header(&url("http://localhost/deep/er"), false, now).as_deref(), Some("b=2; a=1"));
    assert_eq!(jar.header(&url("http://localhost/deeper"), false, now).as_deref(), Some("a=1"));
    assert_eq!(jar.header(&url("http://localhost/deep"), false, Millis(11_000)).as_deref(), Some("a=1"));
    assert_eq!(jar.header(&url("http://127.0.0.2/"), false, now), None);
    assert_eq!(jar.header(&url("http://localhost/"), true, now), None);
}
