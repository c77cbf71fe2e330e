//! CPU time and memory of a process, as the kernel counts them.

use std::fs;

/// Clock ticks a second of `/proc`; fixed on Linux.
const TICKS: f64 = 100.0;

/// Seconds of CPU time that a process has used, user and system.
pub(crate) fn seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name come the state as number 0, the parent, and utime and stime as 11 and 12.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |rest| rest.1).split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (number(11) + number(12)) / TICKS
}

/// Resident memory.
pub(crate) fn resident_kib(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
