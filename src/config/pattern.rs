//! Regular expressions of an operator.

/// A regular expression, matched in time linear in the value.
#[derive(Clone, Debug)]
pub struct Pattern(regex_lite::Regex);

impl Pattern {
    /// Bytes that one may be compiled to.
    const SIZE_MAX: usize = 256 * 1024;

    /// Takes an expression; it finds a part of a value unless it says `^` and `$`.
    ///
    /// # Errors
    /// When it is none, or too large.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let built = regex_lite::RegexBuilder::new(text).size_limit(Self::SIZE_MAX).build();
        built.map(Self).map_err(|_| "is no regular expression, or too large a one")
    }

    /// Takes an expression for a whole value.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn whole(text: &str) -> Result<Self, &'static str> {
        // By itself it must be one: a bracket that closes the group would open the pattern.
        Self::new(text)?;
        Self::new(&format!("^(?:{text})$"))
    }

    /// Whether it is found in `value`.
    pub fn fits(&self, value: &str) -> bool {
        self.0.is_match(value)
    }
}
