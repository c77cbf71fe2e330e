//! One connection through the proxy: which statement is being run, in which transaction.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{
    Shared, body,
    hold::{Held, Moment},
    message, pass,
};

/// `ReadyForQuery`'s status outside of a transaction.
const IDLE: u8 = b'I';

pub(super) struct Session {
    shared: Arc<Shared>,
    number: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Prepared statements by their names.
    texts: HashMap<Vec<u8>, String>,
    in_transaction: bool,
    /// A hold that this transaction has met, for its commit.
    met: Option<Held>,
    /// A hold whose commit is on its way: the answer is not passed on.
    committing: Option<Held>,
}

/// What is done with a message from the client.
enum Step {
    Pass,
    Wait(Held),
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        Self { shared, number, state: Mutex::default() }
    }

    /// From the client to the database.
    pub(super) async fn forth(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let _: Option<()> = async {
            let startup = body(&mut from).await?;
            pass(&mut to, None, &startup).await?;
            loop {
                let (kind, body) = message(&mut from).await?;
                self.shared.hears(self.number).await;
                let step = self.look(kind, &body);
                if let Step::Wait(held) = step {
                    held.wait().await?;
                }
                pass(&mut to, Some(kind), &body).await?;
            }
        }
        .await;
    }

    fn look(&self, kind: u8, body: &[u8]) -> Step {
        let mut state = self.state.lock().unwrap();
        match kind {
            b'P' => {
                let (name, rest) = cut(body);
                let (text, _) = cut(rest);
                state.texts.insert(name.to_owned(), String::from_utf8_lossy(text).into_owned());
                Step::Pass
            }
            b'B' => {
                let (_, rest) = cut(body);
                let (name, _) = cut(rest);
                let text = state.texts.get(name).cloned().unwrap_or_default();
                self.meets(&mut state, &text)
            }
            b'Q' if cut(body).0.eq_ignore_ascii_case(b"COMMIT") => match state.met.take() {
                Some(held) if held.moment == Moment::Commit => Step::Wait(held),
                other => {
                    state.committing = other;
                    Step::Pass
                }
            },
            b'Q' => {
                let text = String::from_utf8_lossy(cut(body).0).into_owned();
                self.meets(&mut state, &text)
            }
            _ => Step::Pass,
        }
    }

    /// A statement on its own is its own transaction.
    fn meets(&self, state: &mut State, text: &str) -> Step {
        let Some(held) = self.shared.holds.lock().unwrap().take(text) else { return Step::Pass };
        match held.moment {
            Moment::Statement => return Step::Wait(held),
            Moment::Commit if !state.in_transaction => return Step::Wait(held),
            Moment::Committed if !state.in_transaction => state.committing = Some(held),
            Moment::Commit | Moment::Committed => state.met = Some(held),
        }
        Step::Pass
    }

    /// From the database to the client. The answer to a commit that is held is kept until all of it is there.
    pub(super) async fn back(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let _: Option<()> = async {
            let mut kept: Vec<(u8, Vec<u8>)> = Vec::new();
            loop {
                let (kind, body) = message(&mut from).await?;
                self.shared.hears(self.number).await;
                let is_over = kind == b'Z';
                let is_committing = {
                    let mut state = self.state.lock().unwrap();
                    if is_over {
                        state.in_transaction = body.first() != Some(&IDLE);
                        if !state.in_transaction {
                            state.met = None;
                        }
                    }
                    state.committing.is_some()
                };
                kept.push((kind, body));
                if is_committing && !is_over {
                    continue;
                }
                let held = if is_over { self.state.lock().unwrap().committing.take() } else { None };
                if let Some(held) = held {
                    held.wait().await?;
                }
                for (kind, body) in kept.drain(..) {
                    pass(&mut to, Some(kind), &body).await?;
                }
                to.flush().await.ok()?;
            }
        }
        .await;
    }
}

/// The text up to the zero byte, and what follows it.
fn cut(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}
