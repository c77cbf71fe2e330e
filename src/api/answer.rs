//! Answers as JSON, serialised once and straight to bytes.

use std::collections::BTreeMap;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer};

use crate::{clock::Millis, secret::Secret, secret_form::Typed};

use super::problem::Problem;

/// An answer with this body.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Result<Response, Problem> {
    let bytes = serde_json::to_vec(body).map_err(|_| Problem::internal())?;
    Ok((status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes)
        .into_response())
}

/// An instant as RFC 3339 in UTC.
pub(super) fn time<S: Serializer>(at: &Millis, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&at.rfc3339())
}

/// An instant, or null.
pub(super) fn maybe_time<S: Serializer>(at: &Option<Millis>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => time(at, to),
        None => to.serialize_none(),
    }
}

/// An id, or whatever else has one spelling.
pub(super) fn text<T: std::fmt::Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// The same, or null.
pub(super) fn maybe_text<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

/// Scopes as a list.
pub(super) fn scopes<S: Serializer>(scopes: &&crate::scope::Scopes, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(scopes.iter())
}

/// A secret that leaves, to the one that it is for.
pub(super) fn maybe_secret<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => to.serialize_str(secret.expose()),
        None => to.serialize_none(),
    }
}

/// Secrets by name.
pub(super) fn secrets<S: Serializer>(secrets: &BTreeMap<String, Secret>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(secrets.iter().map(|(name, secret)| (name, secret.expose())))
}

/// What was typed, by field.
pub(super) fn typed<S: Serializer>(typed: &&Typed, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(typed.iter().map(|(name, secret)| (name, secret.expose())))
}
