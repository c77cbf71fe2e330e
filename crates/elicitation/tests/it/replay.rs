//! The corpus of the readers, replayed as it is and with every small change that can be made to it, always in the same
//! order. What is interesting and found by fuzzing goes into `tests/corpus`: `ok-` is taken, `no-` is refused.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::readers::{READERS, read};

/// Reader, file name, contents.
pub(crate) fn corpus() -> Vec<(&'static str, String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut all = Vec::new();
    for reader in READERS {
        for file in std::fs::read_dir(folder.join(reader)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            all.push((reader, name, std::fs::read(path).unwrap()));
        }
    }
    all.sort();
    all
}

/// Every node replaced by each of a few values, every member taken away, and every list longer by one.
pub(crate) fn changed(value: &Value) -> Vec<Value> {
    let replacements = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("x"),
        json!("string"),
        json!([]),
        json!({}),
    ];
    let mut all = Vec::new();
    for pointer in pointers(value) {
        for replacement in &replacements {
            let mut copy = value.clone();
            *copy.pointer_mut(&pointer).unwrap() = replacement.clone();
            all.push(copy);
        }
        match value.pointer(&pointer).unwrap() {
            Value::Object(members) => {
                for name in members.keys() {
                    let mut copy = value.clone();
                    copy.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(name);
                    all.push(copy);
                }
                for (name, more) in [("later", json!(1)), ("enum", json!(["a"])), ("default", json!("a"))] {
                    let mut copy = value.clone();
                    copy.pointer_mut(&pointer).unwrap()[name] = more;
                    all.push(copy);
                }
            }
            Value::Array(list) => {
                let mut copy = value.clone();
                let more = list.first().cloned().unwrap_or_default();
                copy.pointer_mut(&pointer).unwrap().as_array_mut().unwrap().push(more);
                all.push(copy);
            }
            _ => {}
        }
    }
    all
}

fn pointers(value: &Value) -> Vec<String> {
    let mut all = vec![String::new()];
    let below: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(place, value)| (place.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, value) in below {
        all.extend(pointers(value).into_iter().map(|rest| format!("/{name}{rest}")));
    }
    all
}

#[test]
fn each_file_is_taken_or_refused_as_its_name_says() {
    for (reader, name, bytes) in corpus() {
        let wanted = name.starts_with("ok");
        assert!(wanted || name.starts_with("no"), "{reader}/{name}: neither ok nor no");
        assert_eq!(read(reader, &bytes), wanted, "{reader}/{name}");
    }
}

#[test]
fn every_reader_has_something_to_take_and_something_to_refuse() {
    for reader in READERS {
        for start in ["ok", "no"] {
            let any = corpus().iter().any(|(of, name, _)| *of == reader && name.starts_with(start));
            assert!(any, "{reader}: {start}");
        }
    }
}

#[test]
fn nothing_that_is_near_the_corpus_breaks_a_reader() {
    let mut count = 0;
    for (reader, _, bytes) in corpus() {
        for value in serde_json::from_slice(&bytes).map(|value: Value| changed(&value)).unwrap_or_default() {
            read(reader, &serde_json::to_vec(&value).unwrap());
            count += 1;
        }
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn no_reader_breaks_on_what_is_meant_for_another() {
    for (_, _, bytes) in corpus() {
        for reader in READERS {
            read(reader, &bytes);
        }
    }
}

#[test]
fn no_broken_text_breaks_its_reader() {
    for (reader, _, bytes) in corpus() {
        for place in (0..bytes.len()).step_by(3) {
            read(reader, &bytes[..place]);
            let mut copy = bytes.clone();
            copy.remove(place);
            read(reader, &copy);
            let mut copy = bytes.clone();
            copy[place] ^= 1 << (place % 8);
            read(reader, &copy);
        }
    }
}
