//! What a command prints: words for people, or one JSON value.

use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
};

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::ConfigError;

/// Why a command did not do it.
#[derive(Debug)]
pub(super) enum CliError {
    /// The configuration is wrong.
    Config(Vec<ConfigError>),
    /// It was called wrongly.
    Usage(String),
    /// It failed.
    Failed(String),
    /// It failed, and has said so itself.
    Told,
}

impl CliError {
    /// A failure with this reason.
    #[expect(clippy::needless_pass_by_value, reason = "so that it can stand in `map_err`")]
    pub(super) fn failed(reason: impl ToString) -> Self {
        Self::Failed(reason.to_string())
    }

    fn code(&self) -> ExitCode {
        match self {
            Self::Config(_) | Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) | Self::Told => ExitCode::from(1),
        }
    }
}

/// Where a command prints to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    json: bool,
}

impl Output {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether it is read by a program.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a result: `value` as JSON, or `text`, in which control characters are made visible, because some of it
    /// may come from outside.
    pub(super) fn say(&self, value: &impl Serialize, text: &str) -> Result<(), CliError> {
        let text = if self.json {
            serde_json::to_string_pretty(value).map_err(CliError::failed)?
        } else {
            visible(text.trim_end_matches('\n'))
        };
        line(std::io::stdout().lock(), &text).map_err(|error| match error.kind() {
            // Whoever reads has read enough (`| head`), and nothing is to be told of that.
            ErrorKind::BrokenPipe => CliError::Told,
            kind => CliError::failed(kind),
        })
    }

    /// The same of what was written to the audit record, with the ends of this command's chains there: nobody else ever
    /// tells of them, and without them it could not be seen that they were taken out.
    pub(super) fn say_recorded(
        &self,
        mut value: Value,
        text: &str,
        heads: &[String],
    ) -> Result<(), CliError> {
        let mut text = text.to_owned();
        for head in heads {
            text.push_str(&format!("\naudit head {head}"));
        }
        if let Some(value) = value.as_object_mut() {
            value.insert("audit_heads".to_owned(), heads.into());
        }
        self.say(&value, &text)
    }

    /// Tells why a command failed.
    pub(super) fn fail(&self, error: &CliError) -> ExitCode {
        let (value, text) = match error {
            CliError::Config(errors) => of_config(errors),
            CliError::Usage(reason) | CliError::Failed(reason) => {
                (json!({ "ok": false, "error": reason }), format!("error: {reason}"))
            }
            CliError::Told => return error.code(),
        };
        // Nothing is left to tell a failure to.
        let _ = if self.json {
            self.say(&value, "").map_err(|_| ())
        } else {
            line(std::io::stderr().lock(), &visible(&text)).map_err(|_| ())
        };
        error.code()
    }
}

fn of_config(errors: &[ConfigError]) -> (Value, String) {
    let list: Vec<Value> =
        errors.iter().map(|error| json!({ "key": error.key, "problem": error.problem })).collect();
    let mut text = String::from("the configuration is wrong:");
    for error in errors {
        text.push_str(&format!("\n  {error}"));
    }
    (json!({ "ok": false, "errors": list }), text)
}

fn line(mut to: impl Write, text: &str) -> std::io::Result<()> {
    writeln!(to, "{text}")?;
    to.flush()
}

fn visible(text: &str) -> String {
    let shown =
        |c: char| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Rows under a heading, in columns.
pub(super) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(heading)];
    lines.extend(rows.iter().map(|row| line(std::array::from_fn(|at| row[at].as_str()))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_escapes_are_visible() {
        let rows = [["a".to_owned(), "bb".to_owned()], ["ccc".to_owned(), "\u{1b}[31m".to_owned()]];
        let text = visible(&table(["x", "y"], &rows));
        assert_eq!(text, "x    y\na    bb\nccc  \\u{1b}[31m");
    }
}
