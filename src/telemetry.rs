//! What is counted and what is logged: names, numbers and stable codes, never a value of a user's (R117).

mod catalogue;
mod log;
mod metrics;
mod security;

pub use self::{
    catalogue::{METRICS, Metric, document},
    log::{LogError, start_log},
    metrics::{Answered, Delivered, Lookup, Metrics},
    security::SecurityEvent,
};
