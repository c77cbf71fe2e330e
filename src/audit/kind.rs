//! What can happen, as the record names it. The codes are stable: questions to an old record are asked by them.

use std::str::FromStr;

use crate::{elicitation::MalformedId, telemetry::SecurityEvent};

macro_rules! kinds {
    ($($name:ident = $code:literal, $meaning:literal;)*) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind { $(#[doc = $meaning] $name,)* }

        impl Kind {
            /// Every kind, for documents and tests.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// As the record writes it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// One sentence for who reads the record.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }
        }
    };
}

kinds! {
    Connected = "connected", "A person connected an account.";
    Reconnected = "reconnected", "A person connected again, over the connection that was there.";
    NotConnected = "not_connected", "A person came back from a provider, and nothing could be connected; `detail` says why.";
    HandedOut = "handed_out", "An access token was handed to an MCP server; `times` within one minute.";
    Reported = "reported", "An MCP server said that the resource server refused a token.";
    NeedsReconnect = "needs_reconnect", "A connection is of no use any more until the person connects again.";
    Quarantined = "quarantined", "A connection is not handed out until somebody has looked.";
    Disconnected = "disconnected", "A connection was removed.";
    RevocationGivenUp = "revocation_given_up", "A provider was not brought to end a token that is gone here; it is not told again.";
    KillSwitch = "kill_switch", "Every connection that matched was taken out of use at once; `times` says how many.";
    Restored = "restored", "The operator said that the database was restored from a backup; `times` connections are in doubt since.";
    Declined = "declined", "A person said no to a question.";
    CodeMatched = "code_matched", "A person typed the code that a browser showed; that browser may answer for them.";
    Cancelled = "cancelled", "A question was taken back.";
    SignedInAsOther = "signed_in_as_other", "Another person signed in on a browser; the former's trips ended.";
    AccountMismatch = "account_mismatch", "A third party answered for another account than the connection's.";
    KeyChanged = "key_changed", "Another key seals from now on.";
    Resealed = "resealed", "Everything that an older key had sealed was sealed anew.";
    KeyRetired = "key_retired", "A key was retired.";
    Purged = "purged", "Rows of this record were deleted because they were too old; `detail` says where a chain begins now.";
    RecordsLost = "records_lost", "Happenings that this record had no room for; `times` says how many.";
    WrongAccount = "wrong_account", "Somebody else than its owner opened, or came back for, an elicitation.";
    OtherBrowser = "other_browser", "A third party's response came without the cookie of the browser that left for it.";
    ProviderMismatch = "provider_mismatch", "A response came on another provider's path, or named another issuer.";
    CsrfRefused = "csrf_refused", "A form was posted without its token, or from another site.";
    SealedValueUnreadable = "sealed_value_unreadable", "A sealed value does not open: a key is missing, or a row was changed.";
    SignInRefused = "sign_in_refused", "A sign-in response was not asked for by this browser, or does not check.";
    SubjectTokenInvalid = "subject_token_invalid", "An MCP server passed on an access token that proves nothing.";
    CodeRefused = "code_refused", "An MCP client passed on a code that no browser shows.";
    PageCodeMisused = "page_code_misused", "The code of a hosted page was redeemed twice, or by another MCP server than its own.";
    ApiKeyRefused = "api_key_refused", "The API was called with a key that nobody has.";
}

impl FromStr for Kind {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text).ok_or(MalformedId)
    }
}

impl From<SecurityEvent> for Kind {
    /// Without a catch-all arm: what is counted is also recorded.
    fn from(event: SecurityEvent) -> Self {
        match event {
            SecurityEvent::WrongAccount => Self::WrongAccount,
            SecurityEvent::OtherBrowser => Self::OtherBrowser,
            SecurityEvent::ProviderMismatch => Self::ProviderMismatch,
            SecurityEvent::CsrfRefused => Self::CsrfRefused,
            SecurityEvent::SealedValueUnreadable => Self::SealedValueUnreadable,
            SecurityEvent::SignInRefused => Self::SignInRefused,
            SecurityEvent::SubjectTokenInvalid => Self::SubjectTokenInvalid,
            SecurityEvent::CodeRefused => Self::CodeRefused,
            SecurityEvent::ApiKeyRefused => Self::ApiKeyRefused,
            SecurityEvent::AccountMismatch => Self::AccountMismatch,
            SecurityEvent::PageCodeMisused => Self::PageCodeMisused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_code_of_its_own_and_events_keep_theirs() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse::<Kind>(), Ok(*kind));
        }
        for event in SecurityEvent::ALL {
            assert_eq!(Kind::from(event).as_str(), event.code());
        }
    }
}
