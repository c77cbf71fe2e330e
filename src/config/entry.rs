//! What the settings would say against an entry of the catalogue, asked without settings.

use super::check;
use crate::{
    outbound::AddressPolicy,
    provider::catalogue::{Entry, Problem},
};

/// Everything that would stop a start with a provider of this entry: unknown keys, addresses that are not https, values
/// that do not fit. Only addresses of the internet are let through.
pub fn entry_problems(entry: &Entry) -> Vec<Problem> {
    check::entry(entry, AddressPolicy { allow_loopback: false, allowed: Vec::new() })
}
