//! Registered clients, and proving to be one (RFC 6749 section 2.3): by exactly the method that was registered.

pub(crate) mod assertion;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use url::form_urlencoded;

use crate::parameters::Parameters;
pub use assertion::Assertion;

/// How a client must prove itself at the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// A public client: `client_id` in the body, no secret.
    None,
    /// `client_secret_basic`: id and secret form-encoded, then Basic.
    Basic(String),
    /// `client_secret_post`: id and secret in the body.
    Post(String),
    /// The secret as the user of Basic, without a password; no id anywhere.
    SecretAsUser(String),
    /// `private_key_jwt` (RFC 7523).
    Assertion(Assertion),
}

impl Authentication {
    /// The name in metadata and registrations.
    pub fn method(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic(_) => "client_secret_basic",
            Self::Post(_) => "client_secret_post",
            Self::SecretAsUser(_) => "secret_as_basic_user",
            Self::Assertion(_) => "private_key_jwt",
        }
    }
}

/// A registered client.
#[derive(Clone, Debug)]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// Shown to the person.
    pub name: String,
    /// The one way in which it may authenticate.
    pub authentication: Authentication,
    /// Compared byte for byte.
    pub redirect_uris: Vec<String>,
    /// RFC 8252 section 7.3: a loopback redirect URI may have any port. Only for documents of native clients.
    pub any_loopback_port: bool,
    /// Nobody here has vetted it (it registered itself): the person is asked even when signed in.
    pub unvetted: bool,
}

impl Client {
    fn new(id: &str, authentication: Authentication) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            authentication,
            redirect_uris: Vec::new(),
            any_loopback_port: false,
            unvetted: false,
        }
    }

    /// A confidential client that uses `client_secret_basic`.
    pub fn basic(id: &str, secret: &str) -> Self {
        Self::new(id, Authentication::Basic(secret.to_owned()))
    }

    /// A confidential client that uses `client_secret_post`.
    pub fn post(id: &str, secret: &str) -> Self {
        Self::new(id, Authentication::Post(secret.to_owned()))
    }

    /// A client whose secret alone names and proves it.
    pub fn secret_as_user(id: &str, secret: &str) -> Self {
        Self::new(id, Authentication::SecretAsUser(secret.to_owned()))
    }

    /// A client that signs, by ES256, for this audience and no other.
    pub fn assertion(id: &str, public_key: &[u8], audience: &str) -> Self {
        let (public_key, audience) = (public_key.to_vec(), audience.to_owned());
        Self::new(id, Authentication::Assertion(Assertion { public_key, audience }))
    }

    /// A client without a secret.
    pub fn public(id: &str) -> Self {
        Self::new(id, Authentication::None)
    }

    /// One more redirect URI.
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uris.push(uri.into());
        self
    }

    /// The name that pages show.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    pub(crate) fn accepts_redirect(&self, uri: &str) -> bool {
        self.redirect_uris
            .iter()
            .any(|known| known == uri || (self.any_loopback_port && same_but_port(known, uri)))
    }
}

fn same_but_port(known: &str, uri: &str) -> bool {
    let (Ok(mut known), Ok(mut uri)) = (url::Url::parse(known), url::Url::parse(uri)) else { return false };
    let loopback = matches!(known.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    loopback && known.set_port(None).is_ok() && uri.set_port(None).is_ok() && known == uri
}

/// The method that a request used, right or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationUsed {
    /// No secret at all.
    None,
    /// An `Authorization: Basic` header.
    Basic,
    /// `client_secret` in the body.
    Post,
    /// An `Authorization: Basic` header with a user and no password.
    SecretAsUser,
    /// A signed `client_assertion` in the body.
    Assertion,
    /// Several, which RFC 6749 section 2.3 forbids.
    Several,
}

/// What a request says about who sent it.
#[derive(Clone, Debug)]
pub(crate) struct Presented {
    pub(crate) used: AuthenticationUsed,
    pub(crate) id: Option<String>,
    secret: Option<String>,
    /// The header and the body name different clients, or the header is no Basic.
    broken: bool,
}

impl Presented {
    pub(crate) fn read(headers: &HeaderMap, body: &Parameters) -> Self {
        let in_body = body.owned("client_id");
        if let Some(signed) = body.owned("client_assertion") {
            let typed = body.get("client_assertion_type") == Some(assertion::TYPE);
            let other =
                headers.contains_key(http::header::AUTHORIZATION) || body.get("client_secret").is_some();
            let used = if other { AuthenticationUsed::Several } else { AuthenticationUsed::Assertion };
            return Self { used, id: in_body, secret: Some(signed), broken: other || !typed };
        }
        let posted = body.owned("client_secret");
        let header = headers.get(http::header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        match (header.map(basic), posted) {
            (None, None) => Self { used: AuthenticationUsed::None, id: in_body, secret: None, broken: false },
            (None, secret) => Self { used: AuthenticationUsed::Post, id: in_body, secret, broken: false },
            (Some(_), Some(_)) => {
                Self { used: AuthenticationUsed::Several, id: in_body, secret: None, broken: true }
            }
            (Some(None), None) => {
                Self { used: AuthenticationUsed::Basic, id: in_body, secret: None, broken: true }
            }
            (Some(Some((user, password))), None) if password.is_empty() => Self {
                used: AuthenticationUsed::SecretAsUser,
                id: in_body,
                secret: Some(user),
                broken: false,
            },
            (Some(Some((id, secret))), None) => {
                let broken = in_body.is_some_and(|body| body != id);
                Self { used: AuthenticationUsed::Basic, id: Some(id), secret: Some(secret), broken }
            }
        }
    }

    /// Whether this proves to be the confidential `client` by Basic, whatever is registered for the token endpoint.
    pub(crate) fn proves_by_basic(&self, client: &Client) -> bool {
        let (Authentication::Basic(secret) | Authentication::Post(secret)) = &client.authentication else {
            return false;
        };
        self.used == AuthenticationUsed::Basic
            && !self.broken
            && self.id.as_ref() == Some(&client.id)
            && self.secret.as_ref() == Some(secret)
    }

    /// The secret of a header that names nobody.
    pub(crate) fn nameless_secret(&self) -> Option<&str> {
        self.secret.as_deref().filter(|_| self.used == AuthenticationUsed::SecretAsUser && self.id.is_none())
    }

    /// The assertion of one that has nothing else.
    pub(crate) fn signed(&self) -> Option<&str> {
        self.secret.as_deref().filter(|_| self.used == AuthenticationUsed::Assertion && !self.broken)
    }

    /// Whether this proves to be `client`, by its registered method and no other. An assertion is checked elsewhere.
    pub(crate) fn proves(&self, client: &Client) -> bool {
        let secret = match (&client.authentication, self.used) {
            (Authentication::None, AuthenticationUsed::None) => return !self.broken,
            (Authentication::Basic(secret), AuthenticationUsed::Basic)
            | (Authentication::SecretAsUser(secret), AuthenticationUsed::SecretAsUser)
            | (Authentication::Post(secret), AuthenticationUsed::Post) => secret,
            _ => return false,
        };
        !self.broken && self.secret.as_ref() == Some(secret)
    }
}

/// RFC 6749 section 2.3.1: both halves are form-encoded before Basic joins them.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let joined = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = joined.split_once(':')?;
    Some((form_decode(id), form_decode(secret)))
}

fn form_decode(text: &str) -> String {
    // As the value of a parameter: `&` and `=` inside are then data only when they were encoded, as they must be.
    let pair = format!("v={text}");
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(basic: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Basic {}", STANDARD.encode(basic)).parse().unwrap());
        headers
    }

    #[test]
    fn basic_wants_form_encoded_halves() {
        let client = Client::basic("app", "a:b%c+d&é");
        let encoded = form_urlencoded::byte_serialize("a:b%c+d&é".as_bytes()).collect::<String>();
        let none = Parameters::default();
        assert!(Presented::read(&headers(&format!("app:{encoded}")), &none).proves(&client));
        assert!(!Presented::read(&headers("app:a:b%c+d&é"), &none).proves(&client));
    }

    #[test]
    fn only_the_registered_method_counts() {
        let body = Parameters::parse(b"client_id=app&client_secret=s");
        assert!(Presented::read(&HeaderMap::new(), &body).proves(&Client::post("app", "s")));
        assert!(!Presented::read(&HeaderMap::new(), &body).proves(&Client::basic("app", "s")));
        assert!(!Presented::read(&headers("app:s"), &body).proves(&Client::basic("app", "s")), "two at once");
        assert!(!Presented::read(&headers("app:s"), &Parameters::default()).proves(&Client::public("app")));
    }

    #[test]
    fn any_port_only_where_allowed_and_on_loopback() {
        let mut client = Client::public("native").redirect_uri("http://127.0.0.1/cb");
        assert!(!client.accepts_redirect("http://127.0.0.1:4000/cb"));
        client.any_loopback_port = true;
        assert!(client.accepts_redirect("http://127.0.0.1:4000/cb"));
        assert!(!client.accepts_redirect("http://127.0.0.1:4000/other"));
        assert!(!client.accepts_redirect("http://127.0.0.2:4000/cb"));
    }
}
