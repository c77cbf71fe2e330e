//! What is recorded off the request's path: every hand-out, and refusals that change nothing.
//!
//! A request only counts in memory. One task of the process writes what came together: refusals within seconds, and
//! hand-outs when their minute is over, as one row for each connection and minute, with when each connection was last
//! used. What a crash can lose is therefore the present minute's, and a few seconds more. Before half of the room is
//! used up everything is written at once, a minute that is not over too. Only while the database takes nothing can the
//! room end: then what is new is counted as lost, in a metric and in the record itself; a request never waits.

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
    telemetry::Metrics,
};

/// Between two writings.
const ROUND: Duration = Duration::from_secs(5);
/// Rounds between two lines in the log that say where the chains end.
const ROUNDS_PER_HEADS: u32 = 720;
/// Bytes that may be remembered, what is being written included. A hand-out takes about 500, so this is for more than a
/// hundred thousand connections.
const ROOM: usize = 64 * 1024 * 1024;
/// What one thing takes beside its texts: its key, its value and its share of the table.
const BESIDE: usize = 2 * (mem::size_of::<Entry>() + mem::size_of::<HandOuts>());
/// Rows of one transaction.
const BATCH: usize = 200;
const MINUTE_MS: i64 = 60_000;

/// Remembers what is to be written. Cloning shares it.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    book: Mutex<Book>,
    filling: Notify,
    metrics: Metrics,
    room: usize,
}

#[derive(Default)]
struct Book {
    /// By connection and minute.
    hand_outs: HashMap<(ConnectionId, i64), HandOuts>,
    /// By the entry less its time and number.
    refusals: HashMap<Entry, (Millis, i64)>,
    /// Bytes of both.
    held: usize,
    /// Bytes of what is being written, which comes back when that fails.
    writing: usize,
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
    hand_outs: Vec<((ConnectionId, i64), HandOuts)>,
    refusals: Vec<(Entry, (Millis, i64))>,
    lost: Lost,
}

impl Recorder {
    /// One that remembers nothing yet; `metrics` is told of what it has no room for.
    pub fn new(metrics: Metrics) -> Self {
        Self::with_room(metrics, ROOM)
    }

    fn with_room(metrics: Metrics, room: usize) -> Self {
        Self(Arc::new(Inner { book: Mutex::default(), filling: Notify::new(), metrics, room }))
    }

    /// A credential of this connection leaves for its MCP server.
    pub fn handed_out(&self, connection: &Connection, now: Millis) {
        let mut book = self.book();
        let key = (connection.id, now.0.div_euclid(MINUTE_MS));
        if let Some(there) = book.hand_outs.get_mut(&key) {
            there.times += 1;
            there.last = there.last.max(now);
            return;
        }
        let one = HandOuts { about: connection.into(), first: now, last: now, times: 1 };
        let weight = weight(&one.about);
        if self.has_room(&book, weight) {
            book.hand_outs.insert(key, one);
            self.grows(&mut book, weight);
        } else {
            book.lost.hand_outs += 1;
            self.0.metrics.records_lost("hand_out", 1);
        }
    }

    /// Something happened that changed nothing.
    pub fn note(&self, entry: Entry) {
        let mut book = self.book();
        let (at, times) = (entry.at, entry.times);
        let entry = Entry { at: Millis(0), times: 0, ..entry };
        if let Some(there) = book.refusals.get_mut(&entry) {
            there.1 += times;
            return;
        }
        let weight = weight(&entry.about);
        if self.has_room(&book, weight) {
            book.refusals.insert(entry, (at, times));
            self.grows(&mut book, weight);
        } else {
            book.lost.refusals += times;
            self.0.metrics.records_lost("refusal", times);
        }
    }

    fn has_room(&self, book: &Book, weight: usize) -> bool {
        book.held + book.writing + weight <= self.0.room
    }

    fn grows(&self, book: &mut Book, weight: usize) {
        let before = book.held;
        book.held += weight;
        if (before..book.held).contains(&(self.0.room / 2)) {
            self.0.filling.notify_one();
        }
    }

    /// Writes what came together: all of it, or without the hand-outs of the present minute while there is room.
    ///
    /// # Errors
    /// The store's; what was not written is remembered.
    pub async fn write(&self, app: &App, all: bool) -> Result<(), StoreError> {
        let now = app.clock.now();
        let this_minute = now.0.div_euclid(MINUTE_MS);
        let mut page = {
            let mut book = self.book();
            let all = all || book.held >= self.0.room / 2;
            book.take(|minute| all || minute < this_minute)
        };
        while !page.is_empty() {
            let batch = page.split_off(BATCH);
            let (uses, entries) = batch.as_rows(now);
            let written = app.store.record(&uses, entries).await;
            let mut book = self.book();
            if let Err(error) = written {
                book.put_back(batch);
                book.put_back(page);
                return Err(error);
            }
            book.writing = book.writing.saturating_sub(batch.weight());
            let Lost { hand_outs, refusals } = batch.lost;
            if !batch.lost.is_nothing() {
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

    /// What is remembered is lost with this process.
    fn gives_up(&self) {
        let page = self.book().take(|_| true);
        let hand_outs = page.hand_outs.iter().map(|(_, one)| one.times).sum();
        let refusals = page.refusals.iter().map(|(_, (_, times))| times).sum();
        self.0.metrics.records_lost("hand_out", hand_outs);
        self.0.metrics.records_lost("refusal", refusals);
        tracing::error!(hand_outs, refusals, "the last entries of the audit record are lost");
    }
}

/// Bytes that something about this takes in memory.
fn weight(about: &About) -> usize {
    let texts = [
        about.server.as_ref().map(|id| id.as_str().len()),
        about.provider.as_ref().map(|id| id.as_str().len()),
        about.subject.as_ref().map(|subject| subject.issuer.len() + subject.sub.len()),
    ];
    BESIDE + texts.into_iter().flatten().sum::<usize>()
}

impl Lost {
    fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl Book {
    fn take(&mut self, minute_is_over: impl Fn(i64) -> bool) -> Page {
        let over = self.hand_outs.extract_if(|(_, minute), _| minute_is_over(*minute));
        let mut hand_outs: Vec<_> = over.collect();
        // In the order of ids, in which two replicas never wait for each other in a circle.
        hand_outs.sort_unstable_by_key(|(key, _)| *key);
        let page =
            Page { hand_outs, refusals: self.refusals.drain().collect(), lost: mem::take(&mut self.lost) };
        let weight = page.weight();
        self.held = self.held.saturating_sub(weight);
        self.writing += weight;
        page
    }

    /// What could not be written is remembered again, with what has come to it meanwhile.
    fn put_back(&mut self, page: Page) {
        self.writing = self.writing.saturating_sub(page.weight());
        self.lost.hand_outs += page.lost.hand_outs;
        self.lost.refusals += page.lost.refusals;
        for (key, one) in page.hand_outs {
            match self.hand_outs.entry(key) {
                hash_map::Entry::Occupied(mut there) => {
                    let there = there.get_mut();
                    there.times += one.times;
                    there.first = there.first.min(one.first);
                    there.last = there.last.max(one.last);
                }
                hash_map::Entry::Vacant(free) => {
                    self.held += weight(&one.about);
                    free.insert(one);
                }
            }
        }
        for (entry, (at, times)) in page.refusals {
            match self.refusals.entry(entry) {
                hash_map::Entry::Occupied(mut there) => {
                    let there = there.get_mut();
                    *there = (there.0.min(at), there.1 + times);
                }
                hash_map::Entry::Vacant(free) => {
                    self.held += weight(&free.key().about);
                    free.insert((at, times));
                }
            }
        }
    }
}

impl Page {
    fn is_empty(&self) -> bool {
        self.hand_outs.is_empty() && self.refusals.is_empty() && self.lost.is_nothing()
    }

    fn weight(&self) -> usize {
        let hand_outs = self.hand_outs.iter().map(|(_, one)| weight(&one.about));
        let refusals = self.refusals.iter().map(|(entry, _)| weight(&entry.about));
        hand_outs.chain(refusals).sum()
    }

    /// The next part; the rest stays.
    fn split_off(&mut self, number: usize) -> Self {
        let rest = self.hand_outs.split_off(number.min(self.hand_outs.len()));
        let hand_outs = mem::replace(&mut self.hand_outs, rest);
        let refusals = self.refusals.drain(..number.min(self.refusals.len())).collect();
        Self { hand_outs, refusals, lost: mem::take(&mut self.lost) }
    }

    fn as_rows(&self, now: Millis) -> (Uses, Vec<Entry>) {
        let uses = self.hand_outs.iter().map(|((id, _), one)| (*id, one.last)).collect();
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
        tracing::error!(%error, "the audit record could not be finished");
        app.recorder.gives_up();
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

    /// Room for so many refusals.
    fn recorder(number: usize) -> Recorder {
        Recorder::with_room(Metrics::new(), number * weight(&refusal(1).about))
    }

    fn refusal(number: i64) -> Entry {
        let about = About { server: format!("s{number:03}").parse().ok(), ..About::default() };
        Entry::new(Kind::WrongAccount, Actor::Person, about, Millis(number))
    }

    fn lost(recorder: &Recorder) -> String {
        let text = recorder.0.metrics.text();
        let line = text
            .lines()
            .find(|line| line.starts_with("consentry_audit_records_lost_total{what=\"refusal\"}"));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    }

    fn hand_outs(at: i64, times: i64) -> Page {
        let one = HandOuts { about: About::default(), first: Millis(at), last: Millis(at), times };
        let id = ConnectionId(uuid::Uuid::from_u128(1));
        Page { hand_outs: vec![((id, 0), one)], ..Page::default() }
    }

    #[test]
    fn the_same_refusal_is_one_row_with_its_first_time() {
        let recorder = recorder(9);
        for at in [5, 3, 9] {
            recorder.note(Entry { at: Millis(at), ..refusal(1) });
        }
        let (_, rows) = recorder.book().take(|_| true).as_rows(Millis(10));
        assert_eq!(rows.iter().map(|row| (row.at, row.times)).collect::<Vec<_>>(), [(Millis(5), 3)]);
    }

    /// What has no room is counted at once, and what was there already still counts on.
    #[test]
    fn without_room_what_is_new_is_counted_as_lost() {
        let recorder = recorder(500);
        for number in 0..503 {
            recorder.note(refusal(number));
        }
        recorder.note(refusal(0));
        assert_eq!(lost(&recorder), "3");
        let mut page = recorder.book().take(|_| true);
        assert_eq!((page.refusals.len(), page.lost.refusals), (500, 3));
        let (_, rows) = page.split_off(BATCH).as_rows(Millis(1));
        assert_eq!(rows.len(), BATCH + 1);
        let last = rows.last().unwrap();
        assert_eq!((last.kind, last.times), (Kind::RecordsLost, 3));
        assert_eq!(page.refusals.len(), 500 - BATCH);
    }

    /// It may come back, so its room is not free before it is written.
    #[test]
    fn what_is_being_written_keeps_its_room() {
        let recorder = recorder(10);
        (0..10).for_each(|number| recorder.note(refusal(number)));
        let page = recorder.book().take(|_| true);
        recorder.note(refusal(10));
        assert_eq!(lost(&recorder), "1");
        recorder.book().put_back(page);
        recorder.note(refusal(11));
        assert_eq!((lost(&recorder).as_str(), recorder.book().refusals.len()), ("2", 10));
        let mut book = recorder.book();
        let weight = book.take(|_| true).weight();
        assert_eq!((book.held, book.writing), (0, weight));
    }

    #[test]
    fn what_could_not_be_written_is_remembered_with_what_came_meanwhile() {
        let recorder = recorder(9);
        recorder.note(refusal(1));
        let page = recorder.book().take(|_| true);
        recorder.note(refusal(1));
        recorder.book().put_back(page);
        let (_, rows) = recorder.book().take(|_| true).as_rows(Millis(1));
        assert_eq!(rows.iter().map(|row| row.times).collect::<Vec<_>>(), [2]);

        let mut book = Book::default();
        book.put_back(hand_outs(7, 3));
        book.put_back(hand_outs(2, 4));
        let page = book.take(|_| true);
        let one = &page.hand_outs[0].1;
        assert_eq!((page.hand_outs.len(), one.first, one.last, one.times), (1, Millis(2), Millis(7), 7));
    }

    /// Sooner than the room ends, whoever writes is woken.
    #[tokio::test]
    async fn half_of_the_room_is_told() {
        let recorder = recorder(10);
        (0..4).for_each(|number| recorder.note(refusal(number)));
        let told = tokio::time::timeout(Duration::ZERO, recorder.0.filling.notified()).await;
        assert!(told.is_err());
        (4..7).for_each(|number| recorder.note(refusal(number)));
        recorder.0.filling.notified().await;
    }
}
