//! Every sentence that a person reads, in one place. Templates hold none, and none is glued from pieces: a sentence is
//! one pattern with named gaps, so that a translator can turn it around.
//!
//! The words: "you", "account", "permission", "connect", "disconnect". Never OAuth, token, scope or elicitation. An error
//! says what happened, whether anything is connected, and what to do.

mod code;
mod connections;
mod entry;
mod moment;
mod outcome;
mod refusal;
mod trip;

pub use code::*;
pub use connections::*;
pub use entry::*;
pub use moment::*;
pub use outcome::*;
pub use refusal::*;
pub use trip::*;

/// Language of everything in here (BCP 47).
pub const LANG: &str = "en";
/// Its direction, `ltr` or `rtl`.
pub const DIR: &str = "ltr";

/// Declares sentences: for each a function that fills the gaps, and all patterns once more as a table.
macro_rules! sentences {
    ($table:ident: $($key:ident($($gap:ident),*) = $pattern:literal;)*) => {
        $(
            #[doc = concat!("\"", $pattern, "\"")]
            #[must_use]
            pub fn $key($($gap: impl $crate::web::pages::Fill),*) -> $crate::web::pages::Sentence {
                $crate::web::pages::Sentence::new($pattern, vec![$((stringify!($gap), $gap.fill())),*])
            }
        )*
        /// Name, pattern and gaps of each sentence in this file.
        pub const $table: &[(&str, &str, &[&str])] = &[$((stringify!($key), $pattern, &[$(stringify!($gap)),*])),*];
    };
}
use sentences;

sentences! { FRAME:
    title(page, operator) = "{page} - {operator}";
    signed_in(person) = "Signed in as {person}";
    sign_out_button() = "Sign out";
    help_link() = "Help";
    privacy_link() = "Privacy";
    reference() = "Reference";
    switch_account() = "Use a different sign-in";
    not_you() = "Not you? Use a different sign-in";
    not_now() = "Not now";
    try_again() = "Try again";
    your_connections() = "Your connections";
    close_page() = "You can close this page.";
    close_tab() = "You can close this tab.";
    technical_name() = "Technical names";
    technical_code() = "What we were told, for support";
}

/// All tables: what there is to translate.
pub const TABLES: &[&[(&str, &str, &[&str])]] =
    &[FRAME, CODE, ENTRY, TRIP, OUTCOME, REFUSAL, CONNECTIONS, MOMENT];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::web::pages::gap_names;

    #[test]
    fn patterns_use_their_gaps_and_no_forbidden_word() {
        let mut keys = BTreeSet::new();
        for (key, pattern, gaps) in TABLES.iter().copied().flatten() {
            assert!(keys.insert(key), "{key} twice");
            let used: BTreeSet<&str> = gap_names(pattern).into_iter().collect();
            assert_eq!(used, gaps.iter().copied().collect(), "{key}");
            let low = pattern.to_lowercase();
            for word in ["oauth", "token", "scope", "elicitation", "invalid", "illegal", "oops", "please"] {
                assert!(!low.contains(word), "{key} says {word}");
            }
            assert!(!pattern.contains(['<', '>', '\'']), "{key}: markup or a straight quote");
        }
    }
}
