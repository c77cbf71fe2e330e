//! What must never be asked by a form, because the client and its model would see it: secrets and credentials that grant
//! access or authorise transactions (E1, E37). Names, addresses and the like are not meant, and are for the server to
//! judge (2026-07-28, client/elicitation, "User Interaction Model").
//!
//! It looks at words and can be wrong both ways. A label that is refused by mistake can be worded otherwise; a secret
//! that is asked for in other words is still the server's fault.

use std::fmt;

/// A kind of secret.
///
/// ```
/// use consentry_elicitation::Sensitive;
///
/// assert_eq!(Sensitive::asked_by("githubAccessToken"), Some(Sensitive::Token));
/// assert_eq!(Sensitive::asked_by("Credit card"), Some(Sensitive::Card));
/// assert_eq!(Sensitive::asked_by("max_tokens"), None);
/// assert_eq!(Sensitive::asked_by("Project key"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sensitive {
    /// A password, passphrase or PIN.
    Password,
    /// A key for an interface, a machine or a cipher.
    Key,
    /// A token that stands for a user or a session.
    Token,
    /// A payment card, or what is needed to pay with one.
    Card,
    /// An account at a bank.
    Bank,
    /// A code that proves a second factor, or that recovers an account.
    Code,
    /// A secret of another kind.
    Secret,
}

impl fmt::Display for Sensitive {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Password => "a password",
            Self::Key => "a key",
            Self::Token => "a token",
            Self::Card => "a payment card",
            Self::Bank => "a bank account",
            Self::Code => "a security code",
            Self::Secret => "a secret",
        })
    }
}

/// Unmistakable, alone or one after the other, also in a sentence.
const PHRASES: &[(&[&str], Sensitive)] = &[
    (&["password"], Sensitive::Password),
    (&["passwords"], Sensitive::Password),
    (&["passwd"], Sensitive::Password),
    (&["passphrase"], Sensitive::Password),
    (&["pass", "phrase"], Sensitive::Password),
    (&["passcode"], Sensitive::Password),
    (&["pwd"], Sensitive::Password),
    (&["passwort"], Sensitive::Password),
    (&["kennwort"], Sensitive::Password),
    (&["contraseña"], Sensitive::Password),
    (&["senha"], Sensitive::Password),
    (&["mot", "de", "passe"], Sensitive::Password),
    (&["wachtwoord"], Sensitive::Password),
    (&["пароль"], Sensitive::Password),
    (&["pin", "code"], Sensitive::Password),
    (&["pin", "number"], Sensitive::Password),
    (&["api", "key"], Sensitive::Key),
    (&["api", "keys"], Sensitive::Key),
    (&["apikey"], Sensitive::Key),
    (&["access", "key"], Sensitive::Key),
    (&["secret", "key"], Sensitive::Key),
    (&["private", "key"], Sensitive::Key),
    (&["privatekey"], Sensitive::Key),
    (&["ssh", "key"], Sensitive::Key),
    (&["encryption", "key"], Sensitive::Key),
    (&["signing", "key"], Sensitive::Key),
    (&["deploy", "key"], Sensitive::Key),
    (&["license", "key"], Sensitive::Key),
    (&["recovery", "key"], Sensitive::Key),
    (&["access", "token"], Sensitive::Token),
    (&["accesstoken"], Sensitive::Token),
    (&["refresh", "token"], Sensitive::Token),
    (&["api", "token"], Sensitive::Token),
    (&["auth", "token"], Sensitive::Token),
    (&["authtoken"], Sensitive::Token),
    (&["bearer", "token"], Sensitive::Token),
    (&["session", "token"], Sensitive::Token),
    (&["id", "token"], Sensitive::Token),
    (&["session", "cookie"], Sensitive::Token),
    (&["jwt"], Sensitive::Token),
    (&["credit", "card"], Sensitive::Card),
    (&["creditcard"], Sensitive::Card),
    (&["debit", "card"], Sensitive::Card),
    (&["payment", "card"], Sensitive::Card),
    (&["bank", "card"], Sensitive::Card),
    (&["card", "number"], Sensitive::Card),
    (&["cardnumber"], Sensitive::Card),
    (&["cvv"], Sensitive::Card),
    (&["cvc"], Sensitive::Card),
    (&["iban"], Sensitive::Bank),
    (&["bank", "account"], Sensitive::Bank),
    (&["routing", "number"], Sensitive::Bank),
    (&["one", "time", "code"], Sensitive::Code),
    (&["verification", "code"], Sensitive::Code),
    (&["security", "code"], Sensitive::Code),
    (&["authentication", "code"], Sensitive::Code),
    (&["authorization", "code"], Sensitive::Code),
    (&["recovery", "code"], Sensitive::Code),
    (&["backup", "code"], Sensitive::Code),
    (&["2fa", "code"], Sensitive::Code),
    (&["mfa", "code"], Sensitive::Code),
    (&["sms", "code"], Sensitive::Code),
    (&["otp"], Sensitive::Code),
    (&["totp"], Sensitive::Code),
    (&["client", "secret"], Sensitive::Secret),
    (&["clientsecret"], Sensitive::Secret),
    (&["seed", "phrase"], Sensitive::Secret),
    (&["recovery", "phrase"], Sensitive::Secret),
    (&["mnemonic", "phrase"], Sensitive::Secret),
    (&["social", "security", "number"], Sensitive::Secret),
    (&["ssn"], Sensitive::Secret),
];

/// In a script that puts no spaces between words.
const PARTS: &[&str] = &["密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호"];

/// Sensitive in a label, unless one of the words beside them says that something else is meant.
const AMBIGUOUS: &[(&[&str], Sensitive, &[&str])] = &[
    (
        &["key", "keys"],
        Sensitive::Key,
        &[
            "primary",
            "foreign",
            "sort",
            "partition",
            "object",
            "row",
            "column",
            "map",
            "cache",
            "project",
            "issue",
            "ticket",
            "board",
            "space",
            "public",
            "translation",
            "idempotency",
            "hot",
            "shortcut",
            "musical",
            "name",
            "value",
            "prefix",
            "result",
            "results",
            "point",
            "points",
            "contact",
        ],
    ),
    (
        &["token", "tokens"],
        Sensitive::Token,
        &[
            "max", "maximum", "min", "minimum", "limit", "count", "number", "budget", "per", "of", "output",
            "input", "symbol", "type", "endpoint",
        ],
    ),
    (
        &["card", "cards"],
        Sensitive::Card,
        &[
            "trello", "kanban", "board", "business", "report", "title", "name", "score", "greeting", "post",
            "flash", "story", "id", "column", "list", "layout", "sim", "sound", "graphics",
        ],
    ),
    (
        &["pin"],
        Sensitive::Password,
        &["message", "post", "map", "to", "top", "board", "location", "drop", "note", "gpio"],
    ),
    (&["secret", "secrets"], Sensitive::Secret, &["santa", "name", "path", "store", "manager", "engine"]),
    (&["credential", "credentials"], Sensitive::Secret, &["name", "type", "kind", "store", "provider"]),
];

impl Sensitive {
    /// Does a field with this name or title ask for a secret?
    #[must_use]
    pub fn asked_by(label: &str) -> Option<Self> {
        let words = words(label);
        Self::unmistakable(label, &words).or_else(|| {
            words.iter().enumerate().find_map(|(place, word)| {
                let (_, kind, harmless) =
                    AMBIGUOUS.iter().find(|(names, ..)| names.contains(&word.as_str()))?;
                let near = [place.checked_sub(1), place.checked_add(1)].into_iter().flatten();
                let excused =
                    near.filter_map(|near| words.get(near)).any(|near| harmless.contains(&near.as_str()));
                (!excused).then_some(*kind)
            })
        })
    }

    /// The same for a sentence, in which a single word such as "key" means little.
    #[must_use]
    pub fn asked_in(sentence: &str) -> Option<Self> {
        Self::unmistakable(sentence, &words(sentence))
    }

    fn unmistakable(text: &str, words: &[String]) -> Option<Self> {
        if PARTS.iter().any(|part| text.contains(part)) {
            return Some(Self::Password);
        }
        (0..words.len()).find_map(|from| {
            let rest = &words[from..];
            let starts =
                |phrase: &[&str]| phrase.len() <= rest.len() && phrase.iter().zip(rest).all(|(a, b)| a == b);
            PHRASES.iter().find(|(phrase, _)| starts(phrase)).map(|(_, kind)| *kind)
        })
    }
}

/// The words of `GitHub access-token`, `accessToken`, `ACCESS_TOKEN` and `APIKey`, in small letters.
pub(crate) fn words(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut words = vec![String::new()];
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(place + 1);
        let starts = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if starts || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_found_in_every_way_of_writing() {
        for text in ["access-token", "accessToken", "ACCESS_TOKEN", "Access  token!", "AccessToken"] {
            assert_eq!(words(text), ["access", "token"], "{text}");
        }
        assert_eq!(words("APIKey2"), ["api", "key2"]);
    }

    #[test]
    fn e1_e37_labels_that_ask_for_a_secret() {
        for (label, kind) in [
            ("password", Sensitive::Password),
            ("New password (again)", Sensitive::Password),
            ("userPwd", Sensitive::Password),
            ("PIN", Sensitive::Password),
            ("Ihr Passwort", Sensitive::Password),
            ("Mot de passe", Sensitive::Password),
            ("新しいパスワード", Sensitive::Password),
            ("key", Sensitive::Key),
            ("OPENAI_API_KEY", Sensitive::Key),
            ("SSH key", Sensitive::Key),
            ("token", Sensitive::Token),
            ("Personal access token", Sensitive::Token),
            ("bot_token", Sensitive::Token),
            ("card", Sensitive::Card),
            ("Card number", Sensitive::Card),
            ("cvc", Sensitive::Card),
            ("IBAN", Sensitive::Bank),
            ("Enter the verification code", Sensitive::Code),
            ("otp", Sensitive::Code),
            ("client_secret", Sensitive::Secret),
            ("credentials", Sensitive::Secret),
        ] {
            assert_eq!(Sensitive::asked_by(label), Some(kind), "{label}");
        }
    }

    #[test]
    fn labels_that_only_look_like_it() {
        for label in [
            "name",
            "email",
            "Max tokens",
            "tokens per minute",
            "project_key",
            "Primary key",
            "keyboard",
            "Trello card",
            "Postcard",
            "cardinality",
            "pinned",
            "Pin to top",
            "secretary",
            "Secret Santa",
            "Key results",
            "Monkey",
            "zip code",
            "Country code",
            "Code",
            "passenger",
            "compass",
            "tokenizer",
        ] {
            assert_eq!(Sensitive::asked_by(label), None, "{label}");
        }
    }

    #[test]
    fn a_sentence_must_be_plainer() {
        assert_eq!(Sensitive::asked_in("Enter your API key to continue."), Some(Sensitive::Key));
        assert_eq!(Sensitive::asked_in("What is the key of the song?"), None);
        assert_eq!(Sensitive::asked_in("Pick the card that you like."), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = (Sensitive::asked_by(&text), Sensitive::asked_in(&text));
        }
    }
}
