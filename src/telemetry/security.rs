//! Events that a defender wants to see. Their codes are stable: alerts are built on them.

/// Something that a defender wants to see, with a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityEvent {
    /// Somebody else opened, or came back for, an elicitation (R3, R4).
    WrongAccount,
    /// A callback without this browser's cookie, or with an unknown `state` (R59).
    OtherBrowser,
    /// A callback on another's path, or with another's `iss` (R60, R61).
    ProviderMismatch,
    /// A form without its token, or from another origin (R39).
    CsrfRefused,
    /// A sealed value that does not open (R99).
    SealedValueUnreadable,
    /// A sign-in response that was not asked for, or does not check (R24).
    SignInRefused,
    /// An access token that an MCP server passed on and that does not check (R2).
    SubjectTokenInvalid,
    /// A code that no browser shows.
    CodeRefused,
    /// An API key that nobody has.
    ApiKeyRefused,
    /// A refresh gave tokens of another account (R82).
    AccountMismatch,
    /// A code of a hosted page that was redeemed twice, or by another MCP server.
    PageCodeMisused,
}

impl SecurityEvent {
    /// Every event, so that each exists at 0 from the start.
    pub const ALL: [Self; 11] = [
        Self::WrongAccount,
        Self::OtherBrowser,
        Self::ProviderMismatch,
        Self::CsrfRefused,
        Self::SealedValueUnreadable,
        Self::SignInRefused,
        Self::SubjectTokenInvalid,
        Self::CodeRefused,
        Self::ApiKeyRefused,
        Self::AccountMismatch,
        Self::PageCodeMisused,
    ];

    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::WrongAccount => "wrong_account",
            Self::OtherBrowser => "other_browser",
            Self::ProviderMismatch => "provider_mismatch",
            Self::CsrfRefused => "csrf_refused",
            Self::SealedValueUnreadable => "sealed_value_unreadable",
            Self::SignInRefused => "sign_in_refused",
            Self::SubjectTokenInvalid => "subject_token_invalid",
            Self::CodeRefused => "code_refused",
            Self::ApiKeyRefused => "api_key_refused",
            Self::AccountMismatch => "account_mismatch",
            Self::PageCodeMisused => "page_code_misused",
        }
    }

    /// What it means to who reads the alert, as one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::WrongAccount => "Somebody else than its owner opened, or came back for, an elicitation.",
            Self::OtherBrowser => {
                "A third party's response came without the cookie of the browser that left for it."
            }
            Self::ProviderMismatch => "A response came on another provider's path, or named another issuer.",
            Self::CsrfRefused => "A form was posted without its token, or from another site.",
            Self::SealedValueUnreadable => {
                "A sealed value does not open: a key is missing, or a row was changed."
            }
            Self::SignInRefused => "A sign-in response was not asked for by this browser, or does not check.",
            Self::SubjectTokenInvalid => "An MCP server passed on an access token that proves nothing.",
            Self::CodeRefused => "An MCP client passed on a code that no browser shows.",
            Self::ApiKeyRefused => "The API was called with a key that nobody has.",
            Self::AccountMismatch => {
                "A refresh gave tokens of another account than the connection's; it is quarantined."
            }
            Self::PageCodeMisused => {
                "The code of a hosted page was redeemed twice, or by another MCP server than its own."
            }
        }
    }
}
