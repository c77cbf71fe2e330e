//! On which line of a TOML file a key stands, so that a mistake can be shown where it is.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The line (from 1) of the key at this path, as in `probe.headers.Accept` or `fields[0].name`; of the nearest key above
/// it when it is not there. None when not even that is.
pub(super) fn line_of(text: &str, path: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let at = within(table.get_ref(), path)?;
    Some(line_at(text, at))
}

/// The line (from 1) of a place in the text.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn within(table: &DeTable<'_>, path: &str) -> Option<usize> {
    // A key may hold dots itself: the longest that fits is meant.
    let fitting = table.iter().filter_map(|(key, value)| {
        let rest = path.strip_prefix(key.get_ref().as_ref())?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some((key, value, rest))
    });
    let (key, value, rest) = fitting.max_by_key(|(key, _, _)| key.get_ref().len())?;
    Some(below(value, rest).unwrap_or(key.span().start))
}

fn below(value: &Spanned<DeValue<'_>>, rest: &str) -> Option<usize> {
    if let Some(rest) = rest.strip_prefix('.') {
        return within(value.get_ref().as_table()?, rest);
    }
    let (index, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let element = value.get_ref().as_array()?.get(index.parse::<usize>().ok()?)?;
    Some(below(element, rest).unwrap_or(element.span().start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"x\"\n\n[probe]\nurl = \"u\"\nheaders = { Accept = \"a\" }\n\n[scope_words]\n\
                        \"a.b\" = \"c\"\n\n[[fields]]\nname = \"one\"\n[[fields]]\nname = \"two\"\n";

    #[test]
    fn a_path_leads_to_its_line() {
        for (path, line) in [
            ("name", Some(1)),
            ("probe.url", Some(4)),
            ("probe.headers.Accept", Some(5)),
            ("probe.id", Some(3)),
            ("scope_words.a.b", Some(8)),
            ("fields[1].name", Some(13)),
            ("fields[1]", Some(12)),
            ("nowhere", None),
        ] {
            assert_eq!(line_of(TEXT, path), line, "{path}");
        }
    }
}
