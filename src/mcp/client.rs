//! The MCP client of a call: what it can be asked, and how it calls itself.
//!
//! What it says of itself is shown and decides nothing else (M22, E36).

use consentry_elicitation::{Client, Prefer};
use serde_json::{Map, Value};

use crate::untrusted::visible;

/// Where a modern request names its client.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Of a client's name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// A client in the middle of one call.
#[derive(Clone)]
pub(super) struct Asker {
    /// As the choice of a reply sees it.
    pub(super) client: Client,
    /// For the pages.
    pub(super) name: Option<String>,
    /// What its elicitations are known by: by it an open one is used again.
    pub(super) reference: String,
    /// How it is given a link, in the legacy era.
    pub(super) links: Prefer,
}

/// The name in `clientInfo`, cleaned.
pub(super) fn name(info: Option<&Value>) -> Option<String> {
    let text = |key: &str| info?.get(key)?.as_str().filter(|text| !text.trim().is_empty());
    let text = text("title").or_else(|| text("name"))?;
    let name: String =
        visible(text.to_owned()).chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The name that a modern request gives.
pub(super) fn name_of_request(params: &Map<String, Value>) -> Option<String> {
    name(params.get("_meta").and_then(|meta| meta.get(CLIENT_INFO)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_shown_without_what_turns_or_hides_text() {
        let of = |info: Value| name(Some(&info));
        assert_eq!(
            of(json!({ "name": "claude-code", "title": "Claude Code" })).as_deref(),
            Some("Claude Code")
        );
        assert_eq!(of(json!({ "name": "a\u{202e}b\nc" })).as_deref(), Some("abc"));
        assert_eq!(of(json!({ "name": "x".repeat(200) })).unwrap().len(), NAME_CHARS_MAX);
        for none in [json!({}), json!({ "name": " " }), json!({ "name": 7 }), json!([])] {
            assert_eq!(of(none), None);
        }
    }
}
