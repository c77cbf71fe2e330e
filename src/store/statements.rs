//! Declares statements, and lists each one so that none escapes the tests: the contract suite runs every
//! statement on both engines and fails when one was never run.

use std::sync::atomic::{AtomicU8, Ordering};

/// One SQL text that both engines run; two side by side where only their own clock will do.
pub struct Statement {
    /// Its name in the source.
    pub name: &'static str,
    text: &'static str,
    on_postgres: Option<&'static str>,
    ran: AtomicU8,
}

/// An engine, as a bit of [`Statement::ran_on`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The embedded default.
    Sqlite = 1,
    /// For any number of replicas.
    Postgres = 2,
}

impl Statement {
    /// Declares one.
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, on_postgres: None, ran: AtomicU8::new(0) }
    }

    /// Declares one whose text for Postgres is another.
    pub const fn two(name: &'static str, on_sqlite: &'static str, on_postgres: &'static str) -> Self {
        Self { name, text: on_sqlite, on_postgres: Some(on_postgres), ran: AtomicU8::new(0) }
    }

    /// The text, noted as run on `engine`.
    pub(super) fn on(&self, engine: Engine) -> &'static str {
        if cfg!(debug_assertions) {
            self.ran.fetch_or(engine as u8, Ordering::Relaxed);
        }
        match engine {
            Engine::Sqlite => self.text,
            Engine::Postgres => self.on_postgres.unwrap_or(self.text),
        }
    }

    /// The text; SQLite's, where there are two.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Whether this process has run it on `engine`; always false in a build without debug assertions.
    pub fn ran_on(&self, engine: Engine) -> bool {
        self.ran.load(Ordering::Relaxed) & engine as u8 != 0
    }
}

/// Declares a module's statements and `ALL` of them: `NAME = "both engines"`, or `NAME = "SQLite", "Postgres"`.
macro_rules! statements {
    (@one $name:ident, $text:expr) => {
        $crate::store::statements::Statement::new(stringify!($name), $text)
    };
    (@one $name:ident, $sqlite:expr, $postgres:expr) => {
        $crate::store::statements::Statement::two(stringify!($name), $sqlite, $postgres)
    };
    ($($(#[$meta:meta])* $name:ident = $text:expr $(, $postgres:expr)?;)*) => {
        $($(#[$meta])* static $name: $crate::store::statements::Statement =
            $crate::store::statements::statements!(@one $name, $text $(, $postgres)?);)*

        /// Every statement of this file.
        pub(super) static ALL: &[&$crate::store::statements::Statement] = &[$(&$name),*];
    };
}
pub(super) use statements;
