//! What a tool asks for: which providers, for whom, and on whose call.

use std::collections::BTreeMap;

use consentry_elicitation::Prefer;
use serde::Serialize;
use serde_json::Value;

use crate::Subject;
use crate::secret::{Secret, expose_to};

/// For whom a credential is wanted.
///
/// ```
/// use consentry_client::{Secret, User};
///
/// // This MCP server has verified the user's token and says who it is ...
/// let user = User::subject("alice");
/// // ... or Consentry is to verify it.
/// let user = User::Token(Secret::new("eyJ..."));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum User {
    /// A user whom the caller has verified.
    Subject(Subject),
    /// The user's MCP access token, to be verified by Consentry.
    Token(Secret),
}

impl User {
    /// A verified user of the MCP server's own issuer.
    #[must_use]
    pub fn subject(sub: impl Into<String>) -> Self {
        Self::Subject(Subject { issuer: None, sub: sub.into() })
    }
}

/// One provider that is needed.
///
/// ```
/// use consentry_client::Need;
///
/// let need = Need::new("github").scopes(["repo"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
}

impl Need {
    /// This provider, with the scopes of its configuration.
    #[must_use]
    pub fn new(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), scopes: None, variables: BTreeMap::new() }
    }

    /// With these scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// With this value of a variable of the provider's address, such as its `subdomain`. Without it, the user is asked
    /// where it is not known.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
}

/// The MCP client whose call is being answered, as it described itself.
///
/// ```
/// use consentry_client::McpClient;
/// use serde_json::json;
///
/// let client = McpClient::new("2026-07-28", "tools/call")
///     .elicitation(json!({ "url": {} }))
///     .target("list_files")
///     .params_digest("sha256:2bb8...");
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct McpClient {
    protocol_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation: Option<Value>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "expose_to")]
    code: Option<Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer: Option<Prefer>,
}

impl McpClient {
    /// A client that speaks this revision, makes a call of this method, and declared no elicitation.
    #[must_use]
    pub fn new(protocol_version: impl Into<String>, method: impl Into<String>) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            elicitation: None,
            reference: None,
            name: None,
            method: method.into(),
            target: None,
            params_digest: None,
            code: None,
            prefer: None,
        }
    }

    /// The capability `elicitation` that it declared, verbatim.
    #[must_use]
    pub fn elicitation(mut self, declared: Value) -> Self {
        self.elicitation = Some(declared);
        self
    }

    /// What to call it in signals, up to 256 bytes; not its session id.
    #[must_use]
    pub fn reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Its name, for the pages.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The tool, prompt or resource that is called.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// A digest of the call's parameters, to which a modern `requestState` is bound.
    #[must_use]
    pub fn params_digest(mut self, digest: impl Into<String>) -> Self {
        self.params_digest = Some(digest.into());
        self
    }

    /// What the user typed into the form for the code on the page, where the MCP server's users do not sign in
    /// (`identity = "code"`).
    ///
    /// ```no_run
    /// # async fn example(consentry: consentry_client::Client, link: String, client: consentry_client::McpClient,
    /// #     typed_into_the_form: String) -> Result<(), consentry_client::Error> {
    /// use consentry_client::{Action, Resolve, User};
    ///
    /// // The user has agreed to open the link: the answer holds the form that asks for the code.
    /// let form = consentry.respond_as(&link, Action::Accept, &client).await?.reply;
    /// // Send it within the same call, and pass on what came back.
    /// let wanted = Resolve::new("github", User::subject("alice"));
    /// consentry.resolve(&wanted.client(client.code(typed_into_the_form)).wait(50)).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn code(mut self, typed: impl Into<String>) -> Self {
        self.code = Some(Secret::new(typed));
        self
    }

    /// How it likes to be asked, in the legacy era.
    #[must_use]
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = Some(prefer);
        self
    }
}

/// What a tool needs, and for whom. Its `Debug` shows no token.
///
/// ```
/// use consentry_client::{Need, Resolve, Secret, User};
///
/// let wanted = Resolve::new("github", User::Token(Secret::new("eyJ..."))).scopes(["repo"]);
/// assert!(!format!("{wanted:?}").contains("eyJ"));
/// let several = Resolve::several([Need::new("github"), Need::new("slack")], User::subject("alice"));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Resolve {
    #[serde(flatten)]
    needed: Needed,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Subject>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "expose_to")]
    subject_token: Option<Secret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<McpClient>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_responses: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait_seconds: Option<u8>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Needed {
    One(Need),
    Several { requests: Vec<Need> },
}

impl Resolve {
    /// One provider.
    #[must_use]
    pub fn new(provider: impl Into<String>, user: User) -> Self {
        Self::needing(Needed::One(Need::new(provider)), user)
    }

    /// Several providers, up to eight: all must be connected before the tool can go on.
    #[must_use]
    pub fn several(needs: impl IntoIterator<Item = Need>, user: User) -> Self {
        Self::needing(Needed::Several { requests: needs.into_iter().collect() }, user)
    }

    /// Whichever of the two it is: one need is asked for as one, more as several.
    #[must_use]
    pub fn of(needs: impl IntoIterator<Item = Need>, user: User) -> Self {
        let mut needs: Vec<Need> = needs.into_iter().collect();
        match needs.pop() {
            Some(need) if needs.is_empty() => Self::needing(Needed::One(need), user),
            last => {
                needs.extend(last);
                Self::several(needs, user)
            }
        }
    }

    fn needing(needed: Needed, user: User) -> Self {
        let (subject, subject_token) = match user {
            User::Subject(subject) => (Some(subject), None),
            User::Token(token) => (None, Some(token)),
        };
        Self {
            needed,
            subject,
            subject_token,
            client: None,
            message: None,
            request_state: None,
            input_responses: None,
            wait_seconds: None,
        }
    }

    /// With these scopes; for several providers, see [`Need::scopes`].
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let Needed::One(need) = self.needed {
            self.needed = Needed::One(need.scopes(scopes));
        }
        self
    }

    /// With this value of a variable of the provider's address; for several providers, see [`Need::variable`].
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Needed::One(need) = self.needed {
            self.needed = Needed::One(need.variable(name, value));
        }
        self
    }

    /// The MCP client that is to be answered.
    #[must_use]
    pub fn client(mut self, client: McpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Why the connection is needed, in words for the user.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The answer may take up to `seconds` (at most 50), until the outcome is known: with a code that was passed on.
    #[must_use]
    pub fn wait(mut self, seconds: u8) -> Self {
        self.wait_seconds = Some(seconds);
        self
    }

    /// What the client's retry carried (modern era), verbatim; the answer may take up to `wait_seconds` (at most 50).
    #[must_use]
    pub fn retry(
        mut self,
        request_state: impl Into<String>,
        responses: Option<Value>,
        wait_seconds: u8,
    ) -> Self {
        self.request_state = Some(request_state.into());
        self.input_responses = responses;
        self.wait_seconds = Some(wait_seconds);
        self
    }
}
