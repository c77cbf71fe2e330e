//! What a person's browser sees: pages, their words, and the files that go with them.
//!
//! Handlers here ask `connect` and show what it says; nothing in here decides who somebody is or what they may do.

pub mod assets;
pub mod callback;
pub mod client_ip;
mod client_metadata;
pub mod code;
pub mod connect;
pub mod connections;
pub mod cookies;
pub mod csrf;
mod error;
pub mod headers;
pub mod here;
mod input;
pub mod leaving;
pub mod limit;
mod logo;
pub mod outcome;
pub mod pages;
pub mod parameters;
pub mod request_id;
mod router;
mod secret;
mod segments;
pub mod session;
pub mod sign_in;
pub mod stopped;
mod tenant;
pub mod text;

pub use router::{router, with};
