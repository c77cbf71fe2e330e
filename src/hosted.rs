//! What an MCP server says of a visit to its own page: the result, and what bounds it.
//!
//! Nothing here is secret, and nothing of it counts before the browser is back. What it must never do: take the page's word
//! for who was there.

use serde::{Deserialize, Serialize};

use crate::values::{NAME_MAX, Values, is_name};

/// Characters of a label.
pub const LABEL_MAX: usize = 100;
/// Before an MCP server's own reason, so that it cannot be taken for one of ours.
const FAILED: &str = "page_failed";

/// It is done, as the MCP server says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// What the person knows it by. Untrusted text.
    pub label: Option<String>,
    /// What the MCP server wants to find again.
    pub values: Values,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<String>,
}

impl Accepted {
    /// With a label of 1 to 100 characters, none of them a control character; spaces around it do not count.
    pub fn new(label: Option<&str>, values: Values) -> Option<Self> {
        let label = label.map(str::trim);
        let fits = label.is_none_or(|label| {
            (1..=LABEL_MAX).contains(&label.chars().count()) && !label.chars().any(char::is_control)
        });
        fits.then(|| Self { label: label.map(str::to_owned), values })
    }

    /// As the store keeps it.
    pub fn to_json(&self) -> String {
        let stored = Stored { label: self.label.clone(), values: self.values.to_json() };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// What [`Accepted::to_json`] wrote; none for anything else.
    pub fn from_json(text: &str) -> Option<Self> {
        let Stored { label, values } = serde_json::from_str(text).ok()?;
        Some(Self { label, values: Values::from_json(values.as_deref()).ok()? })
    }
}

/// Why it came to nothing, as an elicitation says it: `page_failed`, and with the MCP server's own word `page_failed:word`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAtPage(String);

impl FailedAtPage {
    /// With a word of the MCP server's: 1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter.
    pub fn new(reason: Option<&str>) -> Option<Self> {
        match reason {
            None => Some(Self(FAILED.to_owned())),
            Some(word) if word.len() <= NAME_MAX && is_name(word) => Some(Self(format!("{FAILED}:{word}"))),
            Some(_) => None,
        }
    }

    /// As an elicitation's reason.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an elicitation's reason is of this kind.
    pub fn is(reason: &str) -> bool {
        reason.strip_prefix(FAILED).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut values = Values::default();
        values.insert("order", "A-1").unwrap();
        for accepted in [Accepted::default(), Accepted::new(Some(" Order A-1 "), values).unwrap()] {
            assert_eq!(Accepted::from_json(&accepted.to_json()), Some(accepted));
        }
        assert_eq!(Accepted::from_json("[]"), None);
        assert_eq!(Accepted::from_json(r#"{"values":"[]"}"#), None);
    }

    #[test]
    fn a_label_is_short_and_printable() {
        for bad in ["", "   ", "a\u{0}b", "a\nb", &"x".repeat(LABEL_MAX + 1)] {
            assert_eq!(Accepted::new(Some(bad), Values::default()), None, "{bad:?}");
        }
        assert!(Accepted::new(Some(&"ü".repeat(LABEL_MAX)), Values::default()).is_some());
    }

    #[test]
    fn a_reason_of_the_page_cannot_be_taken_for_ours() {
        assert_eq!(FailedAtPage::new(None).unwrap().as_str(), "page_failed");
        assert_eq!(FailedAtPage::new(Some("card_declined")).unwrap().as_str(), "page_failed:card_declined");
        for bad in ["", "Card", "a b", "a:b", &"a".repeat(65)] {
            assert_eq!(FailedAtPage::new(Some(bad)), None, "{bad}");
        }
        assert!(FailedAtPage::is("page_failed") && FailedAtPage::is("page_failed:x"));
        assert!(!FailedAtPage::is("page_failedx") && !FailedAtPage::is("provider_removed"));
    }
}
