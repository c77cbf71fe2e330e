//! The words of a reply, for a model and the person behind it. A link stands alone at the end of its line in a tool
//! result, so that it stays whole wherever it is shown.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Ask, Turn};

/// How an elicitation ended without a connection.
///
/// ```
/// use consentry_elicitation::Outcome;
///
/// assert_eq!(serde_json::to_string(&Outcome::Declined)?, r#""declined""#);
/// assert!(serde_json::from_str::<Outcome>(r#""pending""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The user said no, on the page or in the client.
    Declined,
    /// Closed without an answer, or withdrawn by the server that asked.
    Cancelled,
    /// Nobody finished in time.
    Expired,
    /// It was tried and cannot be finished.
    Failed,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Self::Declined => "the user declined",
            Self::Cancelled => "the request was cancelled",
            Self::Expired => "the link was not used in time",
            Self::Failed => "connecting failed",
        }
    }

    /// The page behind the link still has something to say: the way to a new link, or the reason.
    fn page_helps(self) -> bool {
        matches!(self, Self::Expired | Self::Failed)
    }
}

/// The text of a tool result. `target` is the tool's name.
pub(super) fn paragraphs(asks: &[Ask], turn: Turn<'_>, target: Option<&str>) -> String {
    let again = match target {
        Some(tool) => format!("call `{tool}` again"),
        None => "ask again".to_owned(),
    };
    if let Turn::Refused(outcome) = turn {
        let mut text = format!("{} not connected: {}.", names(asks), outcome.words());
        if outcome.page_helps() {
            for ask in asks {
                let _ = write!(text, "\nSee {}", ask.url);
            }
        }
        let _ = write!(text, "\n\nDo not try again by yourself. If the user wants it after all, {again}.");
        return text;
    }
    let Some(first) = asks.first() else { return format!("A connection is needed. Please {again}.") };
    let mut text =
        if asks.len() == 1 { first.message.clone() } else { format!("{} not connected yet.", names(asks)) };
    text.push_str(match (turn, asks.len()) {
        (Turn::Ask { .. }, 1) => "\n\nTo continue, open this link in a browser:",
        (Turn::Ask { .. }, _) => "\n\nTo continue, open each of these links in a browser:",
        (_, 1) => "\n\nThis is still waiting. To continue, open this link in a browser and finish there:",
        (_, _) => "\n\nThis is still waiting. To continue, open these links in a browser and finish there:",
    });
    for ask in asks {
        let label = if asks.len() == 1 { String::new() } else { format!("{}: ", ask.provider_name) };
        let _ = write!(text, "\n{label}{}", ask.url);
    }
    let _ = write!(text, "\n\nShow the user the whole link. When the user has finished there, {again}.");
    text
}

/// The message of an error, in one sentence.
pub(super) fn sentence(asks: &[Ask], turn: Turn<'_>) -> String {
    if let Turn::Refused(outcome) = turn {
        let see = if outcome.page_helps() { links(asks) } else { String::new() };
        let see = if see.is_empty() { see } else { format!(" (see {see})") };
        return format!("{} not connected: {}{see}.", names(asks), outcome.words());
    }
    if asks.is_empty() {
        return "A connection is needed; ask again.".to_owned();
    }
    format!("{} not connected yet: open {} in a browser, then ask again.", names(asks), links(asks))
}

/// The message of `-32042`, whose links stand in its data.
pub(super) fn required(asks: &[Ask]) -> String {
    format!("{} not connected yet; the user must open a link.", names(asks))
}

/// `GitHub is`, `GitHub and GitLab are`, `GitHub, GitLab and Slack are`.
fn names(asks: &[Ask]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for ask in asks {
        if !names.contains(&ask.provider_name.as_str()) {
            names.push(&ask.provider_name);
        }
    }
    match names.split_last() {
        None => "The account is".to_owned(),
        Some((only, [])) => format!("{only} is"),
        Some((last, rest)) => format!("{} and {last} are", rest.join(", ")),
    }
}

fn links(asks: &[Ask]) -> String {
    asks.iter().map(|ask| ask.url.as_str()).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(name: &str) -> Ask {
        let url = format!("https://connect.example.com/connect?elicitationId={name}").parse().unwrap();
        Ask::new(name.to_lowercase(), name, name, url)
    }

    #[test]
    fn one_link_stands_alone_on_its_line() {
        let text = paragraphs(&[ask("GitHub")], Turn::Ask { request_state: None }, Some("list_files"));
        assert_eq!(
            text,
            "Connect GitHub to continue.\n\n\
             To continue, open this link in a browser:\n\
             https://connect.example.com/connect?elicitationId=GitHub\n\n\
             Show the user the whole link. When the user has finished there, call `list_files` again."
        );
    }

    #[test]
    fn several_links_are_told_apart() {
        let text = paragraphs(&[ask("GitHub"), ask("Slack")], Turn::Tell, None);
        assert!(
            text.starts_with("GitHub and Slack are not connected yet.\n\nThis is still waiting."),
            "{text}"
        );
        assert!(text.contains("\nSlack: https://connect.example.com/"), "{text}");
        assert!(text.ends_with("ask again."), "{text}");
    }

    #[test]
    fn an_outcome_says_what_happened_and_only_then_links_where_the_page_helps() {
        for (outcome, words, link) in [
            (Outcome::Declined, "the user declined", false),
            (Outcome::Cancelled, "the request was cancelled", false),
            (Outcome::Expired, "the link was not used in time", true),
            (Outcome::Failed, "connecting failed", true),
        ] {
            for text in [
                paragraphs(&[ask("GitHub")], Turn::Refused(outcome), None),
                sentence(&[ask("GitHub")], Turn::Refused(outcome)),
            ] {
                assert!(text.starts_with(&format!("GitHub is not connected: {words}")), "{text}");
                assert_eq!(text.contains("https://"), link, "{text}");
            }
        }
    }

    #[test]
    fn an_error_is_one_line() {
        let text = sentence(&[ask("A"), ask("B"), ask("C")], Turn::Tell);
        assert!(text.starts_with("A, B and C are not connected yet: open https://"), "{text}");
        assert_eq!(text.lines().count(), 1);
        assert_eq!(required(&[ask("A"), ask("A")]), "A is not connected yet; the user must open a link.");
    }
}
