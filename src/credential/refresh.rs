//! Refreshing: a new access token for a refresh token, once for each generation over all replicas.
//!
//! `life` says when, `verdict` what a failure means, `machine` what happens in which order; all three are pure. `task`
//! drives the machine against the store and the provider, `flight` lets everybody in this process share one such task.
//! What it must never do: hand a token out before it is stored; hold a database connection while the provider is asked;
//! end a connection for anything but the provider's clear word or a time that is over.

mod flight;
mod life;
mod machine;
mod step;
mod task;
mod verdict;
mod which;

pub use self::{
    flight::{Ending, Refreshes},
    life::{Need, need},
    machine::Machine,
    step::{Action, Answer, Event, Finish, Pause, Seen, Spans, Write},
    verdict::{
        ACCOUNT_MISMATCH, CONSENT_EXPIRED, Circumstances, REASONS, REFRESH_EXPIRED, REFUSED, ROTATION_LOST,
        UNAUTHORIZED, Verdict, judge,
    },
};
