//! What is recorded off the request's path: every hand-out, and refusals that change nothing.
//!
//! A request only counts in memory. One task of the process writes what came together: refusals within seconds, and
//! hand-outs when their minute is over, as one row for each connection and minute, with when each connection was last
//! used. What a crash can lose is therefore the present minute's, and a few seconds more. When there is no room, what
//! is new is counted as lost, in a metric and in the record itself; a request never waits.

use std::{
    collections::{HashMap, hash_map},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    app::App,
    audit::{About, Actor, Entry, Kind},
    clock::Millis,
    connection::{Connection, ConnectionId},
    store::{StoreError, Uses},
};

/// Between two writings.
const ROUND: Duration = Duration::from_secs(5);
/// Rounds between two lines in the log that say where the chains end.
const ROUNDS_PER_HEADS: u32 = 720;
/// Different things that are remembered between two writings.
const ROOM: usize = 50_000;
/// Rows of one transaction.
const BATCH: usize = 200;
const MINUTE_MS: i64 = 60_000;

/// Remembers what is to be written. Cloning shares it.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Inner>);

#[derive(Default)]
struct Inner {
    book: Mutex<Book>,
    filling: Notify,
}

#[derive(Default)]
struct Book {
    /// By connection and minute.
    hand_outs: HashMap<(ConnectionId, i64), HandOuts>,
    /// By the entry less its time and number.
    refusals: HashMap<Entry, (Millis, i64)>,
    lost: Lost,
}

/// What there was no room for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Lost {
    hand_outs: i64,
    refusals: i64,
}

/// A connection's within one minute.
struct HandOuts {
    about: About,
    first: Millis,
    last: Millis,
    times: i64,
}

/// What is written next.
#[derive(Default)]
struct Page {
    hand_outs: Vec<(ConnectionId, HandOuts)>,
    refusals: Vec<(Entry, (Millis, i64))>,
    lost: Lost,
}

impl Recorder {
    /// A credential of this connection leaves for its MCP server.
    pub fn handed_out(&self, connection: &Connection, now: Millis) {
        let mut book = self.book();
        let full = book.is_full();
        let key = (connection.id, now.0.div_euclid(MINUTE_MS));
        match book.hand_outs.entry(key) {
            hash_map::Entry::Occupied(mut there) => {
                let there = there.get_mut();
                there.times += 1;
                there.last = there.last.max(now);
            }
            hash_map::Entry::Vacant(_) if full => book.lost.hand_outs += 1,
            hash_map::Entry::Vacant(free) => {
                free.insert(HandOuts { about: connection.into(), first: now, last: now, times: 1 });
            }
        }
        self.look_at(&book);
    }

    /// Something happened that changed nothing.
    pub fn note(&self, entry: Entry) {
        let mut book = self.book();
        let full = book.is_full();
        let (at, times) = (entry.at, entry.times);
        match book.refusals.entry(Entry { at: Millis(0), times: 0, ..entry }) {
            hash_map::Entry::Occupied(mut there) => there.get_mut().1 += times,
            hash_map::Entry::Vacant(_) if full => book.lost.refusals += times,
            hash_map::Entry::Vacant(free) => {
                free.insert((at, times));
            }
        }
        self.look_at(&book);
    }

    /// Writes what came together: all of it, or without the hand-outs of the present minute.
    ///
    /// # Errors
    /// The store's; what was not written is remembered.
    pub async fn write(&self, app: &App, all: bool) -> Result<(), StoreError> {
        let now = app.clock.now();
        let this_minute = now.0.div_euclid(MINUTE_MS);
        let mut page = self.book().take(|minute| all || minute < this_minute);
        while !page.is_empty() {
            let batch = page.split_off(BATCH);
            let lost = batch.lost;
            let (uses, entries) = batch.as_rows(now);
            if let Err(error) = app.store.record(&uses, entries).await {
                let mut book = self.book();
                book.put_back(batch);
                book.put_back(page);
                return Err(error);
            }
            if !lost.is_nothing() {
                let Lost { hand_outs, refusals } = lost;
                app.metrics.records_lost("hand_out", hand_outs);
                app.metrics.records_lost("refusal", refusals);
                tracing::error!(
                    hand_outs,
                    refusals,
                    "the audit record had no room for everything that happened"
                );
            }
        }
        Ok(())
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, book: &Book) {
        if book.len() == ROOM / 2 {
            self.0.filling.notify_one();
        }
    }
}

impl Lost {
    fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl Book {
    fn len(&self) -> usize {
        self.hand_outs.len() + self.refusals.len()
    }

    fn is_full(&self) -> bool {
        self.len() >= ROOM
    }

    fn take(&mut self, minute_is_over: impl Fn(i64) -> bool) -> Page {
        let over = self.hand_outs.extract_if(|(_, minute), _| minute_is_over(*minute));
        let mut hand_outs: Vec<_> = over.map(|((id, _), one)| (id, one)).collect();
        // In the order of ids, in which two replicas never wait for each other in a circle.
        hand_outs.sort_unstable_by_key(|(id, one)| (*id, one.first));
        Page { hand_outs, refusals: self.refusals.drain().collect(), lost: mem::take(&mut self.lost) }
    }

    /// What could not be written is remembered again, whatever the room: it had some before.
    fn put_back(&mut self, page: Page) {
        self.lost.hand_outs += page.lost.hand_outs;
        self.lost.refusals += page.lost.refusals;
        for (id, one) in page.hand_outs {
            self.hand_outs.insert((id, one.first.0.div_euclid(MINUTE_MS)), one);
        }
        for (entry, (at, times)) in page.refusals {
            let there = self.refusals.entry(entry).or_insert((at, 0));
            *there = (there.0.min(at), there.1 + times);
        }
    }
}

impl Page {
    fn is_empty(&self) -> bool {
        self.hand_outs.is_empty() && self.refusals.is_empty() && self.lost.is_nothing()
    }

    /// The next part; the rest stays.
    fn split_off(&mut self, number: usize) -> Self {
        let rest = self.hand_outs.split_off(number.min(self.hand_outs.len()));
        let hand_outs = mem::replace(&mut self.hand_outs, rest);
        let refusals = self.refusals.drain(..number.min(self.refusals.len())).collect();
        Self { hand_outs, refusals, lost: mem::take(&mut self.lost) }
    }

    fn as_rows(&self, now: Millis) -> (Uses, Vec<Entry>) {
        let uses = self.hand_outs.iter().map(|(id, one)| (*id, one.last)).collect();
        let hand_outs = self.hand_outs.iter().map(|(_, one)| Entry {
            times: one.times,
            ..Entry::new(Kind::HandedOut, Actor::Server, one.about.clone(), one.first)
        });
        let refusals = self.refusals.iter().map(|(entry, (at, times))| Entry {
            at: *at,
            times: *times,
            ..entry.clone()
        });
        let lost = (!self.lost.is_nothing()).then(|| Entry {
            times: self.lost.hand_outs + self.lost.refusals,
            ..Entry::new(Kind::RecordsLost, Actor::Program, About::default(), now)
        });
        (uses, hand_outs.chain(refusals).chain(lost).collect())
    }
}

/// Writes until the process drains; [`finish`] writes the rest.
pub async fn keep(app: App) {
    let mut round: u32 = 0;
    while !app.shutdown.is_cancelled() {
        tokio::select! {
            () = app.clock.sleep(ROUND) => {}
            () = app.recorder.0.filling.notified() => {}
            () = app.shutdown.cancelled() => return,
        }
        if let Err(error) = app.recorder.write(&app, false).await {
            app.metrics.store_error(&error);
            tracing::warn!(%error, "the audit record waits for the database");
        }
        round = round.wrapping_add(1);
        if round.is_multiple_of(ROUNDS_PER_HEADS) {
            tell_heads(&app).await;
        }
    }
}

/// Writes everything that is left, when nothing more is handed out.
pub async fn finish(app: &App) {
    if let Err(error) = app.recorder.write(app, true).await {
        tracing::error!(%error, "the last entries of the audit record are lost");
    }
    tell_heads(app).await;
}

/// Logs where this process's chains end: what `audit verify --expect` compares with.
async fn tell_heads(app: &App) {
    for head in app.store.audit_heads().await {
        tracing::info!(%head, "a chain of the audit record ends here");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(number: i64) -> Entry {
        let about = About { server: format!("s{number}").parse().ok(), ..About::default() };
        Entry::new(Kind::WrongAccount, Actor::Person, about, Millis(number))
    }

    #[test]
    fn the_same_refusal_is_one_row_with_its_first_time() {
        let recorder = Recorder::default();
        for at in [5, 3, 9] {
            recorder.note(Entry { at: Millis(at), ..refusal(1) });
        }
        let (_, rows) = recorder.book().take(|_| true).as_rows(Millis(10));
        assert_eq!(rows.iter().map(|row| (row.at, row.times)).collect::<Vec<_>>(), [(Millis(5), 3)]);
    }

    /// What has no room is counted, and what was there already still counts on.
    #[test]
    fn without_room_what_is_new_is_counted_as_lost() {
        let recorder = Recorder::default();
        let room = i64::try_from(ROOM).unwrap();
        for number in 0..room + 3 {
            recorder.note(refusal(number));
        }
        recorder.note(refusal(0));
        let mut page = recorder.book().take(|_| true);
        assert_eq!((page.refusals.len(), page.lost.refusals), (ROOM, 3));
        let (_, rows) = page.split_off(BATCH).as_rows(Millis(1));
        assert_eq!(rows.len(), BATCH + 1);
        let last = rows.last().unwrap();
        assert_eq!((last.kind, last.times), (Kind::RecordsLost, 3));
        assert_eq!(page.refusals.len(), ROOM - BATCH);
    }

    #[test]
    fn what_could_not_be_written_is_remembered() {
        let recorder = Recorder::default();
        recorder.note(refusal(1));
        let page = recorder.book().take(|_| true);
        recorder.note(refusal(1));
        recorder.book().put_back(page);
        let (_, rows) = recorder.book().take(|_| true).as_rows(Millis(1));
        assert_eq!(rows.iter().map(|row| row.times).collect::<Vec<_>>(), [2]);
    }
}
