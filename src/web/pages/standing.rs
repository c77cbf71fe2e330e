//! How a connection stands, and what a person is told of why.

use time::OffsetDateTime;

use super::{frame::Tone, label::Label, sentence::Sentence};
use crate::web::text;

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It works.
    Active,
    /// It works, with fewer permissions than asked for.
    Limited,
    /// It works until then, and the person can renew it.
    Ending(OffsetDateTime),
    /// It does not work; the person can connect it again.
    Broken(Trouble),
}

/// Why a connection does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The provider refuses to renew it.
    Refused,
    /// The answer to a renewal was lost.
    Lost,
    /// The provider's API refused it.
    Reported,
    /// The person's consent was for a time.
    Over,
    /// So was the provider's leave to renew it.
    Lapsed,
    /// The provider is another place by now, and gets nothing that was stored.
    Changed,
    /// It ran out, and cannot be renewed.
    RanOut,
    /// Not known.
    Other,
    /// The provider answered for another account.
    Stopped,
}

impl Trouble {
    /// What happened, in a sentence that says what it means.
    #[must_use]
    pub fn sentence(self, provider: &Label) -> Sentence {
        match self {
            Self::Refused => text::trouble_refused(provider),
            Self::Lost => text::trouble_lost(provider),
            Self::Reported => text::trouble_reported(provider),
            Self::Over => text::trouble_over(provider),
            Self::Lapsed => text::trouble_lapsed(provider),
            Self::Changed => text::trouble_changed(provider),
            Self::RanOut => text::trouble_ran_out(provider),
            Self::Other => text::trouble_other(provider),
            Self::Stopped => text::trouble_stopped(provider),
        }
    }
}

impl Standing {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> Sentence {
        match self {
            Self::Active => text::status_active(),
            Self::Limited => text::status_limited(),
            Self::Ending(at) => text::status_ending(text::day(at)),
            Self::Broken(Trouble::Stopped) => text::status_stopped(),
            Self::Broken(_) => text::status_attention(),
        }
    }

    /// How it is meant.
    #[must_use]
    pub fn tone(self) -> Tone {
        match self {
            Self::Active => Tone::Good,
            Self::Limited => Tone::Calm,
            Self::Ending(_) => Tone::Caution,
            Self::Broken(Trouble::Stopped) => Tone::Stop,
            Self::Broken(_) => Tone::Caution,
        }
    }

    /// What happened, and what the person can do.
    #[must_use]
    pub fn advice(self, provider: &Label, server: &Label) -> Vec<Sentence> {
        match self {
            Self::Active => Vec::new(),
            Self::Limited => vec![text::status_limited_do(server)],
            Self::Ending(at) => vec![text::status_ending_do(provider, text::day(at))],
            Self::Broken(trouble) => {
                let what_to_do = match trouble {
                    Trouble::Stopped => text::status_stopped_do(),
                    _ => text::status_attention_do(server),
                };
                vec![trouble.sentence(provider), what_to_do]
            }
        }
    }
}
