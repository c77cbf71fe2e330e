//! The steps of a connect flow, as a person at a browser takes them.

use super::driver::Profile;

/// On `ready` and wherever else one can agree.
pub(crate) const CONTINUE: &str = "form[action$='/continue'] button";
/// On the same pages.
pub(super) const DECLINE: &str = "form[action$='/decline'] button";
/// On `sign-in`.
pub(crate) const SIGN_IN: &str = "main a[href^='/sign-in?']";
/// At the third party.
pub(super) const DENY: &str = "button[name=deny]";

/// "Continue as ..." at the authorization server.
pub(super) fn person(sub: &str) -> String {
    format!("button[name=person][value={sub}]")
}

/// "Allow as ..." at the third party.
pub(super) fn account(login: &str) -> String {
    format!("button[name=account][value={login}]")
}

impl Profile {
    /// Opens a link with nobody signed in, and signs in as `sub`. Ends wherever that leads.
    pub(super) async fn opens_as(&self, sub: &str, link: &str) {
        self.open(link).await;
        self.sees("sign-in").await;
        self.click(SIGN_IN).await;
        self.click(&person(sub)).await;
    }

    /// Agrees, and leaves. Ends at the third party's question, and gives its address.
    pub(super) async fn leaves(&self) -> String {
        self.click(CONTINUE).await;
        self.find(DENY).await;
        self.url().await
    }

    /// Allows it at the third party. Ends wherever that leads.
    pub(super) async fn allows_as(&self, login: &str) {
        self.click(&account(login)).await;
    }

    /// From `ready` to `connected`.
    pub(super) async fn connects_as(&self, login: &str) {
        self.sees("ready").await;
        self.leaves().await;
        self.allows_as(login).await;
        self.sees("connected").await;
        let text = self.text().await;
        assert!(text.contains(login), "{text}");
    }

    /// Waits for one of our pages, with the HTTP status that it was answered with.
    pub(super) async fn is_refused_by(&self, page: &str, status: u16) {
        self.sees(page).await;
        let script = "return performance.getEntriesByType('navigation')[0].responseStatus";
        assert_eq!(self.run(script).await, status, "{page}");
    }

    /// Somebody else sits down at this browser and signs in for a link, which asks whether the browser is theirs now.
    pub(super) async fn becomes(&self, sub: &str, link: &str) {
        self.open(&link.replace("/connect?", "/sign-in?switch=1&")).await;
        self.click(&person(sub)).await;
        self.click("form[action='/sign-in/confirm'] button").await;
    }
}
