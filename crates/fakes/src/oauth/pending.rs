//! A request that waits for a person's answer. The answer counts only from the browser that was asked: otherwise a
//! page elsewhere could post its own request's handle into somebody's browser.

use std::time::Duration;

use http::HeaderMap;

use super::{Asked, Core, Refused};
use crate::clock::millis;
use crate::entropy;
use crate::log::lock;

const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Pending {
    asked: Asked,
    browser: String,
    expires_ms: i64,
}

impl Core {
    /// Puts a request aside; returns the handle for the page's form and a cookie to set when this browser had none.
    pub(crate) fn put_aside(&self, asked: Asked, headers: &HeaderMap) -> (String, Option<String>) {
        let name = format!("{}-browser", self.cookie_prefix);
        let (browser, cookie) = match browser_cookie(headers, &name) {
            Some(known) => (known, None),
            None => {
                let fresh = entropy::secret("");
                let cookie = self.cookie("browser", &fresh);
                (fresh, Some(cookie))
            }
        };
        let handle = entropy::secret("");
        let expires_ms = self.clock.now_ms().saturating_add(millis(PATIENCE));
        lock(&self.state).pending.insert(handle.clone(), Pending { asked, browser, expires_ms });
        (handle, cookie)
    }

    /// Takes it up again; once.
    pub(crate) fn take_up(&self, handle: &str, headers: &HeaderMap) -> Result<Asked, Refused> {
        let browser = browser_cookie(headers, &format!("{}-browser", self.cookie_prefix));
        let mut state = lock(&self.state);
        let pending = state
            .pending
            .get(handle)
            .ok_or_else(|| Refused::new("invalid_request", "this page was answered already; start again"))?;
        if browser.as_ref() != Some(&pending.browser) {
            return Err(Refused::new("invalid_request", "this page was shown to another browser"));
        }
        let expired = pending.expires_ms <= self.clock.now_ms();
        match state.pending.remove(handle) {
            Some(pending) if !expired => Ok(pending.asked),
            _ => Err(Refused::new("invalid_request", "this page is too old; start again")),
        }
    }

    /// A `Set-Cookie` value for a cookie of this server.
    pub(crate) fn cookie(&self, name: &str, value: &str) -> String {
        let secure = if self.secure() { "; Secure" } else { "" };
        format!("{}-{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}", self.cookie_prefix)
    }
}

/// The value of a request's cookie.
pub(crate) fn browser_cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(http::header::COOKIE).iter().filter_map(|header| header.to_str().ok());
    cookies
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(n, value)| *n == name && !value.is_empty())
        .map(|(_, value)| value.to_owned())
}
