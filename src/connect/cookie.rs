//! An attempt's cookie: the raw `state` and the binding secret, sealed, under a name of its own; on a visit to a page of the
//! MCP server's own, its code too.
//!
//! It is what makes an attempt this browser's (R59). The store has only their hashes.

use crate::{
    elicitation::{Attempt, AttemptId},
    random::Random,
    secret::{Hash, Secret},
    vault::{Purpose, Vault},
};

/// Longer than any value that we set.
const TEXT_BYTES_MAX: usize = 1024;

/// What a browser holds of an attempt that it began.
#[derive(Debug)]
pub struct AttemptCookie {
    /// The `state` of the authorize URL.
    pub state: Secret,
    binding: Secret,
    /// What it takes to a page of the MCP server's own.
    pub code: Option<Secret>,
}

impl AttemptCookie {
    pub(super) fn fresh(random: Random) -> Self {
        Self { state: random.secret(), binding: random.secret(), code: None }
    }

    /// The same, for a visit to a page of the MCP server's own.
    pub(super) fn with_code(random: Random) -> Self {
        Self { code: Some(random.secret()), ..Self::fresh(random) }
    }

    pub(super) fn hashes(&self) -> (Hash, Hash) {
        (self.state.hash(), self.binding.hash())
    }

    /// The cookie's value.
    pub(super) fn seal(&self, vault: &Vault, id: AttemptId) -> String {
        let mut plain = format!("{} {}", self.state.expose(), self.binding.expose());
        if let Some(code) = &self.code {
            plain.push(' ');
            plain.push_str(code.expose());
        }
        let plain = Secret::new(plain);
        vault.seal_text(Purpose::AttemptCookie, &[&id.to_string()], plain.expose().as_bytes())
    }

    /// Opens a cookie's value and compares both secrets with the attempt's hashes, in constant time.
    pub(super) fn open(vault: &Vault, attempt: &Attempt, text: Option<&str>) -> Option<Self> {
        let text = text.filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        let plain = vault.open_text(Purpose::AttemptCookie, &[&attempt.id.to_string()], text).ok()?;
        let plain = plain.into_secret()?;
        let (state, binding) = plain.expose().split_once(' ')?;
        let (binding, code) = binding.split_once(' ').map_or((binding, None), |(one, two)| (one, Some(two)));
        let code = code.map(Secret::new);
        let cookie = Self { state: Secret::new(state), binding: Secret::new(binding), code };
        let (state, binding) = cookie.hashes();
        let same = state.matches(&attempt.state_hash) & binding.matches(&attempt.binding_hash);
        same.then_some(cookie)
    }
}
