//! Where a secret comes from: `{ env }`, `{ file }` or `{ value }`.
//!
//! What it must never do: repeat a secret, or what stands where one was expected, in an error.

use std::{fs, io::Read, path::Path};

use serde::{Deserialize, Deserializer, de::Error};
use toml::Value;
use zeroize::Zeroizing;

use super::{environment::Environment, findings::Findings, raw::TextOrSecret};
use crate::secret::Secret;

/// The longest secret that is read: a private key in PEM fits, a mistaken path to a big file does not.
const LONGEST: u64 = 64 * 1024;

/// Where a secret is to be found.
#[derive(Debug)]
pub(super) enum SecretSource {
    Env(String),
    File(String),
    Value(Secret),
}

const SHAPE: &str = "must be a table with one of env, file, value: { env = \"NAME\" }";

impl<'de> Deserialize<'de> for SecretSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_value(Value::deserialize(deserializer)?).ok_or_else(|| D::Error::custom(SHAPE))
    }
}

impl<'de> Deserialize<'de> for TextOrSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(Secret::new(text))),
            other => of_value(other)
                .map(Self::Secret)
                .ok_or_else(|| D::Error::custom("must be text, or a table with one of env, file, value")),
        }
    }
}

fn of_value(value: Value) -> Option<SecretSource> {
    let Value::Table(table) = value else { return None };
    let mut entries = table.into_iter();
    let (Some((key, Value::String(text))), None) = (entries.next(), entries.next()) else { return None };
    match key.as_str() {
        "env" => Some(SecretSource::Env(text)),
        "file" => Some(SecretSource::File(text)),
        "value" => Some(SecretSource::Value(Secret::new(text))),
        _ => None,
    }
}

impl SecretSource {
    /// Reads the secret; without one a finding at `key`.
    pub(super) fn read(
        &self,
        key: &str,
        environment: &Environment,
        loopback: bool,
        findings: &mut Findings,
    ) -> Option<Secret> {
        let secret = match self {
            Self::Env(name) => of_environment(name, environment),
            Self::File(path) => of_file(Path::new(path)),
            Self::Value(_) if !loopback => {
                Err("may not stand in the file as a value unless public_url is this machine; use env or file"
                    .to_owned())
            }
            Self::Value(value) if value.is_empty() => Err("is empty".to_owned()),
            Self::Value(value) => Ok(value.clone()),
        };
        findings.keep(key, secret)
    }
}

/// The variable's value, without one newline at its end.
pub(super) fn of_environment(name: &str, environment: &Environment) -> Result<Secret, String> {
    let value = environment
        .get(name)
        .ok_or_else(|| format!("asks for the environment variable {name}, which is not set"))?;
    let value = without_newline(value.expose());
    if value.is_empty() {
        Err(format!("asks for the environment variable {name}, which is empty"))
    } else {
        Ok(Secret::new(value))
    }
}

/// The file's text, without one newline at its end.
pub(super) fn of_file(path: &Path) -> Result<Secret, String> {
    let name = path.display();
    let file = fs::File::open(path)
        .map_err(|error| format!("asks for the file {name}, which cannot be read: {}", error.kind()))?;
    let mut text = Zeroizing::new(String::new());
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| {
        format!("asks for the file {name}, which cannot be read as text: {}", error.kind())
    })?;
    if text.len() as u64 > LONGEST {
        return Err(format!("asks for the file {name}, which is longer than 64 KiB"));
    }
    let text = without_newline(&text);
    if text.is_empty() {
        Err(format!("asks for the file {name}, which is empty"))
    } else {
        Ok(Secret::new(text))
    }
}

fn without_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &SecretSource, loopback: bool) -> Result<String, String> {
        let environment = Environment::new([("SET", "canary\n"), ("EMPTY", ""), ("NEWLINE", "\n")]);
        let mut findings = Findings::default();
        let secret = source.read("key", &environment, loopback, &mut findings);
        findings
            .settle(secret)
            .map(|secret| secret.expose().to_owned())
            .map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn one_newline_at_the_end_is_not_part_of_a_secret() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        for (text, secret) in [
            ("canary\n", "canary"),
            ("canary\r\n", "canary"),
            ("canary", "canary"),
            ("canary\n\n", "canary\n"),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&SecretSource::File(path.display().to_string()), false).as_deref(), Ok(secret));
        }
        assert_eq!(read(&SecretSource::Env("SET".to_owned()), false).as_deref(), Ok("canary"));
    }

    /// R103: a missing secret stops the start and is named, its value is not.
    #[test]
    fn r103_a_secret_that_is_not_there_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "\n").unwrap();
        for source in [
            SecretSource::Env("UNSET".to_owned()),
            SecretSource::Env("EMPTY".to_owned()),
            SecretSource::Env("NEWLINE".to_owned()),
            SecretSource::File(path.display().to_string()),
            SecretSource::File(dir.path().join("none").display().to_string()),
            SecretSource::File(dir.path().display().to_string()),
            SecretSource::Value(Secret::new("")),
        ] {
            let error = read(&source, true).unwrap_err();
            assert!(error.starts_with("key "), "{error}");
        }
        let error = read(&SecretSource::Value(Secret::new("canary")), false).unwrap_err();
        assert!(!error.contains("canary"), "{error}");
        assert_eq!(read(&SecretSource::Value(Secret::new("canary")), true).as_deref(), Ok("canary"));
    }
}
