//! What a value that travels was made for.

use super::{envelope::VERSION, key::KeyId, place::join};

macro_rules! purposes {
    ($($(#[$doc:meta])* $name:ident = $label:literal,)*) => {
        /// What a value that leaves the house was made for. Each has its own keys, so that a value of one is refused
        /// in every other (R38).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Purpose { $($(#[$doc])* $name,)* }

        impl Purpose {
            /// Every purpose.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that keys are derived from: changing one ends every value that was made for it.
            fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

purposes! {
    /// A sign-in on its way: `state`, `nonce` and verifier in the browser's cookie.
    SignInCookie = "sign-in-cookie",
    /// What tells one browser from another.
    BrowserCookie = "browser-cookie",
    /// One attempt's `state` and binding secret.
    AttemptCookie = "attempt-cookie",
    /// One browser's code for an elicitation, and the secret that the code stands for.
    CodeCookie = "code-cookie",
    /// The digest of such a code.
    BrowserCode = "browser-code",
    /// MCP's `requestState`.
    RequestState = "request-state",
    /// The same for a client of our own MCP endpoint.
    McpRequestState = "mcp-request-state",
    /// The id of a session at our own MCP endpoint.
    McpSession = "mcp-session",
    /// The token of a form.
    Csrf = "csrf",
    /// A subject as logs show it.
    SubjectHash = "subject-hash",
    /// A page of a list.
    ApiCursor = "api-cursor",
    /// The question "You are now X. Continue?".
    ConfirmSignIn = "confirm-sign-in",
    /// The single-use code for a hosted page.
    HostedPage = "hosted-page",
    /// What was disconnected, in the address of the page that tells so.
    DisconnectedPage = "disconnected-page",
    /// The digest of a request that carried an `Idempotency-Key`.
    IdempotentRequest = "idempotent-request",
    /// The tag of a row of the audit record.
    AuditChain = "audit-chain",
    /// A subject as the audit record shows it.
    AuditSubject = "audit-subject",
}

impl Purpose {
    pub(super) fn cell(self) -> Vec<u8> {
        join(&["text", self.label()])
    }

    pub(super) fn mac_cell(self) -> Vec<u8> {
        join(&["mac", self.label()])
    }

    pub(super) fn bound(self, key: &KeyId, context: &[&str]) -> Vec<u8> {
        let mut parts = vec![&b"text"[..], &[VERSION], key.as_str().as_bytes(), self.label().as_bytes()];
        parts.extend(context.iter().map(|part| part.as_bytes()));
        join(&parts)
    }
}
