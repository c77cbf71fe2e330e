//! Showing a link safely before anyone opens it (client/elicitation, "Safe URL handling"): the whole text, the host and
//! the registrable domain apart from the rest, and what should make a person look twice. Nothing is ever fetched, and
//! nothing is opened: that is for the client, after the user has agreed to what is shown here.

mod revealing;
mod scripts;

use url::{Host, Url};

/// A link as it would be opened, in ASCII.
///
/// ```
/// use consentry_elicitation::{Link, Warning};
///
/// let link = Link::parse("https://connect.example.com/connect?elicitationId=550e8400")?;
/// assert_eq!(link.host(), "connect.example.com");
/// assert!(link.warnings().is_empty());
///
/// let (before, host, after) = link.parts();
/// assert_eq!((before, host, after), ("https://", "connect.example.com", "/connect?elicitationId=550e8400"));
///
/// // What somebody registered is what tells whose site it is.
/// let link = Link::parse("https://github.com.login.example.co.uk/")?;
/// assert_eq!(link.domain(), Some("example.co.uk"));
///
/// let link = Link::parse("https://connect.example.com@exämple.test/")?;
/// assert_eq!(link.text(), "https://connect.example.com@xn--exmple-cua.test/");
/// assert_eq!(link.warnings(), [Warning::UserInfo, Warning::Punycode]);
/// # Ok::<(), consentry_elicitation::InvalidLink>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    url: Url,
    host: Host<String>,
    shown: String,
}

/// What should make a person look twice.
///
/// ```
/// use consentry_elicitation::{Link, Warning};
///
/// assert_eq!(Link::parse("http://198.51.100.7/")?.warnings(), [Warning::NotHttps, Warning::IpAddress]);
/// assert!(Link::parse("http://localhost:8080/")?.warnings().is_empty());
/// # Ok::<(), consentry_elicitation::InvalidLink>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// Something stands before an `@`, where it can pass for the host.
    UserInfo,
    /// Not HTTPS, and not this machine.
    NotHttps,
    /// The host is written in Punycode: it may look like another when shown in its own letters.
    Punycode,
    /// The host's own letters come from scripts that are not written together: one of them may pass for another.
    MixedScripts,
    /// The host is an address instead of a name, and not of this machine.
    IpAddress,
    /// Another port than the usual one, and not on this machine: it may be somebody else's server on that host.
    Port,
    /// The link carries something like a password, a token or a signature: whoever has the link has it too.
    Credentials,
    /// The link tells something like an e-mail address or a name of a user.
    PersonalData,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::UserInfo => "there is a name before the @ that is not the site",
            Self::NotHttps => "the connection is not encrypted",
            Self::Punycode => "the site's name has letters that may look like others",
            Self::MixedScripts => "the site's name mixes letters of different scripts",
            Self::IpAddress => "the site has an address instead of a name",
            Self::Port => "the site is on an unusual port",
            Self::Credentials => "the link carries what looks like a credential",
            Self::PersonalData => "the link tells something about a person",
        })
    }
}

/// The text is not a link that may be shown for opening.
///
/// ```
/// use consentry_elicitation::{InvalidLink, Link};
///
/// assert_eq!(Link::parse("connect.example.com"), Err(InvalidLink::NotUrl));
/// assert_eq!(Link::parse("javascript:alert(1)"), Err(InvalidLink::Scheme));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLink {
    /// Not an absolute URL.
    #[error("not an absolute URL")]
    NotUrl,
    /// Not a page of the web: neither `https` nor `http`.
    #[error("neither an https nor an http URL")]
    Scheme,
}

impl Link {
    /// Reads a link as browsers do (WHATWG URL).
    ///
    /// # Errors
    ///
    /// When it is not an absolute `https` or `http` URL.
    pub fn parse(text: &str) -> Result<Self, InvalidLink> {
        let url = Url::parse(text).map_err(|_| InvalidLink::NotUrl)?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(InvalidLink::Scheme);
        }
        let host = url.host().ok_or(InvalidLink::NotUrl)?.to_owned();
        let shown = host.to_string();
        Ok(Self { url, host, shown })
    }

    /// The whole link, which is what must be shown and what must be opened.
    #[must_use]
    pub fn text(&self) -> &str {
        self.url.as_str()
    }

    /// The host alone, in ASCII; an IPv6 address with its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.shown
    }

    /// The text before the host, the host, and the text behind it, for showing the host in another style.
    #[must_use]
    pub fn parts(&self) -> (&str, &str, &str) {
        let text = self.text();
        let from = self.url[..url::Position::BeforeHost].len();
        let to = self.url[..url::Position::AfterHost].len();
        (&text[..from], &text[from..to], &text[to..])
    }

    /// The domain that was registered, with the public suffix below which that is done; it ends the host, but for the dot
    /// that may stand behind a name. `None` for an
    /// address, for a name of one word, and for a public suffix itself.
    #[must_use]
    pub fn domain(&self) -> Option<&str> {
        let Host::Domain(_) = self.host else { return None };
        psl::domain_str(self.shown.strip_suffix('.').unwrap_or(&self.shown))
    }

    /// The text before the registered domain, that domain, and the text behind it, for showing the domain in another
    /// style (E59). Where no domain was registered it is the host.
    #[must_use]
    pub fn highlighted(&self) -> (&str, &str, &str) {
        let text = self.text();
        let (before, host, _) = self.parts();
        let (from, to) = (before.len(), before.len() + host.strip_suffix('.').unwrap_or(host).len());
        let from = self.domain().map_or(from, |domain| to - domain.len());
        (&text[..from], &text[from..to], &text[to..])
    }

    /// The host in its own letters, when it is written in Punycode: to be shown beside the link, never in its place.
    #[must_use]
    pub fn in_letters(&self) -> Option<String> {
        let (letters, valid) = idna::domain_to_unicode(&self.shown);
        (valid.is_ok() && letters != self.shown).then_some(letters)
    }

    /// Is the host an address?
    #[must_use]
    pub fn is_ip(&self) -> bool {
        !matches!(self.host, Host::Domain(_))
    }

    /// Does it lead to this machine: `localhost`, a name below it, `127.0.0.0/8` or `[::1]`?
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                name == "localhost" || name.ends_with(".localhost")
            }
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }

    /// What should be said beside the link.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let (credentials, personal) = revealing::of(&self.url);
        let named = !self.url.username().is_empty() || self.url.password().is_some();
        [
            (named, Warning::UserInfo),
            (self.url.scheme() != "https" && !self.is_loopback(), Warning::NotHttps),
            (self.shown.split('.').any(|label| label.starts_with("xn--")), Warning::Punycode),
            (self.in_letters().is_some_and(|letters| scripts::are_mixed(&letters)), Warning::MixedScripts),
            (self.is_ip() && !self.is_loopback(), Warning::IpAddress),
            (self.url.port().is_some() && !self.is_loopback(), Warning::Port),
            (credentials, Warning::Credentials),
            (personal, Warning::PersonalData),
        ]
        .into_iter()
        .filter_map(|(on, warning)| on.then_some(warning))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn this_machine_needs_no_https() {
        for text in ["http://localhost/", "http://a.localhost./", "http://127.8.9.1:1/", "http://[::1]:8080/"]
        {
            let link = Link::parse(text).unwrap();
            assert!(link.is_loopback() && link.warnings().is_empty(), "{text}");
        }
        assert_eq!(Link::parse("http://localhost.example/").unwrap().warnings(), [Warning::NotHttps]);
    }

    #[test]
    fn an_address_in_disguise_is_an_address() {
        for text in
            ["https://0x7f000001.example.2130706433/", "https://3232235777/", "https://[2001:db8::1]/"]
        {
            let Ok(link) = Link::parse(text) else { continue };
            assert_eq!((link.is_ip(), link.warnings()), (true, vec![Warning::IpAddress]), "{text}");
        }
        assert_eq!(Link::parse("https://2130706433/").unwrap().host(), "127.0.0.1");
    }

    #[test]
    fn e49_e59_the_registered_domain_stands_out() {
        for (text, before, domain, after) in [
            ("https://github.com/a?b", "https://", "github.com", "/a?b"),
            ("https://github.com.evil.example/", "https://github.com.", "evil.example", "/"),
            ("https://www.example.com./", "https://www.", "example.com", "./"),
            ("https://a.b.co.uk:8443/", "https://a.", "b.co.uk", ":8443/"),
            ("https://someone.github.io/", "https://", "someone.github.io", "/"),
            ("https://user@www.example.com/", "https://user@www.", "example.com", "/"),
            ("https://github.io/", "https://", "github.io", "/"),
            ("https://[2001:db8::1]/", "https://", "[2001:db8::1]", "/"),
            ("https://192.0.2.1/", "https://", "192.0.2.1", "/"),
            ("http://localhost:80/", "http://", "localhost", "/"),
            ("https://www.xn--exmple-cua.test/", "https://www.", "xn--exmple-cua.test", "/"),
        ] {
            assert_eq!(Link::parse(text).unwrap().highlighted(), (before, domain, after), "{text}");
        }
        for text in ["https://co.uk/", "https://intranet/", "https://192.0.2.1/"] {
            assert_eq!(Link::parse(text).unwrap().domain(), None, "{text}");
        }
    }

    #[test]
    fn e60_what_is_ambiguous_or_suspicious_is_told() {
        for (text, warnings) in [
            ("https://connect.example.com/", vec![]),
            ("https://bücher.example/", vec![Warning::Punycode]),
            ("https://pаypal.example/", vec![Warning::Punycode, Warning::MixedScripts]),
            ("https://connect.example.com:8443/", vec![Warning::Port]),
            ("https://connect.example.com:443/", vec![]),
            ("http://connect.example.com:80/", vec![Warning::NotHttps]),
            ("https://github.com@evil.example/", vec![Warning::UserInfo]),
            ("https://:x@evil.example/", vec![Warning::UserInfo]),
            ("https://a.example/?token=x&email=y", vec![Warning::Credentials, Warning::PersonalData]),
            ("http://192.0.2.1:8080/", vec![Warning::NotHttps, Warning::IpAddress, Warning::Port]),
        ] {
            assert_eq!(Link::parse(text).unwrap().warnings(), warnings, "{text}");
        }
        assert_eq!(Link::parse("https://bücher.example/").unwrap().in_letters().unwrap(), "bücher.example");
        assert_eq!(Link::parse("https://example.com/").unwrap().in_letters(), None);
    }

    #[test]
    fn what_cannot_be_opened_on_the_web_is_refused() {
        for text in [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://a.example/",
            "mailto:a@b.c",
        ] {
            assert_eq!(Link::parse(text), Err(InvalidLink::Scheme), "{text}");
        }
        for text in ["", "/connect", "https://", "a.example"] {
            assert_eq!(Link::parse(text), Err(InvalidLink::NotUrl), "{text}");
        }
    }

    proptest! {
        #[test]
        fn e57_the_parts_are_the_text_and_all_is_visible_ascii(text in "(https?://)?[^ ]{0,24}(/[^ ]{0,12})?") {
            if let Ok(link) = Link::parse(&text) {
                let (before, host, after) = link.parts();
                prop_assert_eq!(format!("{before}{host}{after}"), link.text());
                prop_assert_eq!(host, link.host());
                let (before, domain, after) = link.highlighted();
                prop_assert_eq!(format!("{before}{domain}{after}"), link.text());
                prop_assert!(link.host().trim_end_matches('.').ends_with(domain.trim_end_matches('.')));
                let _ = (link.warnings(), link.in_letters());
                prop_assert!(link.text().bytes().all(|byte| byte.is_ascii_graphic()), "{}", link.text());
                prop_assert_eq!(Link::parse(link.text()).unwrap(), link);
            }
        }
    }
}
