//! Who calls an MCP server: a tower layer that lets a request in only with an access token that is meant for this very
//! server, and the metadata (RFC 9728) that tells a client where to get one.
//!
//! It works in front of anything that is a tower service over [`http`] types: an axum router, rmcp's Streamable HTTP
//! service, a service of your own.
//!
//! ```
//! use axum::{Extension, Router, routing::get};
//! use consentry_bearer::{Bearer, Principal};
//!
//! let bearer = Bearer::builder("https://files.example.com/mcp", "https://id.example.com").scopes(["mcp"]).build()?;
//! let app: Router = Router::new()
//!     .route("/mcp", get(async |Extension(who): Extension<Principal>| format!("you are {}", who.sub())))
//!     .route_layer(bearer.layer())
//!     // Behind the layer, for whoever has no token yet.
//!     .route_service(&bearer.metadata_path(), bearer.metadata_service());
//! # Ok::<(), consentry_bearer::Setup>(())
//! ```
//!
//! A token counts when it is a JWT (RFC 9068) that the issuer has signed with an allowed algorithm and a key of its own
//! (its JWKS, fetched, kept and renewed here), when `iss` is the issuer, `aud` holds this server's resource identifier
//! (RFC 8707), it has not expired, and its scopes cover what is asked. Everything else is answered as RFC 6750 says: 401
//! `invalid_token`, 403 `insufficient_scope`, both with the way to the metadata. What only its issuer can read (an
//! opaque token) is refused here; Consentry can introspect such tokens (`subject_token`).
//!
//! What it never does: read a token from anywhere but the `Authorization` header, take a key or a URL from a token,
//! follow a redirect, or say in an answer or a log what a token held.

mod check;
mod keys;
mod layer;
mod metadata;
mod principal;
mod refusal;
mod settings;

pub use check::Bearer;
pub use layer::{BearerLayer, Checked};
pub use metadata::MetadataService;
pub use principal::Principal;
pub use refusal::Refusal;
pub use settings::{Builder, Setup};
