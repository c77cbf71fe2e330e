//! Names whose letters come from several scripts, such as a Latin name with one Cyrillic letter in it (Unicode Technical
//! Standard 39, section 5.2, "Highly Restrictive").

use unicode_script::{Script, ScriptExtension, UnicodeScript};

/// Scripts that are written together; Latin is at home in each.
const TOGETHER: [&[Script]; 3] = [
    &[Script::Latin, Script::Han, Script::Hiragana, Script::Katakana],
    &[Script::Latin, Script::Han, Script::Bopomofo],
    &[Script::Latin, Script::Han, Script::Hangul],
];

/// Does a label of this name, in its own letters, mix scripts that nobody writes together?
pub(super) fn are_mixed(name: &str) -> bool {
    name.split('.').any(|label| {
        let scripts: Vec<ScriptExtension> = label.chars().map(|letter| letter.script_extension()).collect();
        let one = scripts.iter().copied().reduce(|common, script| common.intersection(script));
        let single = one.is_none_or(|common| !common.is_empty());
        let fits = |group: &&[Script]| {
            scripts.iter().all(|script| group.iter().any(|known| script.contains_script(*known)))
        };
        !single && !TOGETHER.iter().any(fits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_of_another_script_is_seen() {
        for (name, mixed) in [
            ("example.com", false),
            ("bücher.example", false),
            ("пример.example", false),
            ("пример-2.example", false),
            ("日本語ひらがなカタカナ.jp", false),
            ("abc日本.jp", false),
            ("한국abc.kr", false),
            ("ελληνικά.gr", false),
            // The first letter is Cyrillic.
            ("аpple.com", true),
            ("www.pаypal.com", true),
            ("googlе.com", true),
            ("αbc.example", true),
            ("ひらがな한국.example", true),
        ] {
            assert_eq!(are_mixed(name), mixed, "{name}");
        }
    }
}
