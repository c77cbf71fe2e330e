//! The parties of the simulation that are not ours: chance, and a provider that rotates in one of three ways.

use std::collections::HashMap;

/// Splitmix64: the same numbers for the same seed, for ever.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(crate) fn between(&mut self, least: i64, most: i64) -> i64 {
        least + i64::try_from(self.below(u64::try_from(most - least + 1).unwrap())).unwrap()
    }

    /// So many times of a thousand.
    pub(crate) fn happens(&mut self, of_a_thousand: u64) -> bool {
        self.below(1000) < of_a_thousand
    }
}

/// What a provider does with a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rotation {
    /// It stays.
    Static,
    /// Another one; the former counts for so many milliseconds more.
    Grace(i64),
    /// Another one; the former coming again ends everything.
    Strict,
}

#[derive(Clone, Debug)]
struct Token {
    family: u64,
    used_at: Option<i64>,
}

/// A provider.
#[derive(Clone, Debug)]
pub(super) struct Provider {
    pub(super) rotation: Rotation,
    tokens: HashMap<u64, Token>,
    dead: HashMap<u64, bool>,
    last: u64,
    /// Families that ended because a token came again.
    pub(super) kills: usize,
    /// Grants that their person has ended there.
    pub(super) revoked: usize,
}

impl Provider {
    pub(super) fn new(rotation: Rotation) -> Self {
        Self { rotation, tokens: HashMap::new(), dead: HashMap::new(), last: 0, kills: 0, revoked: 0 }
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A consent: an access and a refresh token.
    pub(super) fn grant(&mut self) -> (u64, u64) {
        let family = self.number();
        (self.number(), self.issue(family))
    }

    fn issue(&mut self, family: u64) -> u64 {
        let token = self.number();
        self.tokens.insert(token, Token { family, used_at: None });
        token
    }

    /// A refresh: tokens, or `invalid_grant`.
    pub(super) fn refresh(&mut self, token: u64, now: i64) -> Option<(u64, u64)> {
        let Token { family, used_at } = self.tokens[&token].clone();
        if self.dead.contains_key(&family) {
            return None;
        }
        let grace = match self.rotation {
            Rotation::Static => return Some((self.number(), token)),
            Rotation::Grace(grace) => grace,
            Rotation::Strict => 0,
        };
        if used_at.is_some_and(|at| now - at > grace) {
            if self.rotation == Rotation::Strict {
                self.dead.insert(family, true);
                self.kills += 1;
            }
            return None;
        }
        self.tokens.get_mut(&token).unwrap().used_at.get_or_insert(now);
        Some((self.number(), self.issue(family)))
    }

    /// The person ends it there.
    pub(super) fn revoke(&mut self, token: u64) {
        let family = self.tokens[&token].family;
        if self.dead.insert(family, false).is_none() {
            self.revoked += 1;
        }
    }

    /// Whether a refresh with this token would work for ever.
    pub(super) fn is_current(&self, token: u64) -> bool {
        let Token { family, used_at } = &self.tokens[&token];
        !self.dead.contains_key(family) && (used_at.is_none() || self.rotation == Rotation::Static)
    }
}
