//! A person at `oidc-provider`'s pages, which do not know ours: a form for any name, and one to agree or not.

use crate::browser::driver::Profile;

/// On its second page, whatever it asks for.
const CONSENT: &str = "form:has(input[name=prompt][value=consent])";

impl Profile {
    /// On the first page: gives a name. Ends at the second page.
    pub(super) async fn gives_the_name(&self, name: &str) {
        self.find("input[name=login]").await.send_keys(name).await.unwrap();
        self.find("input[name=password]").await.send_keys("any").await.unwrap();
        self.click("form button[type=submit]").await;
        self.find(CONSENT).await;
    }

    /// On the second page: yes. Ends wherever that leads.
    pub(super) async fn consents(&self) {
        self.click(&format!("{CONSENT} button[type=submit]")).await;
    }

    /// On the second page: no. Ends wherever that leads.
    pub(super) async fn aborts(&self) {
        self.find(CONSENT).await;
        self.click("a[href$='/abort']").await;
    }
}
