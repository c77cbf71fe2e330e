//! The MCP elicitation protocol, both revisions that are in the field, and nothing else.
//!
//! *Legacy* is everything up to `2025-11-25`: the server sends `elicitation/create` with an `elicitationId`, may answer
//! with error `-32042`, and may notify `notifications/elicitation/complete`. *Modern* is `2026-07-28` and later: the
//! server answers an [`InputRequiredResult`] and the client retries with [`Retry`]; the id, the error and the
//! notification are gone.
//!
//! The crate does no I/O, keeps no clock and no randomness, and never fetches a link.
//!
//! | you write | and need | see |
//! |---|---|---|
//! | a server | what the client declared, in each era | [`Capability::of_connection`], [`Client::of_request`] |
//! | | the reply for this client | [`choose`], with an [`Ask`] for a link or a [`FormAsk`] for a form |
//! | | a form, and its answers judged | [`form`], [`FormRequest`], [`ElicitResult::for_form`] |
//! | | what came back in a retry | [`Retry`], [`InputResponses`] |
//! | a client | what the server asks | [`ElicitRequestParams::read`], [`InputRequiredResult`], [`RpcError::elicitations`] |
//! | | a link shown safely | [`Link`] |
//! | | what is wrong with a form that it is sent | [`FormRequest::concerns`] |
//! | tests of either | a client that takes nothing amiss and answers to the letter | [`Model`] |
//!
//! A server asks for a link:
//!
//! ```
//! use consentry_elicitation::{Ask, Capability, Client, ProtocolVersion, Turn, choose};
//!
//! let client = Client::new(ProtocolVersion::V2025_11_25, Capability::URL, "tools/call");
//! let url = "https://connect.example.com/connect?elicitationId=550e8400".parse()?;
//! let ask = Ask::new("github", "GitHub", "550e8400", url).message("Connect GitHub to list your repositories.");
//! let reply = choose(&client, &[ask], Turn::Ask { request_state: None });
//! assert_eq!(serde_json::to_value(&reply)?["kind"], "elicitation_request");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! and by a form, for what the client may see:
//!
//! ```
//! use consentry_elicitation::form::{Choice, Form};
//! use consentry_elicitation::{
//!     Body, Capability, Client, FormAsk, FormOutcome, FormRequest, ProtocolVersion, Retry, Turn, choose,
//! };
//!
//! let form = Form::builder()
//!     .required("account", Choice::titled([("583231", "octocat"), ("9919", "github")]).title("Account"))
//!     .build()?;
//! let ask = FormAsk::new("account", FormRequest::new("Which account is it to be?", form)?);
//! let client = Client::new(ProtocolVersion::V2026_07_28, Capability::BOTH, "tools/call");
//! let reply = choose(&client, &ask, Turn::Ask { request_state: Some("v1.sealed") });
//! assert!(matches!(reply.body, Body::InputRequired(_)));
//!
//! // The client repeats its request with the answer.
//! let retry: Retry = serde_json::from_str(
//!     r#"{ "inputResponses": { "account": { "action": "accept", "content": { "account": "9919" } } } }"#,
//! )?;
//! let answer = retry.input_responses.elicited("account").expect("an answer under this key");
//! let FormOutcome::Accepted(answers) = answer.for_form(ask.request.form())? else { panic!() };
//! assert_eq!(answers.text("account"), Some("9919"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capability;
mod completion;
mod declared;
mod error;
pub mod form;
pub mod inspect;
mod members;
pub mod model;
mod node;
mod object;
pub mod reply;
mod request;
mod result;
mod rounds;
mod sensitive;
mod tool;
mod version;

pub use capability::{Capability, InvalidCapability};
pub use completion::{COMPLETE_METHOD, ElicitationComplete};
pub use declared::{CAPABILITIES_KEY, VERSION_KEY};
pub use error::{INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY, RpcError, URL_ELICITATION_REQUIRED};
pub use form::{Form, InvalidForm};
pub use inspect::{InvalidLink, Link, Warning};
pub use model::{Model, Rule, Violation};
pub use reply::{Ask, Asks, Body, Client, FormAsk, Outcome, Prefer, Reply, Turn, choose};
pub use request::{CREATE_METHOD, Concern, ConcernKind, ElicitRequestParams, FormRequest, UrlRequest};
pub use result::{ElicitAction, ElicitResult, ElicitValue, FormOutcome};
pub use rounds::{
    INPUT_METHODS, InputRequest, InputRequiredResult, InputResponses, Retry, STATE_ONLY_ROUNDS,
};
pub use sensitive::Sensitive;
pub use tool::{Content, ResultType, ToolResult};
pub use version::{Era, InvalidVersion, ProtocolVersion};

/// For a member that may be left out and is never `null`: `null` is another type than the protocol has there.
fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
