//! Walks along a chain and says what is wrong with it.

use std::{collections::BTreeMap, fmt};

use super::{Checked, Head, Row, Sealer};
use crate::vault::{KeyId, Sealed};

/// What is wrong with a chain, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Rows are missing from this number up to that one.
    Missing(i64, i64),
    /// The row is not as it was written, or was never written by this program.
    Changed(i64),
    /// The row is genuine, but follows another than the one before it.
    OutOfPlace(i64),
    /// From this row on nothing can be checked: it was tagged with a key that is not configured.
    KeyMissing(i64, KeyId),
    /// The chain does not reach, or differs at, an end that was seen before.
    NotAsSeen(i64),
}

impl Flaw {
    /// Its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing(..) => "missing",
            Self::Changed(_) => "changed",
            Self::OutOfPlace(_) => "out_of_place",
            Self::KeyMissing(..) => "key_missing",
            Self::NotAsSeen(_) => "not_as_seen",
        }
    }

    /// The number of the row, or of the first that is missing.
    pub fn number(&self) -> i64 {
        match self {
            Self::Missing(number, _)
            | Self::Changed(number)
            | Self::OutOfPlace(number)
            | Self::KeyMissing(number, _)
            | Self::NotAsSeen(number) => *number,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(from, to) if from == to => write!(f, "row {from} is missing"),
            Self::Missing(from, to) => write!(f, "rows {from} to {to} are missing"),
            Self::Changed(number) => write!(f, "row {number} was changed or put in"),
            Self::OutOfPlace(number) => write!(f, "row {number} follows another row than the one before it"),
            Self::KeyMissing(number, key) => {
                write!(f, "from row {number} on it cannot be checked: the key {key} is not configured")
            }
            Self::NotAsSeen(number) => write!(f, "row {number} is not there as it was seen before"),
        }
    }
}

/// A walk along one chain, from its first row on.
pub struct Walk<'a> {
    sealer: &'a Sealer,
    /// Numbers that a chain may begin with because what came before was purged.
    begins: &'a [i64],
    seen: Vec<Head>,
    last: Option<Head>,
    /// Rows that were walked over.
    pub rows: u64,
    /// Rows that could not be checked, by the key that they name.
    pub unverified: BTreeMap<KeyId, u64>,
    /// What is wrong so far.
    pub flaws: Vec<Flaw>,
}

impl<'a> Walk<'a> {
    /// Begins one. `begins` are the numbers that purges have told of, `seen` earlier ends of this chain.
    pub fn new(sealer: &'a Sealer, begins: &'a [i64], seen: Vec<Head>) -> Self {
        Self { sealer, begins, seen, last: None, rows: 0, unverified: BTreeMap::new(), flaws: Vec::new() }
    }

    /// Takes the next row, in the order of their numbers.
    pub fn step(&mut self, row: &Row) {
        self.rows += 1;
        match &self.last {
            None if row.number > 1 && !self.begins.contains(&row.number) => {
                self.flaws.push(Flaw::Missing(1, row.number - 1));
            }
            None if row.number == 1 && !row.previous.is_empty() => {
                self.flaws.push(Flaw::OutOfPlace(row.number));
            }
            None => {}
            Some(last) if row.number > last.number + 1 => {
                self.flaws.push(Flaw::Missing(last.number + 1, row.number - 1));
            }
            Some(last) if row.previous != last.tag => self.flaws.push(Flaw::OutOfPlace(row.number)),
            Some(_) => {}
        }
        match self.sealer.check(row) {
            Checked::Good => {}
            Checked::Changed => self.flaws.push(Flaw::Changed(row.number)),
            // A chain is of one process, which tags with one key: a row of another key was put in.
            Checked::KeyMissing(_)
                if self
                    .last
                    .as_ref()
                    .is_some_and(|last| Sealed::key_of(&last.tag) != Sealed::key_of(&row.tag)) =>
            {
                self.flaws.push(Flaw::Changed(row.number));
            }
            Checked::KeyMissing(key) => {
                let rows = self.unverified.entry(key.clone()).or_default();
                *rows += 1;
                // Once for a chain.
                if *rows == 1 {
                    self.flaws.push(Flaw::KeyMissing(row.number, key));
                }
            }
        }
        let first = self.last.is_none();
        let passed = |seen: &Head| {
            // What was purged since is not there to be compared.
            (first && seen.number < row.number) || (seen.number == row.number && seen.tag == row.tag)
        };
        self.seen.retain(|seen| !passed(seen));
        self.last = Some(row.head());
    }

    /// Ends it: the chain's end, if it has a row, and everything that is wrong.
    pub fn end(mut self) -> (Option<Head>, Vec<Flaw>) {
        self.flaws.extend(self.seen.iter().map(|seen| Flaw::NotAsSeen(seen.number)));
        (self.last, self.flaws)
    }
}
