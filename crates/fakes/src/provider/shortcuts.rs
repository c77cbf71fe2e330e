//! What a test does in place of a browser: the same checks as the authorize endpoint, and the answer as a value.

use super::Provider;
use crate::answers::url_parameters;
use crate::oauth::{Asked, FormPost, Refused, Reply, Turned, Via};

impl Provider {
    /// Opens an authorize URL, allows everything asked for as that account, and returns the URL that the browser
    /// would be sent to. A request that this server answers with an error to the client gives that URL too.
    ///
    /// # Errors
    /// When the server would show a page of its own instead (unknown client, wrong redirect URI, ...), when the
    /// account does not exist, or when the request wants `form_post`.
    pub fn approve(&self, authorize_url: &str, account: &str) -> Result<String, Refused> {
        redirect(self.answer(authorize_url, Some(account), None)?)
    }

    /// The same with only these of the asked scopes left ticked.
    ///
    /// # Errors
    /// As [`Provider::approve`].
    pub fn approve_with_scopes(
        &self,
        authorize_url: &str,
        account: &str,
        scopes: &[&str],
    ) -> Result<String, Refused> {
        redirect(self.answer(authorize_url, Some(account), Some(scopes))?)
    }

    /// Opens an authorize URL and presses Deny.
    ///
    /// # Errors
    /// As [`Provider::approve`].
    pub fn deny(&self, authorize_url: &str) -> Result<String, Refused> {
        redirect(self.answer(authorize_url, None, None)?)
    }

    /// As `approve`, for a request with `response_mode=form_post`: the form that the browser would post.
    ///
    /// # Errors
    /// As [`Provider::approve`], and when the request wants a redirect.
    pub fn approve_form_post(&self, authorize_url: &str, account: &str) -> Result<FormPost, Refused> {
        match self.answer(authorize_url, Some(account), None)? {
            Reply::FormPost(form) => Ok(form),
            Reply::Redirect(_) => Err(Refused::new("invalid_request", "this request wants a redirect")),
        }
    }

    /// Opens an authorize URL and answers it; `None` for the account is Deny, `None` for the scopes all of them.
    ///
    /// # Errors
    /// When the server would show a page of its own instead, or the account does not exist.
    pub fn answer(
        &self,
        authorize_url: &str,
        account: Option<&str>,
        scopes: Option<&[&str]>,
    ) -> Result<Reply, Refused> {
        let core = &self.inner.core;
        if let Some(account) = account {
            self.inner.known(account)?;
        }
        let sent = url_parameters(&core.issuer, authorize_url)?;
        let asked = match core.ask(sent, Via::Shortcut) {
            Ok(asked) => asked,
            Err(Turned::Back(error)) => return Ok(error),
            Err(Turned::Here(refused)) => return Err(refused),
        };
        let Some(account) = account else { return Ok(core.deny(&asked, "access_denied")) };
        let ticked = ticked(&asked, scopes);
        Ok(core.approve(&asked, account, &ticked, core.clock.now_s()))
    }
}

fn ticked(asked: &Asked, scopes: Option<&[&str]>) -> Vec<String> {
    let Some(left) = scopes else { return asked.scopes.clone() };
    asked.scopes.iter().filter(|scope| left.contains(&scope.as_str())).cloned().collect()
}

fn redirect(reply: Reply) -> Result<String, Refused> {
    match reply {
        Reply::Redirect(location) => Ok(location),
        Reply::FormPost(_) => Err(Refused::new("invalid_request", "this request wants form_post")),
    }
}
