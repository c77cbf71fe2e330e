//! Credentials that stay alive: refreshed once, whatever the provider says and whoever comes at the same time.

mod clocks;
mod dialects;
mod failures;
mod ordinary;
mod races;
mod reports;
mod rotation;
pub(crate) mod simulation;
mod stand;
