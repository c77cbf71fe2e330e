//! The kinds of problem, each with its status and its title. `docs/http-api.md` lists them.

use axum::http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:ident, $title:literal;)*) => {
        /// What is wrong. The texts are part of the API: they may be added to and never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::api) enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code.
            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// As answers write it.
            pub(super) fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The HTTP status.
            pub(super) fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            pub(super) fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            pub(super) fn urn(self) -> &'static str {
                match self { $(Self::$name => concat!("urn:consentry:problem:", $code),)* }
            }
        }
    };
}

codes! {
    /// The body is no JSON.
    MalformedBody = "malformed_body", BAD_REQUEST, "The body is not valid JSON";
    /// A field that this call does not have.
    UnknownField = "unknown_field", BAD_REQUEST, "The body has an unknown field";
    /// A field that is missing, of the wrong type, or out of bounds.
    InvalidField = "invalid_field", BAD_REQUEST, "A field of the body is not valid";
    /// A query parameter that this call does not have.
    UnknownParameter = "unknown_parameter", BAD_REQUEST, "The query has an unknown parameter";
    /// A query parameter or header that is given twice.
    DuplicateParameter = "duplicate_parameter", BAD_REQUEST, "A parameter is given twice";
    /// A query parameter or header that cannot be read or is out of bounds.
    InvalidParameter = "invalid_parameter", BAD_REQUEST, "A parameter is not valid";
    /// A cursor that this list did not give.
    InvalidCursor = "invalid_cursor", BAD_REQUEST, "The cursor is not one of this list";
    /// The subject is of another issuer than the MCP server's users are.
    IssuerNotAllowed = "issuer_not_allowed", BAD_REQUEST, "The issuer is not this MCP server's";
    /// This MCP server must pass the user's token and may not name the user.
    SubjectTokenRequired = "subject_token_required", BAD_REQUEST, "The user's access token is required";
    /// Unknown, or not for this MCP server.
    ProviderNotAllowed = "provider_not_allowed", BAD_REQUEST, "The provider is not one that this MCP server may ask for";
    /// Beyond the provider's `allowed_scopes`.
    ScopeNotAllowed = "scope_not_allowed", BAD_REQUEST, "A scope is not allowed for this provider";
    /// A variable that this provider does not have, or that others give.
    VariableNotAllowed = "variable_not_allowed", BAD_REQUEST, "A variable may not be given for this provider";
    /// A variable's value that leads nowhere the provider is.
    VariableInvalid = "variable_invalid", BAD_REQUEST, "A variable's value does not fit this provider";
    /// A variable that only the caller may give.
    VariableMissing = "variable_missing", BAD_REQUEST, "A variable of this provider has no value";
    /// Unknown, used, too old, or another MCP server's.
    PageCodeInvalid = "page_code_invalid", BAD_REQUEST, "The code cannot be redeemed";
    /// The elicitation is not answered on a page of the MCP server's.
    NoHostedPage = "no_hosted_page", BAD_REQUEST, "The elicitation is not of a hosted page";
    /// Forged, or bound to something else; for the MCP client, error -32602.
    RequestStateInvalid = "request_state_invalid", BAD_REQUEST, "The request state is not one of this request";
    /// No API key, or none that is known.
    Unauthorized = "unauthorized", UNAUTHORIZED, "The API key is missing or unknown";
    /// The user's access token proves nothing.
    SubjectTokenInvalid = "subject_token_invalid", UNAUTHORIZED, "The user's access token is not valid here";
    /// Unknown, or another MCP server's.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// The resource has no such method; `Allow` names those it has.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The method is not allowed here";
    /// None of the accepted types can be given.
    NotAcceptable = "not_acceptable", NOT_ACCEPTABLE, "No acceptable type of answer";
    /// The body did not arrive in time.
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "The request took too long to arrive";
    /// It moved while the call was under way.
    Conflict = "conflict", CONFLICT, "It has changed meanwhile";
    /// No visit with a redeemed code is under way.
    PageNotVisited = "page_not_visited", CONFLICT, "Nobody is at the page";
    /// Another result was given before.
    ResultGiven = "result_given", CONFLICT, "Another result was given before";
    /// It has ended.
    ElicitationOver = "elicitation_over", CONFLICT, "The elicitation has ended";
    /// Beyond `limits.body`.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// Not `application/json`.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body must be application/json";
    /// The same key came with another body before.
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "The idempotency key was used for another request";
    /// This user was asked too often.
    TooManyElicitations = "too_many_elicitations", TOO_MANY_REQUESTS, "Too many new elicitations for this user";
    /// This MCP server has too many streams open.
    TooManyStreams = "too_many_streams", TOO_MANY_REQUESTS, "Too many event streams of this MCP server";
    /// A fault of ours.
    Internal = "internal_error", INTERNAL_SERVER_ERROR, "Something went wrong here";
    /// A stored credential does not open: an alert, never "not connected".
    SealedValueUnreadable = "sealed_value_unreadable", INTERNAL_SERVER_ERROR, "A stored credential cannot be read";
    /// The provider refuses our configuration, or answers nonsense.
    ProviderMisconfigured = "provider_misconfigured", BAD_GATEWAY, "The provider cannot be worked with";
    /// The authorization server cannot be worked with.
    AuthorizationServerMisconfigured = "authorization_server_misconfigured", BAD_GATEWAY, "The authorization server cannot be worked with";
    /// The database is away.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The service is unavailable for the moment";
    /// The provider is away.
    ProviderUnavailable = "provider_unavailable", SERVICE_UNAVAILABLE, "The provider is unavailable for the moment";
    /// The authorization server is away.
    AuthorizationServerUnavailable = "authorization_server_unavailable", SERVICE_UNAVAILABLE, "The authorization server is unavailable for the moment";
}
