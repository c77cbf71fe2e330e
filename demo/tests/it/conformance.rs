//! The official conformance suite of MCP, both of its published lines, against a server built from our crates. Which scenarios are
//! ours, which pass without proving anything, and which are about something else, stands in docs/conformance.md: that table is what
//! is tested here.

mod server;

use self::server::Fixture;
use crate::suite::{Run, wrong};

const RUNS: [Run; 3] = [
    Run { column: "0.1", package: "conformance-released", arguments: &["--suite", "all"] },
    Run {
        column: "0.2, 2025-11-25",
        package: "conformance-coming",
        arguments: &["--requirements", "2025-11-25"],
    },
    Run {
        column: "0.2, 2026-07-28",
        package: "conformance-coming",
        arguments: &["--requirements", "2026-07-28"],
    },
];

/// What the table says of each scenario of each run is so, and no scenario is missing in it.
#[tokio::test(flavor = "multi_thread")]
async fn the_conformance_suite_says_what_the_document_says() {
    let fixture = Fixture::start().await;
    let mut found = Vec::new();
    for run in &RUNS {
        found.extend(wrong(&fixture.url, run).await);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
