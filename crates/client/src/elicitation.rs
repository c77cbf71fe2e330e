//! Elicitations: one link for one user, and what became of it.

use consentry_elicitation::Reply;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use url::Url;

use crate::Subject;

/// Where an elicitation stands.
///
/// ```
/// use consentry_client::State;
///
/// assert!(!State::Authorizing.is_final());
/// assert!(State::Declined.is_final());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// The link waits to be used.
    Pending,
    /// The user is at the provider.
    Authorizing,
    /// Connected.
    Completed,
    /// The user said no.
    Declined,
    /// Withdrawn.
    Cancelled,
    /// Nobody finished in time.
    Expired,
    /// It cannot be finished.
    Failed,
    /// A state that this version does not know.
    #[serde(other)]
    Other,
}

impl State {
    /// Final states stay. An unknown one counts as not final.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Declined | Self::Cancelled | Self::Expired | Self::Failed)
    }
}

/// An elicitation. An answer to resolve holds the first few fields only.
///
/// ```
/// use consentry_client::{Elicitation, State};
///
/// let elicitation: Elicitation = serde_json::from_str(
///     r#"{ "id": "e-1", "url": "https://connect.example.com/connect?elicitationId=e-1",
///          "state": "pending", "expires_at": "2026-11-29T12:00:00Z" }"#,
/// )?;
/// assert_eq!(elicitation.state, State::Pending);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Elicitation {
    /// Its id.
    pub id: String,
    /// The link for the user. It carries no authority: only the user it is for can use it.
    pub url: Url,
    /// Where it stands.
    pub state: State,
    /// The provider's id.
    pub provider: Option<String>,
    /// What is asked for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Who is to open the link.
    pub subject: Option<Subject>,
    /// What the caller named its MCP client.
    pub client_ref: Option<String>,
    /// The id of the connection that completed it.
    pub connection: Option<String>,
    /// Why it ended.
    pub reason: Option<String>,
    /// When it was made.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub created_at: Option<OffsetDateTime>,
    /// Until when the link works.
    #[serde(with = "time::serde::rfc3339")]
    pub expires_at: OffsetDateTime,
    /// When it ended.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub closed_at: Option<OffsetDateTime>,
}

/// What the MCP client answered to the question.
///
/// ```
/// use consentry_client::Action;
///
/// assert_eq!(serde_json::to_string(&Action::Accept)?, r#""accept""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Action {
    /// The user agreed to open the link. Nothing is connected by that.
    Accept,
    /// The user said no: the elicitation ends.
    Decline,
    /// The user closed the question: the elicitation ends.
    Cancel,
    /// The client failed: the elicitation stays open, and the answer holds the reply in words.
    Error,
}

impl From<consentry_elicitation::ElicitAction> for Action {
    fn from(action: consentry_elicitation::ElicitAction) -> Self {
        match action {
            consentry_elicitation::ElicitAction::Accept => Self::Accept,
            consentry_elicitation::ElicitAction::Decline => Self::Decline,
            consentry_elicitation::ElicitAction::Cancel => Self::Cancel,
        }
    }
}

/// An elicitation that was made, or an open one used again; for several needs, all of them.
///
/// ```no_run
/// # async fn example(consentry: consentry_client::Client) -> Result<(), consentry_client::Error> {
/// use consentry_client::{Resolve, User};
///
/// let wanted = Resolve::new("github", User::subject("alice"));
/// let created = consentry.create_elicitation(&wanted, Some("switch-account-7")).await?;
/// println!("{}", created.elicitation.url);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "CreatedWire")]
#[non_exhaustive]
pub struct Created {
    /// The elicitation; of several the first.
    pub elicitation: Elicitation,
    /// Those of the further needs, in their order.
    pub further: Vec<Elicitation>,
    /// What to hand to the MCP client.
    pub reply: Reply,
}

const NEITHER: &str = "neither one elicitation nor several";

/// What an answer is about: it has one member or the other, and never an empty list.
pub(crate) fn one_or_several(
    one: Option<Elicitation>,
    several: Option<Vec<Elicitation>>,
) -> Result<Vec<Elicitation>, &'static str> {
    match (one, several) {
        (Some(one), None) => Ok(vec![one]),
        (None, Some(several)) if !several.is_empty() => Ok(several),
        _ => Err(NEITHER),
    }
}

#[derive(Deserialize)]
struct CreatedWire {
    elicitation: Option<Elicitation>,
    elicitations: Option<Vec<Elicitation>>,
    reply: Reply,
}

impl TryFrom<CreatedWire> for Created {
    type Error = &'static str;

    fn try_from(wire: CreatedWire) -> Result<Self, &'static str> {
        let mut all = one_or_several(wire.elicitation, wire.elicitations)?.into_iter();
        let elicitation = all.next().ok_or(NEITHER)?;
        Ok(Self { elicitation, further: all.collect(), reply: wire.reply })
    }
}

/// What an answer of the MCP client led to.
///
/// ```
/// use consentry_client::Answered;
///
/// let answered: Answered = serde_json::from_str("{}")?;
/// assert!(answered.reply.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Answered {
    /// The elicitation as it is now.
    pub elicitation: Option<Elicitation>,
    /// What to hand to the MCP client, where something is.
    pub reply: Option<Reply>,
}
