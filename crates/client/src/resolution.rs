//! What a tool gets: the credential, or the answer for its MCP client.

use std::collections::BTreeMap;

use consentry_elicitation::{Outcome, Reply};
use serde::Deserialize;
use time::OffsetDateTime;

use crate::{Account, Elicitation, Secret, elicitation::one_or_several};

/// The answer to a [`Resolve`](crate::Resolve).
///
/// ```
/// use consentry_client::Resolution;
///
/// let answer: Resolution = serde_json::from_str(
///     r#"{ "status": "ready",
///          "credential": { "kind": "oauth2", "access_token": "gho_1234", "token_type": "Bearer", "scopes": ["repo"] },
///          "connection": { "id": "c-1", "provider": "github", "generation": 4 } }"#,
/// )?;
/// let Resolution::Ready(grants) = answer else { panic!() };
/// assert_eq!(grants[0].bearer(), Some("gho_1234"));
/// assert!(!format!("{grants:?}").contains("gho_1234"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Wire")]
#[non_exhaustive]
pub enum Resolution {
    /// Here is what the tool needs, in the order of its needs; never empty.
    Ready(Vec<Grant>),
    /// The user must open a link first.
    ActionRequired(ActionRequired),
    /// The user did not connect. Only a retry is answered so; a fresh call asks anew.
    Refused(Refused),
}

/// A credential and the connection it comes from.
///
/// ```no_run
/// # fn example(grant: consentry_client::Grant) {
/// if let Some(token) = grant.bearer() {
///     // Authorization: Bearer {token}
/// }
/// # }
/// ```
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Grant {
    /// The provider's id.
    pub provider: String,
    /// What to call it with.
    pub credential: Credential,
    /// Where it comes from; its id and generation go into a report when the credential is refused.
    pub connection: Granted,
}

impl Grant {
    /// The access token, when the credential is one.
    #[must_use]
    pub fn bearer(&self) -> Option<&str> {
        match &self.credential {
            Credential::Oauth2 { access_token, .. } => Some(access_token.expose()),
            Credential::Secret { .. } | Credential::Redirect { .. } => None,
        }
    }

    /// How to use the credential, whatever its kind: headers, query parameters and the base URL of the provider's API, with
    /// every value in its place.
    #[must_use]
    pub fn usage(&self) -> &Use {
        match &self.credential {
            Credential::Oauth2 { usage, .. } | Credential::Secret { usage, .. } => usage,
            Credential::Redirect { .. } => Use::NOTHING,
        }
    }
}

/// How to use a credential.
///
/// ```
/// use consentry_client::Use;
///
/// let usage: Use = serde_json::from_str(r#"{ "base_url": null, "headers": { "X-Api-Key": "k-1" }, "query": {} }"#)?;
/// assert_eq!(usage.headers["X-Api-Key"].expose(), "k-1");
/// assert!(!format!("{usage:?}").contains("k-1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[non_exhaustive]
pub struct Use {
    /// Where the provider's API is, where the settings of Consentry say so.
    #[serde(default)]
    pub base_url: Option<Secret>,
    /// Headers for each request.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// Query parameters for each request, to be encoded.
    #[serde(default)]
    pub query: BTreeMap<String, Secret>,
}

impl Use {
    /// Where there is no credential.
    const NOTHING: &'static Self = &Self { base_url: None, headers: BTreeMap::new(), query: BTreeMap::new() };
}

/// What gives access at the provider.
///
/// ```
/// use consentry_client::Credential;
///
/// let credential: Credential = serde_json::from_str(r#"{ "kind": "secret", "fields": { "api_key": "k-1" } }"#)?;
/// let Credential::Secret { fields, .. } = &credential else { panic!() };
/// assert_eq!(fields["api_key"].expose(), "k-1");
/// assert!(!format!("{credential:?}").contains("k-1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Credential {
    /// An access token (RFC 6749).
    #[non_exhaustive]
    Oauth2 {
        /// The token.
        access_token: Secret,
        /// How to present it, mostly `Bearer`.
        token_type: String,
        /// Until when it is good, where that is known.
        #[serde(default, with = "time::serde::rfc3339::option")]
        expires_at: Option<OffsetDateTime>,
        /// What was granted.
        #[serde(default)]
        scopes: Vec<String>,
        /// What was asked for and not granted.
        #[serde(default)]
        missing_scopes: Vec<String>,
        /// What is known of the account's place at the provider, such as the address of its API or its tenant.
        #[serde(default)]
        values: BTreeMap<String, String>,
        /// Further tokens of the same grant, by name.
        #[serde(default)]
        slots: BTreeMap<String, FurtherToken>,
        /// How to use it.
        #[serde(rename = "use", default)]
        usage: Use,
    },
    /// What was done on a page of the MCP server's own. There is nothing to call a provider with.
    #[non_exhaustive]
    Redirect {
        /// What the MCP server said of it.
        #[serde(default)]
        values: BTreeMap<String, String>,
    },
    /// The values of a secret form.
    #[non_exhaustive]
    Secret {
        /// By the names of the form's fields.
        fields: BTreeMap<String, Secret>,
        /// How to use them.
        #[serde(rename = "use", default)]
        usage: Use,
    },
}

/// A further token of the same grant, such as the user's beside a bot's.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct FurtherToken {
    /// The token.
    pub access_token: Secret,
    /// How to present it, mostly `Bearer`.
    pub token_type: String,
    /// Until when it is good, where that is known.
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
    /// What was granted with it, as the provider calls it.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// The connection behind a credential.
///
/// ```
/// use consentry_client::Granted;
///
/// let granted: Granted = serde_json::from_str(r#"{ "id": "c-1", "provider": "github", "generation": 4 }"#)?;
/// assert_eq!(granted.generation, 4);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Granted {
    /// Its id.
    pub id: String,
    /// The provider's id.
    pub provider: String,
    /// What is connected.
    pub account: Option<Account>,
    /// Which of its credentials this is.
    pub generation: u64,
}

/// The user must open a link.
///
/// ```no_run
/// # fn example(needed: consentry_client::ActionRequired) {
/// use consentry_client::Body;
///
/// match needed.reply.body {
///     Body::ElicitationRequest(params) => { /* send `elicitation/create` within the call, and wait */ }
///     Body::JsonrpcError(error) => { /* answer with this error */ }
///     Body::InputRequired(result) => { /* answer with this result */ }
///     Body::ToolResult(result) => { /* answer with this result */ }
///     _ => {}
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ActionRequired {
    /// One for each provider that is not connected; never empty.
    pub elicitations: Vec<Elicitation>,
    /// What to hand to the MCP client.
    pub reply: Reply,
}

/// The user did not connect.
///
/// ```no_run
/// # fn example(refused: consentry_client::Refused) {
/// if refused.outcome == consentry_client::Outcome::Declined {
///     // Do not ask again by yourself.
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refused {
    /// How it ended.
    pub outcome: Outcome,
    /// What ended so.
    pub elicitations: Vec<Elicitation>,
    /// What to hand to the MCP client.
    pub reply: Reply,
}

#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Wire {
    Ready {
        credential: Option<Credential>,
        connection: Option<Granted>,
        results: Option<Vec<Grant>>,
    },
    ActionRequired {
        elicitation: Option<Elicitation>,
        elicitations: Option<Vec<Elicitation>>,
        reply: Reply,
    },
    Refused {
        outcome: Outcome,
        elicitation: Option<Elicitation>,
        elicitations: Option<Vec<Elicitation>>,
        reply: Reply,
    },
}

impl TryFrom<Wire> for Resolution {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<Self, &'static str> {
        Ok(match wire {
            Wire::Ready { credential: Some(credential), connection: Some(connection), results: None } => {
                Self::Ready(vec![Grant { provider: connection.provider.clone(), credential, connection }])
            }
            Wire::Ready { credential: None, connection: None, results: Some(results) }
                if !results.is_empty() =>
            {
                Self::Ready(results)
            }
            Wire::Ready { .. } => return Err("neither one credential nor several"),
            Wire::ActionRequired { elicitation, elicitations, reply } => {
                Self::ActionRequired(ActionRequired {
                    elicitations: one_or_several(elicitation, elicitations)?,
                    reply,
                })
            }
            Wire::Refused { outcome, elicitation, elicitations, reply } => Self::Refused(Refused {
                outcome,
                elicitations: one_or_several(elicitation, elicitations)?,
                reply,
            }),
        })
    }
}
