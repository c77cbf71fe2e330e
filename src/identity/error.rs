//! Why a sign-in or an access token was refused. Nothing in here holds a word of what a peer sent.

use std::time::Duration;

/// Why identity could not be established. The kinds matter to callers: a page or a status is chosen by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// No authorization server of the settings has this id or issuer.
    #[error("no such authorization server")]
    UnknownServer,
    /// The authorization server cannot be reached or is not well; trying again may help.
    #[error("the authorization server is unreachable: {0}")]
    Unreachable(&'static str),
    /// It is asked too much already about tokens that nobody knows; how long to wait.
    #[error("the authorization server is asked too much")]
    Busy(Duration),
    /// What the authorization server publishes cannot be worked with: the operator's to mend.
    #[error("the authorization server's metadata is refused: {0}")]
    Metadata(&'static str),
    /// It names users differently to every client, so that no comparison can succeed (R23).
    #[error("the authorization server knows only pairwise subjects and `subject_claim` is `sub`")]
    PairwiseOnly,
    /// It refuses our registration: the operator's to mend.
    #[error("the authorization server refuses our client")]
    ClientRefused,
    /// This browser's sign-in does not count.
    #[error("the sign-in is refused: {0}")]
    SignIn(#[from] SignInRefusal),
    /// A token does not prove what it should.
    #[error("the token is refused: {0}")]
    Token(#[from] TokenRefusal),
}

/// Why a sign-in does not count. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInRefusal {
    /// A parameter is missing, malformed, given twice, or one that must never come this way (R52, R56).
    #[error("the response is malformed")]
    Malformed,
    /// This browser has not begun it, or has finished it already (R24).
    #[error("not begun in this browser")]
    NotBegunHere,
    /// Begun too long ago.
    #[error("begun too long ago")]
    TooOld,
    /// `iss` is another's, or missing where it is promised (RFC 9207, section 2.4).
    #[error("the response is another issuer's")]
    WrongIssuer,
    /// The person, or the authorization server, said no.
    #[error("denied by the authorization server")]
    Denied,
    /// Another error response.
    #[error("the authorization server answered with an error")]
    Failed,
    /// The code was refused: too old, or spent.
    #[error("the code was refused")]
    CodeRefused,
    /// The token response holds no ID token.
    #[error("no ID token was given")]
    NoIdToken,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// Not a signed JWT, too long, or a claim of the wrong type (R33).
    #[error("malformed")]
    Malformed,
    /// A header parameter that must be understood and is not (RFC 7515, section 4.1.11).
    #[error("an extension that is not understood")]
    Critical,
    /// `typ` says that it is something else.
    #[error("another type of token")]
    Type,
    /// `alg` is not one of the settings' (R17).
    #[error("an algorithm that is not allowed")]
    Algorithm,
    /// No key of the issuer verifies it.
    #[error("no key of the issuer verifies it")]
    Signature,
    /// `iss` is another's (R18).
    #[error("another issuer's")]
    Issuer,
    /// Made for somebody else, or for others too (R19).
    #[error("made for another audience")]
    Audience,
    /// `azp` names another client.
    #[error("made for another client")]
    AuthorizedParty,
    /// Too old, or without an end.
    #[error("expired")]
    Expired,
    /// Not valid yet, or issued in the future.
    #[error("not valid yet")]
    NotYet,
    /// `nonce` is missing or another sign-in's (R21).
    #[error("another sign-in's nonce")]
    Nonce,
    /// `at_hash` or `c_hash` does not fit (R28).
    #[error("made for another code or access token")]
    Hash,
    /// The subject claim is missing, not a string, or cannot be carried (R22).
    #[error("no usable subject")]
    Subject,
    /// The issuer says that it is not active.
    #[error("not active")]
    Inactive,
}

impl From<consentry_jwt::Refused> for TokenRefusal {
    fn from(refused: consentry_jwt::Refused) -> Self {
        use consentry_jwt::Refused;
        match refused {
            Refused::Malformed => Self::Malformed,
            Refused::Critical => Self::Critical,
            Refused::Algorithm => Self::Algorithm,
            Refused::Signature => Self::Signature,
            Refused::Expired => Self::Expired,
            Refused::NotYet => Self::NotYet,
        }
    }
}

impl From<consentry_jwt::Refused> for IdentityError {
    fn from(refused: consentry_jwt::Refused) -> Self {
        Self::Token(refused.into())
    }
}
