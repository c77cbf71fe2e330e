//! The table of requirements and the tests say the same: what is not said to be elsewhere has a test with its number here,
//! and no test has a number that the table does not know.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every file of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}

/// The numbers at the beginning of the names of tests, such as `e7` and `m8` of `e7_m8_a_form_goes_...`.
fn tested() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut numbers = BTreeSet::new();
    for file in [root.join("src"), root.join("tests")].iter().flat_map(|folder| sources(folder)) {
        let text = std::fs::read_to_string(file).unwrap();
        for name in text.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")) {
            numbers.extend(name.split('_').take_while(|word| is_number(word)).map(str::to_uppercase));
        }
    }
    numbers
}

fn is_number(word: &str) -> bool {
    word.strip_prefix(['e', 'm', 'E', 'M'])
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn the_table_and_the_tests_say_the_same() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    let text = std::fs::read_to_string(table).unwrap();
    let mut rows = BTreeSet::new();
    let tested = tested();
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, _, _, state, _] = cells[..] else { continue };
        if !is_number(number) {
            continue;
        }
        assert!(rows.insert(number.to_owned()), "{number} is there twice");
        assert_eq!(
            state.is_empty(),
            tested.contains(number),
            "{number}: {state:?}, and the tests say otherwise"
        );
    }
    assert_eq!(rows.len(), 63 + 32);
    assert_eq!(tested.difference(&rows).collect::<Vec<_>>(), Vec::<&String>::new());
}
