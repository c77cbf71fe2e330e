//! Any bytes into every reader. What must hold is said once, for this and for the tests.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/readers.rs"]
mod readers;

// The first byte says which reader; so one corpus is enough, and the fuzzer finds what one reader can learn from another.
fuzz_target!(|input: &[u8]| {
    if let Some((choice, bytes)) = input.split_first() {
        let reader = readers::READERS[usize::from(*choice) % readers::READERS.len()];
        readers::read(reader, bytes);
    }
});
