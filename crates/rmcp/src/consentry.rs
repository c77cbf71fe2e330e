//! From a call to the user's credential: asks Consentry, and when the user has to connect first, hands its reply to the
//! client in the form that this client understands.
//!
//! What it must never do: take the client's `accept` for a connection (Consentry is asked), or ask when the call is over.

use std::{fmt, sync::Arc, time::Duration};

use consentry_bearer::Principal;
use consentry_client::{
    ActionRequired, Body, Client as Api, Grant, McpClient, Prefer, Resolution, Resolve, Secret, Subject, User,
};
use consentry_elicitation::Era;

use crate::{Call, Instead, Need, call, guard, news::News};

/// How long Consentry holds a call that is repeated, in seconds. Clients allow a request 60 s by default.
const HOLD_RETRY_S: u8 = 45;

/// A tool's way to its users' accounts; one for the whole process, cheap to clone.
#[derive(Clone)]
pub struct Consentry(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) api: Api,
    pub(crate) patience: Duration,
    pub(crate) news: Arc<News>,
    prefer_errors: Errors,
    require_url_mode: bool,
    pass_tokens: bool,
}

/// Which clients get `-32042` instead of a request within the call.
#[derive(Clone, Debug, Default)]
enum Errors {
    #[default]
    Nobody,
    Everybody,
    Named(Vec<String>),
}

impl fmt::Debug for Consentry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Consentry").field("api", &self.0.api).finish_non_exhaustive()
    }
}

/// A [`Consentry`] with other settings than the usual ones.
#[derive(Clone, Debug)]
pub struct Builder {
    api: Api,
    patience: Duration,
    prefer_errors: Errors,
    require_url_mode: bool,
    pass_tokens: bool,
}

impl Builder {
    /// How long a legacy call waits for its user; 10 minutes unless told. Then it ends with the link in words. (A round of
    /// the modern era is held for as long, and for 45 s at most.) A client that wants progress hears every 20 s that the call is still waiting; others may have a limit of their own.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Answers legacy clients with `-32042` instead of asking within the call.
    #[must_use]
    pub fn prefer_errors(mut self) -> Self {
        self.prefer_errors = Errors::Everybody;
        self
    }

    /// The same for clients of these names alone (`clientInfo.name` or `title`), as far as they are known to handle it.
    #[must_use]
    pub fn prefer_errors_for(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.prefer_errors = Errors::Named(names.into_iter().map(Into::into).collect());
        self
    }

    /// Answers modern clients without URL mode with `-32021` instead of the link in words.
    #[must_use]
    pub fn require_url_mode(mut self) -> Self {
        self.require_url_mode = true;
        self
    }

    /// Lets Consentry verify the user's token itself, for one that insists (`require_subject_token`).
    #[must_use]
    pub fn pass_tokens(mut self) -> Self {
        self.pass_tokens = true;
        self
    }

    /// Does nothing yet: the stream of news is opened with the first question that needs it.
    #[must_use]
    pub fn build(self) -> Consentry {
        let news = Arc::new(News::new(self.api.clone()));
        Consentry(Arc::new(Inner {
            api: self.api,
            patience: self.patience,
            news,
            prefer_errors: self.prefer_errors,
            require_url_mode: self.require_url_mode,
            pass_tokens: self.pass_tokens,
        }))
    }
}

impl Consentry {
    /// Over the internal API, with the usual settings.
    #[must_use]
    pub fn new(api: Api) -> Self {
        Self::builder(api).build()
    }

    /// The same with others.
    #[must_use]
    pub fn builder(api: Api) -> Builder {
        Builder {
            api,
            patience: Duration::from_mins(10),
            prefer_errors: Errors::Nobody,
            require_url_mode: false,
            pass_tokens: false,
        }
    }

    /// The internal API, for everything else.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.0.api
    }

    /// The credential of the user behind the call.
    ///
    /// # Errors
    ///
    /// [`Instead`]: what the call must be answered now; see [`grant!`](crate::grant).
    pub async fn grant(&self, call: Call, need: impl Into<Need>) -> Result<Grant, Instead> {
        let grants = self.grants(call, [need.into()]).await?;
        grants.into_iter().next().ok_or_else(|| Instead::internal("ready without a credential"))
    }

    /// Several at once, in their order, up to eight: the user is asked for all that are missing together. A call asks
    /// once, for what a retry brings along belongs to that question.
    ///
    /// # Errors
    ///
    /// [`Instead`]: what the call must be answered now.
    pub async fn grants(
        &self,
        call: Call,
        needs: impl IntoIterator<Item = Need>,
    ) -> Result<Vec<Grant>, Instead> {
        let needs = needs.into_iter().collect();
        let over = call.context.ct.clone();
        tokio::select! {
            biased;
            // Cancelled, or answered already: whatever were asked now would belong to no call.
            () = over.cancelled() => Err(Instead::given_up()),
            granted = self.connected(&call, needs) => granted,
        }
    }

    /// The provider refused the credential (401): it is not handed out again.
    pub async fn refused(&self, grant: &Grant) {
        let reported = self.0.api.report(&grant.connection.id, grant.connection.generation).await;
        if let Err(error) = reported {
            tracing::warn!(%error, "a refused credential could not be reported");
        }
    }

    /// How long a call that is repeated is held, in seconds.
    fn hold(&self) -> u8 {
        u8::try_from(self.0.patience.as_secs()).map_or(HOLD_RETRY_S, |patience| patience.min(HOLD_RETRY_S))
    }

    async fn connected(&self, call: &Call, needs: Vec<Need>) -> Result<Vec<Grant>, Instead> {
        let principal =
            call.principal().ok_or_else(|| Instead::internal("a call without a verified user"))?;
        let client = call.client();
        let reference = client.reference(principal);
        let wanted = self.wanted(call, needs, principal, &client, reference.clone());
        let first = match &call.state {
            None => wanted.clone(),
            Some(state) => {
                let responses = call.responses.as_ref().and_then(|all| serde_json::to_value(all).ok());
                wanted.clone().retry(state.as_str(), responses, self.hold())
            }
        };
        let needed = match self.0.api.resolve(&first).await.map_err(|error| Instead::failed(&error))? {
            Resolution::Ready(grants) => return Ok(grants),
            Resolution::ActionRequired(needed) => needed,
            Resolution::Refused(refused) if guard::fits(&client, &refused.reply.body) => {
                return Err(Instead::reply(refused.reply.body));
            }
            _ => return Err(Instead::internal("an answer of Consentry that does not fit")),
        };
        self.act(call, &client, reference, needed).await?;
        match self.0.api.resolve(&wanted).await.map_err(|error| Instead::failed(&error))? {
            Resolution::Ready(grants) => Ok(grants),
            _ => Err(Instead::words(crate::reply::NOT_CONNECTED)),
        }
    }

    /// Hands the reply to the client; returns when the user has connected within the call.
    async fn act(
        &self,
        call: &Call,
        client: &call::Client,
        reference: Option<String>,
        needed: ActionRequired,
    ) -> Result<(), Instead> {
        let body = needed.reply.body;
        if !guard::fits(client, &body) {
            tracing::error!("Consentry's reply does not fit the client; its link is told in words");
            return Err(Instead::links(&needed.elicitations));
        }
        let insists = self.0.require_url_mode && client.era == Era::Modern && !client.capability.url();
        if insists && matches!(body, Body::ToolResult(_)) {
            return Err(Instead::missing_url_mode());
        }
        // News can only be told to a session.
        if let (Era::Legacy, Some(reference)) = (client.era, &reference) {
            let ids = needed.elicitations.iter().filter(|_| is_link(&body));
            self.0.news.expect(ids, reference, &call.context.peer).await;
        }
        match (body, needed.elicitations.first()) {
            (Body::ElicitationRequest(params), Some(elicitation)) => {
                self.ask(call, &params, &elicitation.id).await
            }
            (body, _) => Err(Instead::reply(body)),
        }
    }

    fn wanted(
        &self,
        call: &Call,
        needs: Vec<Need>,
        principal: &Principal,
        client: &call::Client,
        reference: Option<String>,
    ) -> Resolve {
        let user = if self.0.pass_tokens {
            User::Token(Secret::new(principal.token()))
        } else {
            User::Subject(Subject::of(principal.issuer(), principal.sub()))
        };
        let mut described = McpClient::new(client.version.as_str(), call.method)
            .target(call.target.as_str())
            .params_digest(call.digest.as_str());
        if let Some(declared) = &client.declared {
            // Verbatim: it decides what the client may be sent.
            described = described.elicitation(declared.clone());
        }
        if let Some(reference) = reference {
            described = described.reference(reference);
        }
        if let Some(name) = &client.name {
            described = described.name(name.as_str());
        }
        let prefers_errors = match &self.0.prefer_errors {
            Errors::Nobody => false,
            Errors::Everybody => true,
            Errors::Named(names) => client.is_one_of(names),
        };
        if prefers_errors {
            described = described.prefer(Prefer::Error);
        }
        let why = needs.iter().find_map(|need| need.why.clone());
        let needs = needs.into_iter().map(|need| {
            let wanted = consentry_client::Need::new(need.provider);
            if let Some(scopes) = need.scopes { wanted.scopes(scopes) } else { wanted }
        });
        let wanted = Resolve::of(needs, user).client(described);
        if let Some(why) = why { wanted.message(why) } else { wanted }
    }
}

/// Whether the client is handed a link that it will want to hear the end of.
fn is_link(body: &Body) -> bool {
    match body {
        Body::ElicitationRequest(_) => true,
        Body::JsonrpcError(error) => error.elicitations().is_some(),
        _ => false,
    }
}
