//! Text from outside: which characters of it a person may be shown.
//!
//! Whoever wrote it must not be able to turn the direction of the words around it, nor hide in it.

/// Whether a character is a control character, invisible, or turns the direction of text (Unicode UAX #9, and UTS #39
/// section 5.1). ZWNJ and ZWJ are not: Persian, Indic scripts and emoji need them.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// `text` without hidden characters; what separates words and lines stays.
pub fn visible(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    text.chars().filter(|c| c.is_whitespace() || !is_hidden(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_hides_is_taken_out() {
        assert_eq!(visible("pay\u{202e}dexam\u{2066}ple\u{200b}\n\tline".to_owned()), "paydexample\n\tline");
        assert_eq!(visible("نمونه\u{200c}ها 👩\u{200d}💻".to_owned()), "نمونه\u{200c}ها 👩\u{200d}💻");
    }
}
