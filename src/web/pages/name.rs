//! The names that pages go by, and the HTTP status of each. Tests from outside rely on both.

use http::StatusCode;

macro_rules! names {
    ($($(#[$doc:meta])* $variant:ident $name:literal $status:ident;)*) => {
        /// `data-page` of a page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Name { $($(#[$doc])* $variant,)* }

        impl Name {
            /// Every page there is.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As it stands in the HTML and in `/stopped/{page}`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The status that goes with it.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// The page of that name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

names! {
    /// Nobody is signed in yet; or the sign-in changed hands and wants a yes.
    SignIn "sign-in" OK;
    /// Nobody can sign in; this browser's code.
    Code "code" OK;
    /// The question.
    Ready "ready" OK;
    /// The question, when there is an answer already.
    AlreadyConnected "already-connected" OK;
    /// Tenant, region and the like.
    NeedsInput "needs-input" OK;
    /// A key is wanted.
    SecretForm "secret-form" OK;
    /// On the way to the provider.
    Leaving "leaving" OK;
    /// Another request is finishing it.
    Working "working" OK;
    /// Back from the MCP server's page, which has not said yet what came of it.
    AwaitingResult "awaiting-result" OK;
    /// Done.
    Connected "connected" OK;
    /// Done, with fewer permissions than asked for.
    PartlyConnected "partly-connected" OK;
    /// Another account than before: which?
    AccountChanged "account-changed" OK;
    /// The provider said no.
    NotConnected "not-connected" OK;
    /// The person said no.
    Declined "declined" OK;
    /// Nobody wants it any more.
    Cancelled "cancelled" GONE;
    /// Its time is over.
    Expired "expired" GONE;
    /// It can never work.
    Failed "failed" GONE;
    /// Not this person's.
    WrongAccount "wrong-account" FORBIDDEN;
    /// Unknown or malformed.
    NotFound "not-found" NOT_FOUND;
    /// The sign-in did not work.
    SignInFailed "sign-in-failed" UNAUTHORIZED;
    /// Come back to a browser that never left.
    OtherBrowser "other-browser" BAD_REQUEST;
    /// The answer came from the wrong place.
    ProviderMismatch "provider-mismatch" BAD_REQUEST;
    /// The provider is down.
    ProviderUnreachable "provider-unreachable" BAD_GATEWAY;
    /// Our registration with the provider is wrong.
    ProviderMisconfigured "provider-misconfigured" BAD_GATEWAY;
    /// An administrator must approve first.
    AdminApproval "admin-approval" OK;
    /// The provider does not know that key.
    SecretRejected "secret-rejected" UNPROCESSABLE_ENTITY;
    /// The key could not be checked.
    SecretUnchecked "secret-unchecked" OK;
    /// What is connected.
    Connections "connections" OK;
    /// One of them.
    Connection "connection" OK;
    /// Whether to disconnect it.
    Disconnect "disconnect" OK;
    /// Whether to disconnect everything.
    DisconnectAll "disconnect-all" OK;
    /// Disconnected.
    Disconnected "disconnected" OK;
    /// Too many requests.
    TooManyRequests "too-many-requests" TOO_MANY_REQUESTS;
    /// Not right now.
    Unavailable "unavailable" SERVICE_UNAVAILABLE;
    /// Not understood.
    BadRequest "bad-request" BAD_REQUEST;
    /// Our fault.
    ServerError "server-error" INTERNAL_SERVER_ERROR;
    /// Signed out.
    SignedOut "signed-out" OK;
}
