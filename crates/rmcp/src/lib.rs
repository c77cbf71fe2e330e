//! Consentry for an MCP server on [`rmcp`]: inside a tool, one line gives the user's credential at a third party, or ends
//! the call with what this client, in its era of the protocol, must be told.
//!
//! ```
//! use consentry_rmcp::{Call, Consentry, grant};
//! use rmcp::{ErrorData, model::{CallToolResponse, CallToolResult, ContentBlock}};
//!
//! async fn list_issues(consentry: &Consentry, call: Call) -> Result<CallToolResponse, ErrorData> {
//!     let github = grant!(consentry.grant(call, "github").await);
//!     let answer = format!("asked GitHub with a token of {} characters", github.bearer().unwrap_or_default().len());
//!     Ok(CallToolResult::success(vec![ContentBlock::text(answer)]).into())
//! }
//! ```
//!
//! [`Endpoint`] puts the server behind the token check of [`consentry_bearer`] and guards what rmcp leaves to its user. The
//! guide is `docs/rust.md`, a whole server is in `examples/rust`.
//!
//! | the client, at this call | while the user has not connected |
//! |---|---|
//! | legacy, declared `url` | `elicitation/create` within the call; waits, notifies of the completion, finishes the call |
//! | the same, and [errors are preferred](Builder::prefer_errors) | error `-32042`; the notification follows when the user has connected |
//! | modern, declared `url` | `InputRequiredResult`; a retry is held for up to 45 s, two more rounds ask for nothing new, then words |
//! | did not declare `url` | words with the link; or `-32021` (modern), where [the server insists](Builder::require_url_mode) |
//!
//! What it never does: send a client what it has not declared or what its era does not have, ask outside of a call,
//! notify a session that was not asked, or take a client's `accept` for a connection.

mod call;
mod consentry;
mod endpoint;
mod guard;
mod modern;
mod need;
mod news;
mod reply;
mod sessions;
mod wait;

pub use call::Call;
pub use consentry::{Builder, Consentry};
pub use consentry_bearer as bearer;
pub use consentry_client as client;
pub use endpoint::Endpoint;
pub use modern::without_elicitation_id;
pub use need::Need;
pub use reply::Instead;

/// The value of a [`Consentry::grant`] or [`Consentry::grants`]; where the call must be answered otherwise, returns that
/// answer from the function around it.
///
/// The function returns `Result<CallToolResponse, ErrorData>`, or the like for prompts and resources. It is a macro
/// because rmcp takes a request for input only from the `Ok` side of a handler's result, which `?` cannot return.
#[macro_export]
macro_rules! grant {
    ($granted:expr) => {
        match $granted {
            Ok(granted) => granted,
            Err(instead) => return ::core::convert::From::<$crate::Instead>::from(instead),
        }
    };
}
