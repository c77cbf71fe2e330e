//! The steps of a connect flow, as a story tells them.

use super::{browser::Browser, page::Page};

impl Browser {
    /// On a page that offers a sign-in: takes it, and is `person` at the authorization server. Ends at the page behind
    /// it, which may ask whether this browser is theirs now.
    pub(crate) async fn signs_in(&mut self, person: &str) -> &Page {
        let link = self.page().link_to("/sign-in");
        self.clicks(link).await;
        self.answers_as(person).await
    }

    /// On the authorization server's own page: continues as `person`. Elsewhere: nothing, for it knew them.
    pub(crate) async fn answers_as(&mut self, person: &str) -> &Page {
        if self.page().name().is_none() {
            let form = self.page().form_to("/sign-in").press("person", person);
            self.submits(form).await;
            self.follows().await;
        }
        self.page()
    }

    /// "You are now X. Continue?" Yes.
    pub(crate) async fn confirms(&mut self) -> &Page {
        self.presses("/sign-in/confirm").await
    }

    /// Agrees to connect. Ends at the page that names the third party.
    pub(crate) async fn agrees(&mut self) -> &Page {
        self.presses("/continue").await
    }

    /// Declines to connect.
    pub(crate) async fn declines(&mut self) -> &Page {
        self.presses("/decline").await
    }

    /// Leaves for the third party, as the page does by itself. Ends at the third party's question.
    pub(crate) async fn leaves(&mut self) -> &Page {
        let authorize = self.page().refresh().expect("a page that leads away");
        self.clicks(authorize).await
    }

    /// Allows it at the third party, as `account`. The browser holds the way back and has not taken it:
    /// `page().location()` is the callback's URL, for whoever captures it.
    pub(crate) async fn approves(&mut self, account: &str) -> &Page {
        let form = self.page().form_to("/consent").press("account", account);
        self.submits(form).await
    }

    /// Says no at the third party. As [`Browser::approves`], the way back is not taken.
    pub(crate) async fn denies(&mut self) -> &Page {
        let form = self.page().form_to("/consent").press("deny", "1");
        self.submits(form).await
    }

    /// Takes the way back from the third party. Ends at the outcome.
    pub(crate) async fn returns(&mut self) -> &Page {
        self.follows().await
    }

    /// From the ready page to the outcome, as `account` at the third party.
    pub(crate) async fn connects(&mut self, account: &str) -> &Page {
        self.agrees().await.is("leaving");
        self.leaves().await;
        self.approves(account).await;
        self.returns().await
    }
}
