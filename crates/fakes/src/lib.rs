//! Strict stand-ins for the parties around Consentry, used by the demo and by the tests.
//!
//! They refuse what an honest server of their kind refuses (a wrong verifier, a used code, another redirect URI, a
//! client that authenticates in another way than registered), so that a test that passes here means something. They
//! know nothing of Consentry: what they accept comes from the RFCs alone.
//!
//! | here | what |
//! |---|---|
//! | [`AuthorizationServer`] | "Example ID": OpenID Connect for people, RFC 9068 access tokens for MCP clients |
//! | [`Provider`] | "Example Files": a third party with an API, consent page, refresh token rotation |
//! | [`KeyService`] | "Example Keys": an API that is called with a key |
//! | [`McpServer`] | "Example Tools": somebody else's MCP server, with the tokens of an [`AuthorizationServer`] |
//! | [`Sink`] | a webhook receiver |
//! | [`Answer`], [`Gate`] | scripted answers: errors, nonsense, delays, dropped connections |
//! | [`Log`] and its entries | what happened; the token log judges attacks |
//! | [`Listen`], [`Clock`] | where they listen and what time they believe in |
//!
//! Inside: `oauth` is what both servers share (requests, grants, token endpoint, revocation), `serve`, `connection` and
//! `observe` are the HTTP around it, `tokens` signs and forges JWTs, `pages` is their HTML.
//!
//! Never for production: secrets stay in memory, but in plain sight.

mod answers;
mod authorization_server;
mod clients;
mod clock;
mod connection;
mod entropy;
mod key_service;
mod log;
mod mcp_server;
mod oauth;
mod observe;
mod pages;
mod parameters;
mod provider;
mod script;
mod serve;
mod sink;
mod tokens;

pub use authorization_server::{AuthorizationServer, IdentitySettings, Person};
pub use clients::{Assertion, Authentication, AuthenticationUsed, Client};
pub use clock::Clock;
pub use key_service::KeyService;
pub use log::{Log, Received};
pub use mcp_server::{McpServer, Says};
pub use oauth::{
    Answered, Approval, AuthorizeRequest, Dialect, FormPost, Par, Refresh, Refused, Reply, Revocation,
    Settings, TokenRequest, Verdict, Via, Written,
};
pub use provider::{Account, Provider};
pub use script::{Answer, Gate};
pub use serve::Listen;
pub use sink::Sink;
pub use tokens::{Forge, Signature};
