//! CPU time and memory of processes, as the kernel counts them.

use std::fs;

use crate::seed::World;

/// Clock ticks a second of `/proc`; fixed on Linux.
const TICKS: f64 = 100.0;

/// Seconds of CPU time that a process has used, user and system.
pub(crate) fn of(pid: u32) -> f64 {
    fields(pid).map_or(0.0, |fields| number(&fields, 11) + number(&fields, 12)) / TICKS
}

/// Seconds of a Postgres: the postmaster, what its ended children used, and those that live.
pub(crate) async fn of_postgres(world: &World) -> f64 {
    let postmaster = world.postmaster().await;
    let ended = fields(postmaster).map_or(0.0, |fields| number(&fields, 13) + number(&fields, 14)) / TICKS;
    let living: f64 = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| parent(*pid) == Some(postmaster))
        .map(of)
        .sum();
    of(postmaster) + ended + living
}

/// Resident memory.
pub(crate) fn resident_kib(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The parent of a process.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// What follows the name in `/proc/{pid}/stat`: the state is number 0, the parent 1, utime 11.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

fn number(fields: &[String], at: usize) -> f64 {
    fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0.0)
}
