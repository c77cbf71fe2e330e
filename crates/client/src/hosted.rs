//! Pages of the MCP server's own: for whom a visit is, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use url::Url;

use crate::Subject;

/// For whom a visit to a page is.
///
/// ```no_run
/// # async fn page(consentry: consentry_client::Client, code: &str, state: &str) -> Result<(), consentry_client::Error> {
/// use consentry_client::PageResult;
///
/// // First of all, and once; then to an address without the code, so that reloading the page does not redeem it again.
/// let visit = consentry.redeem(code).await?;
/// // The code is no login: let `visit.subject` be the person who is signed in at the page, or let them pay as themselves.
/// let paid = PageResult::accepted().label("Order A-1").value("order", "A-1");
/// consentry.page_result(&visit.elicitation_id, &paid).await?;
/// // Then send the browser here. Without it nothing is completed.
/// let back = visit.back(state);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PageVisit {
    /// The elicitation that is answered by it.
    pub elicitation_id: String,
    /// Who is asked. Whoever is at the browser need not be the same.
    pub subject: Subject,
    /// The provider's id.
    pub provider: String,
    /// What the caller named its MCP client.
    pub client_ref: Option<String>,
    /// Where the browser is sent back to.
    pub redirect_uri: Url,
    /// Until when.
    #[serde(with = "time::serde::rfc3339")]
    pub expires_at: OffsetDateTime,
}

impl PageVisit {
    /// Where to send the browser when it is done: `state` is that of the page's address.
    #[must_use]
    pub fn back(&self, state: &str) -> Url {
        let mut url = self.redirect_uri.clone();
        url.query_pairs_mut().append_pair("state", state);
        url
    }

    /// The same with an error (RFC 6749, section 4.1.2.1), such as `access_denied` when the user said no: the visit ends, and
    /// the link works again.
    #[must_use]
    pub fn back_with_error(&self, state: &str, error: &str) -> Url {
        let mut url = self.back(state);
        url.query_pairs_mut().append_pair("error", error);
        url
    }
}

/// What came of a visit.
///
/// ```
/// use consentry_client::PageResult;
///
/// let paid = PageResult::accepted().label("Order A-1").value("order", "A-1");
/// assert_eq!(
///     serde_json::to_value(&paid)?,
///     serde_json::json!({ "result": "accepted", "label": "Order A-1", "values": { "order": "A-1" } })
/// );
/// let declined = PageResult::failed(Some("card_declined"));
/// assert_eq!(serde_json::to_value(&declined)?, serde_json::json!({ "result": "failed", "reason": "card_declined" }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageResult {
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl PageResult {
    /// It was done. It counts once the user's browser is back.
    #[must_use]
    pub fn accepted() -> Self {
        Self { result: "accepted", label: None, values: BTreeMap::new(), reason: None }
    }

    /// It came to nothing, and the elicitation has failed. The reason is 1 to 64 of `a-z`, `0-9` and `_`.
    #[must_use]
    pub fn failed(reason: Option<&str>) -> Self {
        Self { result: "failed", reason: reason.map(str::to_owned), ..Self::accepted() }
    }

    /// What the user knows it by; only of what was accepted.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Something to find again, nothing secret; only of what was accepted.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }
}
