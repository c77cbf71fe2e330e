//! Every page with sample data, usual and hostile: what the contract and the requirements say about all of them.

use std::collections::BTreeSet;

use super::{
    sample::{Names, pages},
    *,
};

/// The table of the contract, written down a second time so that a slip in `name.rs` shows.
const CONTRACT: &str = "sign-in 200 code 200 ready 200 already-connected 200 needs-input 200 secret-form 200 leaving 200 \
    working 200 awaiting-result 200 connected 200 partly-connected 200 account-changed 200 not-connected 200 declined 200 cancelled 410 \
    expired 410 failed 410 wrong-account 403 not-found 404 sign-in-failed 401 other-browser 400 \
    provider-mismatch 400 provider-unreachable 502 provider-misconfigured 502 admin-approval 200 \
    secret-rejected 422 secret-unchecked 200 connections 200 connection 200 disconnect 200 disconnect-all 200 disconnected 200 too-many-requests 429 \
    unavailable 503 bad-request 400 server-error 500 signed-out 200";

fn contract() -> Vec<(&'static str, u16)> {
    let words: Vec<&str> = CONTRACT.split_whitespace().collect();
    words.chunks(2).map(|pair| (pair[0], pair[1].parse().unwrap())).collect()
}

fn hostile() -> Vec<Names> {
    [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' autofocus onfocus='alert(1)",
        "</title></bdi></main><form action=//evil.example>",
        "\u{202e}\u{2066}gro.live\u{2069}\u{200b}\u{feff}\u{0}\u{1b}[31m",
        "{{ 7 * 7 }} {server} {% raw %} &lt;b&gt; &amp;",
        "javascript:alert(1)",
    ]
    .into_iter()
    .map(Names::all)
    .chain([Names::all(&"x".repeat(10_240)), Names::all(&"<&\"'".repeat(2_560)), Names::all("")])
    .collect()
}

/// The text that is seen, entities left as they are.
fn visible(html: &str) -> String {
    let body = &html[html.find("<title>").unwrap()..];
    let mut text = String::new();
    let mut inside = false;
    for c in body.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => text.push(c),
            _ => {}
        }
    }
    text
}

/// Each opening tag, with its attributes.
fn tags(html: &str) -> Vec<&str> {
    html.split('<')
        .skip(1)
        .filter(|tag| !tag.starts_with(['/', '!']))
        .map(|tag| tag.split('>').next().unwrap())
        .collect()
}

fn attributes(tag: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut quoted = false;
    let mut name = String::new();
    for c in tag.chars().skip_while(|c| !c.is_whitespace()) {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '=' | ' ' | '\n' => {
                if !name.is_empty() {
                    names.push(std::mem::take(&mut name));
                }
            }
            _ => name.push(c),
        }
    }
    if !name.is_empty() {
        names.push(name);
    }
    names
}

fn every(mut check: impl FnMut(&str, &dyn Page, &Document)) {
    let mut all = vec![Names::usual()];
    all.extend(hostile());
    for names in &all {
        for (file, page) in pages(names) {
            check(file, &*page, &page.document().unwrap());
        }
    }
}

#[test]
fn every_page_of_the_contract_has_its_name_and_status() {
    let mut seen = BTreeSet::new();
    every(|file, _, document| {
        assert!(
            document.html.contains(&format!("<main data-page=\"{}\">", document.name.as_str())),
            "{file}"
        );
        let status = document.status.as_u16();
        if document.name == Name::BadRequest {
            assert!([400, 403, 405, 408, 413, 415, 421].contains(&status), "{file}");
        } else {
            assert_eq!(status, document.name.status().as_u16(), "{file}");
        }
        seen.insert((document.name.as_str(), document.name.status().as_u16()));
        assert_eq!(Name::parse(document.name.as_str()), Some(document.name));
    });
    assert_eq!(seen, contract().into_iter().collect());
    assert_eq!(Name::ALL.len(), contract().len());
}

#[test]
fn every_page_has_one_heading_a_title_a_language_and_fits() {
    every(|file, page, document| {
        let html = &document.html;
        assert_eq!(html.matches("<h1>").count(), 1, "{file}");
        assert_eq!(html.matches("<main ").count(), 1, "{file}");
        assert_eq!(html.matches("<title>").count(), 1, "{file}");
        assert!(html.starts_with("<!doctype html>\n<html lang=\"en\" dir=\"ltr\">"), "{file}");
        assert!(page.title().ends_with(" - Example Inc.") && page.title().chars().count() < 250, "{file}");
        assert!(html.contains("connect.example.com") && html.contains("0193-7f3a-9c21"), "{file}");
        assert!(html.len() < 30_000, "{file}: {} bytes", html.len());
    });
}

#[test]
fn no_page_says_a_word_of_ours() {
    for (file, page) in pages(&Names::usual()) {
        let text = visible(&page.html().unwrap()).to_lowercase();
        for word in ["oauth", "token", "scope", "elicitation", "csrf", "undefined", "none", "{", "}"] {
            assert!(!text.contains(word), "{file} says {word}");
        }
    }
}

#[test]
fn r39_each_form_is_a_post_of_its_own_with_a_csrf_field() {
    every(|file, page, document| {
        let forms: Vec<&str> = document.html.split("<form ").skip(1).collect();
        assert_eq!(document.has_forms, !forms.is_empty(), "{file}");
        assert!(page.frame().signed_in.is_none() || document.has_forms, "{file}");
        for form in forms {
            let (open, rest) = form.split_once('>').unwrap();
            let inner = rest.split("</form>").next().unwrap();
            assert!(open.contains("method=\"post\" action=\"/"), "{file}: {open}");
            assert_eq!(
                inner.matches("<input type=\"hidden\" name=\"csrf\" value=\"c3NyZi1zYW1wbGU\">").count(),
                1
            );
            assert!(inner.contains("<button class="), "{file}");
        }
        for tag in tags(&document.html) {
            assert!(!tag.contains("formaction") && !tag.contains("form="), "{file}: {tag}");
        }
    });
}

#[test]
fn r41_no_script_no_style_and_nothing_from_elsewhere() {
    let known: BTreeSet<&str> = "html head meta title link body header main footer h1 h2 h3 p b i span bdi a ul li form input \
        button select option label fieldset legend div details summary code figure figcaption blockquote svg circle path img"
        .split_whitespace()
        .collect();
    every(|file, _, document| {
        for tag in tags(&document.html) {
            let name = tag.split_whitespace().next().unwrap();
            assert!(known.contains(name), "{file}: <{tag}>");
            for attribute in attributes(tag) {
                assert!(attribute != "style" && !attribute.starts_with("on"), "{file}: <{tag}>");
                assert!(attribute != "srcset" && (attribute != "src" || name == "img"), "{file}: <{tag}>");
            }
            if name == "img" {
                // A logo of the operator's; it says nothing that the words do not say.
                assert!(tag.contains(" src=\"/static/logo.") && tag.contains(" alt=\"\""), "{file}: <{tag}>");
            }
            if name == "link" {
                assert!(tag.contains(" href=\"/static/"), "{file}: <{tag}>");
            }
        }
    });
}

#[test]
fn hostile_labels_are_neither_markup_nor_invisible() {
    for names in hostile() {
        for (file, page) in pages(&names) {
            let html = page.html().unwrap();
            let pictures = html.matches("<img src=\"/static/logo.").count();
            assert!(!html.contains("<script") && html.matches("<img").count() == pictures, "{file}");
            assert!(!html.contains("//evil.example>") && !html.contains("href=\"javascript"), "{file}");
            let hidden = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!html.contains(hidden) && !html.contains(['\u{2066}', '\u{200b}', '\u{feff}']), "{file}");
            assert!(!html.contains(&"x".repeat(Message::MAX_CHARS + 1)), "{file}");
        }
    }
}

#[test]
fn ids_are_unique_and_what_is_referred_to_is_there() {
    every(|file, _, document| {
        let value = |tag: &str, name: &str| {
            tag.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        };
        let tags = tags(&document.html);
        let mut ids = BTreeSet::new();
        for id in tags.iter().filter_map(|tag| value(tag, "id")) {
            assert!(ids.insert(id), "{file}");
        }
        for tag in tags {
            let described = value(tag, "aria-describedby").unwrap_or_default();
            let named = value(tag, "for").or_else(|| Some(value(tag, "href")?.strip_prefix('#')?.to_owned()));
            for id in described.split_whitespace().map(str::to_owned).chain(named) {
                assert!(ids.contains(&id), "{file}: {id}");
            }
        }
    });
}

#[test]
fn refusals_say_whether_anything_is_connected_and_what_to_do() {
    for (file, page) in pages(&Names::usual()) {
        let status = page.status().as_u16();
        if status < 400 {
            continue;
        }
        let text = visible(&page.html().unwrap()).to_lowercase();
        let told = ["nothing", "shows how things are"].iter().any(|word| text.contains(word));
        let helped = ["again", "close", "switch", "tell", "wait"].iter().any(|word| text.contains(word));
        assert!(told && helped && text.contains("reference"), "{file}");
    }
}

#[test]
fn r3_the_wrong_account_page_names_the_reader_and_nobody_else() {
    let page = pages(&Names::usual()).into_iter().find(|(file, _)| *file == "wrong-account").unwrap().1;
    let text = page.html().unwrap();
    assert!(text.contains("alice@example.com"));
    for name in ["octocat", "hubot", "GitHub", "Example Files", "Claude"] {
        assert!(!text.contains(name), "{name}");
    }
}

#[test]
fn leaving_goes_on_by_itself_and_no_other_page_does() {
    every(|file, _, document| {
        let goes = document.html.contains("http-equiv=\"refresh\" content=\"0; url=https://github.com/");
        assert_eq!(goes, document.name == Name::Leaving, "{file}");
    });
}

#[test]
fn a_secret_field_cannot_be_filled_and_nothing_blocks_pasting() {
    for (file, page) in pages(&Names::usual()).into_iter().filter(|(file, _)| file.starts_with("secret")) {
        let html = page.html().unwrap();
        let secret =
            tags(&html).into_iter().find(|tag| tag.contains("type=\"password\"")).unwrap().to_owned();
        assert!(secret.contains("autocomplete=\"off\"") && !secret.contains(" value="), "{file}: {secret}");
    }
}

#[test]
fn the_main_action_comes_first_for_the_keyboard() {
    every(|file, _, document| {
        let tags = tags(&document.html);
        let stops = |tag: &&&str| {
            let name = tag.split_whitespace().next().unwrap();
            matches!(name, "a" | "button" | "select" | "summary")
                || name == "input" && !tag.contains("type=\"hidden\"")
                || tag.contains("tabindex")
        };
        let first = tags.iter().find(stops).unwrap();
        let field = first.starts_with("input ") || first.contains("class=\"wrong\"");
        let main = tags.iter().any(|tag| tag.contains("class=\"button main\""));
        assert!(!main || field || first.contains("class=\"button main\""), "{file}: <{first}>");
    });
}
