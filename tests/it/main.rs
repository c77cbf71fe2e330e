//! The one integration binary: the store's contract on both engines, the rules of the house, and whole flows.
//!
//! Everything here stands at a border of the program: its database, its HTTP listeners, the parties it calls. No
//! test depends on another, on their order or on a sleep.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[macro_use]
mod engine;
mod answers;
mod api;
mod attacks;
mod audit;
mod browser;
mod canaries;
mod catalogue;
mod clients;
mod commands;
mod contract;
mod crash;
mod documents;
mod entries;
mod flow;
mod hosted;
mod keys;
mod logos;
mod mcp;
mod model;
mod operator;
mod own;
mod peers;
mod refresh;
mod replicas;
mod revocations;
mod rows;
mod secrets;
mod step_up;
mod third_party;
mod tidy;
mod variables;
mod webhooks;
mod world;
