//! The MCP elicitation protocol, both revisions that are in the field, and nothing else.
//!
//! *Legacy* is everything up to `2025-11-25`: the server sends `elicitation/create` with an `elicitationId`, may answer
//! with error `-32042`, and may notify `notifications/elicitation/complete`. *Modern* is `2026-07-28` and later: the
//! server answers an [`InputRequiredResult`] and the client retries with [`Retry`]; the id, the error and the
//! notification are gone.
//!
//! The crate does no I/O, keeps no clock and no randomness, and never fetches a link. It may be used by servers
//! ([`choose`] picks the reply for a client), by clients ([`Link`] shows a URL safely), and by tests of either
//! ([`Model`] is a client that complains about every rule that a server breaks).
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
