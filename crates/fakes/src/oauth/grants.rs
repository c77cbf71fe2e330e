//! Codes, refresh token families and access tokens. A code is spent by its first proper presentation; a second one
//! revokes everything that came from it (RFC 6749 section 4.1.2).

use std::collections::HashMap;
use std::time::Duration;

use super::{Approval, Asked, Refresh};
use crate::clock::millis;
use crate::entropy;

/// A code and what it was issued for.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) family: u64,
    pub(super) challenge: Option<String>,
    pub(super) expires_ms: i64,
    pub(super) spent: bool,
}

/// Everything that came from one approval.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) approval: Approval,
    pub(super) nonce: Option<String>,
    pub(super) resources: Vec<String>,
    pub(super) auth_time: i64,
    pub(super) alive: bool,
}

#[derive(Clone, Debug)]
pub(super) struct RefreshToken {
    pub(super) family: u64,
    used_ms: Option<i64>,
}

/// An access token as its issuer remembers it.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Which approval it came from; it dies with that. `None` for a shortcut's.
    pub(crate) family: Option<u64>,
    /// The account or person.
    pub(crate) account: String,
    pub(crate) client_id: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) audience: Vec<String>,
    pub(crate) subject: String,
    pub(crate) issued_ms: i64,
    pub(crate) expires_ms: i64,
}

#[derive(Debug, Default)]
pub(super) struct Grants {
    pub(super) codes: HashMap<String, Code>,
    pub(super) families: HashMap<u64, Family>,
    pub(super) refresh: HashMap<String, RefreshToken>,
    pub(super) access: HashMap<String, Access>,
    /// Access tokens that came from an exchange of another one.
    pub(super) long: std::collections::HashSet<String>,
    /// How often a family died because a spent code or token came again.
    pub(super) reuse_kills: usize,
    last_family: u64,
}

/// Why a refresh token does not count.
pub(super) enum Stale {
    Unknown,
    Revoked,
    Used,
    Reused,
}

impl Grants {
    pub(super) fn issue_code(
        &mut self,
        asked: &Asked,
        approval: Approval,
        auth_time: i64,
        life: Duration,
    ) -> String {
        self.last_family += 1;
        let code = entropy::secret("code_");
        let expires_ms = approval.at_ms.saturating_add(millis(life));
        self.codes.insert(
            code.clone(),
            Code { family: self.last_family, challenge: asked.challenge.clone(), expires_ms, spent: false },
        );
        self.families.insert(
            self.last_family,
            Family {
                approval,
                nonce: asked.nonce.clone(),
                resources: asked.resources.clone(),
                auth_time,
                alive: true,
            },
        );
        code
    }

    /// Who approved what this code or refresh token came from.
    pub(super) fn approval_of(&self, code: Option<&str>, refresh_token: Option<&str>) -> Option<Approval> {
        let by_code = code.and_then(|code| self.codes.get(code)).map(|code| code.family);
        let by_token = refresh_token.and_then(|token| self.refresh.get(token)).map(|token| token.family);
        self.families.get(&by_code.or(by_token)?).map(|family| family.approval.clone())
    }

    pub(super) fn kill(&mut self, family: u64) {
        if let Some(family) = self.families.get_mut(&family) {
            family.alive = false;
        }
    }

    pub(super) fn kill_for_reuse(&mut self, family: u64) {
        self.reuse_kills += 1;
        self.kill(family);
    }

    /// Uses a refresh token by the rules; returns the family and the successor, if there is one.
    pub(super) fn use_refresh(
        &mut self,
        token: &str,
        mode: Refresh,
        grace: Duration,
        now_ms: i64,
    ) -> Result<(u64, Option<String>), Stale> {
        let known = self.refresh.get(token).cloned().ok_or(Stale::Unknown)?;
        if !self.families.get(&known.family).is_some_and(|family| family.alive) {
            return Err(Stale::Revoked);
        }
        if matches!(mode, Refresh::Never | Refresh::Static) {
            return Ok((known.family, None));
        }
        let graceful = known.used_ms.is_none_or(|used| now_ms.saturating_sub(used) < millis(grace));
        if !graceful {
            if mode == Refresh::Strict {
                self.kill_for_reuse(known.family);
                return Err(Stale::Reused);
            }
            return Err(Stale::Used);
        }
        if let Some(current) = self.refresh.get_mut(token) {
            current.used_ms.get_or_insert(now_ms);
        }
        Ok((known.family, Some(self.issue_refresh(known.family))))
    }

    pub(super) fn issue_refresh(&mut self, family: u64) -> String {
        let token = entropy::secret("refresh_");
        self.refresh.insert(token.clone(), RefreshToken { family, used_ms: None });
        token
    }

    /// The access token, if it lives.
    pub(super) fn living(&self, token: &str, now_ms: i64) -> Option<&Access> {
        let access = self.access.get(token)?;
        let family_lives = |family: &u64| self.families.get(family).is_some_and(|family| family.alive);
        (access.expires_ms > now_ms && access.family.as_ref().is_none_or(family_lives)).then_some(access)
    }
}
