//! What a test does in place of a browser or an MCP client.

use serde_json::{Map, Value};

use super::AuthorizationServer;
use super::issue::Says;
use crate::answers::url_parameters;
use crate::log::lock;
use crate::oauth::{Access, FormPost, Refused, Reply, Turned, Via};
use crate::tokens::Forge;

/// The client that tokens from `access_token_for` name.
const MCP_CLIENT: &str = "example-mcp-client";

const HOUR_S: i64 = 3600;

impl AuthorizationServer {
    /// Opens an authorize URL, signs in as that person, and returns the URL that the browser would be sent to. The
    /// browser's own sign-in here is neither used nor changed.
    ///
    /// # Errors
    /// When the server would show a page of its own instead (unknown client, wrong redirect URI, ...), when there is
    /// no such person, or when the request wants `form_post`.
    pub async fn approve(&self, authorize_url: &str, person: &str) -> Result<String, Refused> {
        redirect(self.answer(authorize_url, Some(person)).await?)
    }

    /// Opens an authorize URL and presses Cancel.
    ///
    /// # Errors
    /// As [`AuthorizationServer::approve`].
    pub async fn deny(&self, authorize_url: &str) -> Result<String, Refused> {
        redirect(self.answer(authorize_url, None).await?)
    }

    /// As `approve`, for a request with `response_mode=form_post`: the form that the browser would post.
    ///
    /// # Errors
    /// As [`AuthorizationServer::approve`], and when the request wants a redirect.
    pub async fn approve_form_post(&self, authorize_url: &str, person: &str) -> Result<FormPost, Refused> {
        match self.answer(authorize_url, Some(person)).await? {
            Reply::FormPost(form) => Ok(form),
            Reply::Redirect(_) => Err(Refused::new("invalid_request", "this request wants a redirect")),
        }
    }

    /// Opens an authorize URL and answers it; `None` is Cancel.
    ///
    /// # Errors
    /// When the server would show a page of its own instead, or there is no such person.
    pub async fn answer(&self, authorize_url: &str, person: Option<&str>) -> Result<Reply, Refused> {
        let core = &self.inner.core;
        let person = person.map(|sub| self.inner.person(sub)).transpose()?;
        let sent = url_parameters(&core.issuer, authorize_url)?;
        match self.inner.ask(sent, Via::Shortcut).await {
            Err(Turned::Back(error)) => Ok(error),
            Err(Turned::Here(refused)) => Err(refused),
            Ok(asked) => Ok(match person {
                None => core.deny(&asked, "access_denied"),
                Some(person) => core.approve(&asked, &person.sub, &asked.scopes, core.clock.now_s()),
            }),
        }
    }

    /// An access token of that person for an MCP server, as its MCP client would hold it: an RFC 9068 JWT for an hour
    /// with the scope `mcp` (or opaque, when so configured; introspection knows it).
    ///
    /// # Errors
    /// When there is no such person.
    pub fn access_token_for(&self, person: &str, resource: &str) -> Result<String, Refused> {
        self.forged_access_token(person, resource, &self.inner.honest())
    }

    /// The same, made by a recipe. Introspection knows it as if it were honest.
    ///
    /// # Errors
    /// When there is no such person.
    pub fn forged_access_token(
        &self,
        person: &str,
        resource: &str,
        forge: &Forge,
    ) -> Result<String, Refused> {
        let person = self.inner.person(person)?;
        let core = &self.inner.core;
        let subject = self.inner.subject(&person.sub, MCP_CLIENT);
        let (audience, scopes) = ([resource.to_owned()], ["mcp".to_owned()]);
        let issued_ms = core.clock.now_ms();
        let says = Says {
            subject: &subject,
            client_id: MCP_CLIENT,
            audience: &audience,
            scopes: &scopes,
            auth_time: issued_ms.div_euclid(1000),
            life_s: HOUR_S,
        };
        let token = self.inner.access_token(&says, forge).ok_or_else(no_key)?;
        let access = Access {
            family: None,
            account: person.sub,
            client_id: MCP_CLIENT.to_owned(),
            scopes: scopes.to_vec(),
            audience: audience.to_vec(),
            subject,
            issued_ms,
            expires_ms: issued_ms.saturating_add(HOUR_S * 1000),
        };
        core.remember_free(&token, access);
        Ok(token)
    }

    /// Signs exactly these claims as a token of type `typ` (`JWT`, `at+jwt`, `logout+jwt`), changed by a recipe.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn sign(&self, typ: &str, claims: Map<String, Value>, forge: &Forge) -> Result<String, Refused> {
        forge.sign(&lock(&self.inner.keys), typ, claims).map_err(|_| no_key())
    }
}

fn no_key() -> Refused {
    Refused::new("server_error", "signing failed")
}

fn redirect(reply: Reply) -> Result<String, Refused> {
    match reply {
        Reply::Redirect(location) => Ok(location),
        Reply::FormPost(_) => Err(Refused::new("invalid_request", "this request wants form_post")),
    }
}
