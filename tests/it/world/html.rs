//! As much of HTML as a test must read: elements, attributes, text. Our pages are well formed, and so are the fakes'.

/// An opening tag and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    /// Where the tag begins, and where what it holds begins.
    start: usize,
    end: usize,
}

impl Tag {
    /// An attribute's value, decoded; empty when it stands without one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Every opening tag, in order.
pub(crate) fn tags(html: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = html[at..].find('<') {
        let start = at + found;
        at = start + 1;
        if !html[at..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let name_end = at + html[at..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(0);
        let name = html[at..name_end].to_ascii_lowercase();
        let (attributes, end) = attributes(html, name_end);
        at = end;
        tags.push(Tag { name, attributes, start, end });
    }
    tags
}

/// The attributes from `at` on, and where the tag is over.
fn attributes(html: &str, mut at: usize) -> (Vec<(String, String)>, usize) {
    let mut found = Vec::new();
    loop {
        let rest = &html[at..];
        let skipped = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/').len();
        at += skipped;
        let rest = &html[at..];
        if rest.is_empty() {
            return (found, at);
        }
        if rest.starts_with('>') {
            return (found, at + 1);
        }
        let name_length =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(rest.len());
        let name = rest[..name_length].to_ascii_lowercase();
        at += name_length.max(1);
        let mut value = "";
        if html[at..].starts_with('=') {
            at += 1;
            let quoted = &html[at..];
            if let Some(quote) = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
                let length = quoted[1..].find(quote).unwrap_or(quoted.len() - 1);
                value = &quoted[1..=length];
                at += length + 2;
            } else {
                let length = quoted.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(quoted.len());
                value = &quoted[..length];
                at += length;
            }
        }
        found.push((name, decode(value)));
        at = at.min(html.len());
    }
}

/// What an element holds, markup and all; to the end where it is not closed.
pub(crate) fn inside<'a>(html: &'a str, tag: &Tag) -> &'a str {
    let rest = &html[tag.end..];
    let close = format!("</{}", tag.name);
    &rest[..rest.find(&close).unwrap_or(rest.len())]
}

/// Whether `inner` stands within the element of `outer`.
pub(crate) fn holds(html: &str, outer: &Tag, inner: &Tag) -> bool {
    (outer.end..outer.end + inside(html, outer).len()).contains(&inner.start)
}

/// The text that a person reads, with single spaces.
pub(crate) fn text(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        text.push(' ');
        rest = &rest[at + rest[at..].find('>').map_or(rest.len() - at, |end| end + 1)..];
    }
    text.push_str(rest);
    decode(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(end) = rest.find(';').filter(|end| *end <= 10) else {
            decoded.push('&');
            rest = &rest[1..];
            continue;
        };
        let character = match &rest[1..end] {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some('\u{a0}'),
            number => number.strip_prefix('#').and_then(|number| {
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)
            }),
        };
        match character {
            Some(character) => decoded.push(character),
            None => decoded.push_str(&rest[..=end]),
        }
        rest = &rest[end + 1..];
    }
    decoded.push_str(rest);
    decoded
}

#[test]
fn a_page_is_read_as_a_browser_reads_it() {
    let html = "<main data-page='x'><p>Bob &amp; <b>Al</b>&#39;s &lt;3</p><form action=\"/a?b=1&amp;c=2\" method=post>\
                <input type=hidden name=n value=\"&quot;v>\"><button disabled>Go</button></form></main>";
    let tags = tags(html);
    let names: Vec<&str> = tags.iter().map(|tag| &*tag.name).collect();
    assert_eq!(names, ["main", "p", "b", "form", "input", "button"]);
    assert_eq!(tags[0].get("data-page"), Some("x"));
    assert_eq!(tags[3].get("action"), Some("/a?b=1&c=2"));
    assert_eq!((tags[3].get("method"), tags[4].get("type")), (Some("post"), Some("hidden")));
    assert_eq!(tags[4].get("value"), Some("\"v>"));
    assert_eq!(tags[5].get("disabled"), Some(""));
    assert!(holds(html, &tags[3], &tags[4]) && !holds(html, &tags[1], &tags[4]));
    assert_eq!(text(inside(html, &tags[1])), "Bob & Al 's <3");
}
