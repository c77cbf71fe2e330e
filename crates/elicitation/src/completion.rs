//! The completion notification of 2025-11-25. It never appears in the modern era, and goes to the client that was
//! asked and to no other.

use serde::{Deserialize, Serialize};

use crate::object::object;

/// The notification's method.
pub const COMPLETE_METHOD: &str = "notifications/elicitation/complete";

/// Parameters of `notifications/elicitation/complete`.
///
/// ```
/// use consentry_elicitation::ElicitationComplete;
///
/// let params = ElicitationComplete::new("550e8400");
/// assert_eq!(serde_json::to_string(&params)?, r#"{"elicitationId":"550e8400"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationComplete {
    /// The id that the request carried.
    pub elicitation_id: String,
}

object!(ElicitationComplete);

impl ElicitationComplete {
    /// For the elicitation of this id.
    #[must_use]
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self { elicitation_id: elicitation_id.into() }
    }
}
