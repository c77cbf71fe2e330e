//! What a process has written and synced, as `strace` tells it, and what a disk has of that when the power goes.

use std::{collections::HashMap, fs, path::Path, process::Command};

use consentry::random::Random;

/// What a disk writes whole.
const SECTOR: usize = 512;

/// What the disk keeps of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Nothing,
    /// Any of its sectors.
    Sectors,
    /// Nothing, and of the write-ahead log also nothing of what was synced: not a disk, but a program that does not sync.
    NoSync,
}

/// The files after a cut.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) main: Vec<u8>,
    pub(super) wal: Vec<u8>,
    /// Whether a write was kept in part.
    pub(super) is_torn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    Main,
    Wal,
}

#[derive(Debug)]
enum What {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
    Sync,
}

/// One call, in microseconds since the epoch.
#[derive(Debug)]
struct Call {
    began: i64,
    /// None when the process died in it.
    ended: Option<i64>,
    file: File,
    what: What,
}

/// All of it, in the order in which it began.
#[derive(Debug)]
pub(super) struct Record(Vec<Call>);

/// The program under `strace`, as the parent of nobody: the process that is started is the program's own.
pub(super) fn traced(program: &Command, file: &str, log: &Path) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-q", "-ttt", "-T", "-y", "-xx", "-s", "1000000"]);
    strace.args(["-e", "trace=pwrite64,ftruncate,fsync,fdatasync", "-e", "signal=none", "-P", file]);
    strace.args(["-P", &format!("{file}-wal")]).arg("-o").arg(log);
    strace.arg(program.get_program()).args(program.get_args());
    strace.current_dir(program.get_current_dir().unwrap());
    strace
}

/// Whether the tracer of this log still runs.
pub(super) fn is_traced(log: &Path) -> bool {
    let log = log.as_os_str().as_encoded_bytes();
    fs::read_dir("/proc").unwrap().any(|process| {
        let line = fs::read(process.unwrap().path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == log)
    })
}

impl Record {
    /// Of the calls on the database in `file`.
    pub(super) fn parse(log: &str, file: &str) -> Self {
        let mut calls: Vec<Call> = Vec::new();
        let mut open: HashMap<&str, usize> = HashMap::new();
        for line in log.lines() {
            let (thread, rest) = line.split_once(' ').unwrap();
            let (at, text) = rest.trim_start().split_once(' ').unwrap();
            let at = micros(at);
            if text.starts_with("<...") {
                if let Some(index) = open.remove(thread) {
                    calls[index].ended = Some(at);
                }
                continue;
            }
            let Some((call, arguments)) = text.split_once('(') else { continue };
            let is_whole = !text.ends_with("<unfinished ...>");
            let took = text
                .rsplit_once('<')
                .filter(|_| is_whole)
                .map_or("0", |(_, took)| took.trim_end_matches('>'));
            let path = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>')).unwrap().0;
            let file = if bytes(path) == file.as_bytes() { File::Main } else { File::Wal };
            if !is_whole {
                open.insert(thread, calls.len());
            }
            let ended = is_whole.then(|| at + micros(took));
            calls.push(Call { began: at, ended, file, what: what(call, arguments) });
        }
        calls.sort_by_key(|call| call.began);
        Self(calls)
    }

    /// The files when the power goes at the beginning of that millisecond.
    pub(super) fn image(&self, main: &[u8], at: i64, keeps: Keeps) -> Image {
        let mut image = Image { main: main.to_owned(), ..Image::default() };
        let cut = at * 1000;
        for file in [File::Main, File::Wal] {
            let synced = if keeps == Keeps::NoSync && file == File::Wal { 0 } else { self.synced(file, cut) };
            let before = self.0.iter().filter(|call| call.file == file && call.began < cut);
            let Image { main, wal, is_torn } = &mut image;
            let bytes = if file == File::Main { main } else { wal };
            for call in before {
                let is_kept = call.began < synced;
                if is_kept || keeps == Keeps::Sectors {
                    *is_torn |= call.what.happens(bytes, !is_kept);
                }
            }
        }
        image
    }

    /// What began before then is on the disk: the last sync of the file that had ended.
    fn synced(&self, file: File, cut: i64) -> i64 {
        let has_ended = |call: &&Call| {
            call.file == file
                && matches!(call.what, What::Sync)
                && call.ended.is_some_and(|ended| ended <= cut)
        };
        self.0.iter().filter(has_ended).map(|call| call.began).max().unwrap_or(0)
    }

    pub(super) fn writes(&self) -> usize {
        self.0.iter().filter(|call| matches!(call.what, What::Write { .. })).count()
    }

    pub(super) fn syncs(&self) -> usize {
        self.0.iter().filter(|call| matches!(call.what, What::Sync)).count()
    }

    /// Syncs of the file itself: the log has been brought into it.
    pub(super) fn checkpoints(&self) -> usize {
        self.0.iter().filter(|call| call.file == File::Main && matches!(call.what, What::Sync)).count()
    }
}

impl What {
    /// Does it, wholly or any of its sectors; whether a write was done in part.
    fn happens(&self, file: &mut Vec<u8>, in_part: bool) -> bool {
        match self {
            Self::Sync => false,
            Self::Truncate(length) => {
                if !in_part || Random.below(2) == 0 {
                    file.resize(*length, 0);
                }
                false
            }
            Self::Write { offset, bytes } => {
                let mut lacks = false;
                let mut done = 0;
                while done < bytes.len() {
                    // Up to the end of the sector that this byte is in.
                    let next = bytes.len().min(done + SECTOR - (offset + done) % SECTOR);
                    if in_part && Random.below(2) == 0 {
                        lacks = true;
                    } else {
                        let (from, to) = (offset + done, offset + next);
                        file.resize(file.len().max(to), 0);
                        file[from..to].copy_from_slice(&bytes[done..next]);
                    }
                    done = next;
                }
                lacks
            }
        }
    }
}

/// `1700000000.123456`, or a span such as `0.000021`.
fn micros(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    seconds.parse::<i64>().unwrap() * 1_000_000 + fraction.parse::<i64>().unwrap()
}

/// `\x63\x6f`, as strace writes every text.
fn bytes(hex: &str) -> Vec<u8> {
    hex.split("\\x").skip(1).map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn what(call: &str, arguments: &str) -> What {
    let number = |text: &str| -> usize {
        text.trim_start_matches([',', ' ']).split([',', ')', ' ']).next().unwrap().parse().unwrap()
    };
    match call {
        "pwrite64" => {
            let (_, rest) = arguments.split_once('"').unwrap();
            let (hex, rest) = rest.split_once('"').unwrap();
            let bytes = bytes(hex);
            let (length, offset) = rest.trim_start_matches(", ").split_once(", ").unwrap();
            assert_eq!(number(length), bytes.len(), "strace tells all of it");
            What::Write { offset: number(offset), bytes }
        }
        "ftruncate" => What::Truncate(number(arguments.split_once(">, ").unwrap().1)),
        _ => What::Sync,
    }
}
