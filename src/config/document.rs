//! `docs/configuration.md`, from the example file: its explanations as text, its settings as TOML.

use super::load::DEFAULTS;

const HEAD: &str =
    "<!-- Made by scripts/generate from config.example.toml; change it there. -->\n\n# Configuration\n";

/// The document.
pub fn document() -> String {
    let mut text = HEAD.to_owned();
    for block in blocks() {
        // What stands above a table's name explains the table.
        if let Some(name) = block.settings.first().and_then(|line| table_name(line)) {
            text.push_str(&format!("\n## {name}\n"));
        }
        for paragraph in &block.words {
            text.push_str(&format!("\n{paragraph}\n"));
        }
        if !block.settings.is_empty() {
            text.push_str(&format!("\n```toml\n{}\n```\n", block.settings.join("\n")));
        }
    }
    text
}

/// An explanation and the settings that it is of.
#[derive(Default)]
struct Block {
    words: Vec<String>,
    settings: Vec<&'static str>,
}

fn blocks() -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    let mut paragraph_ended = true;
    for line in DEFAULTS.lines() {
        let words = line.strip_prefix("# ");
        let ended = blocks.last().is_some_and(|block| !block.settings.is_empty());
        if ended && (words.is_some() || line.is_empty() || table_name(line).is_some()) {
            blocks.push(Block::default());
            paragraph_ended = true;
        }
        let Some(block) = blocks.last_mut() else { continue };
        match (line, words) {
            ("" | "#", _) => paragraph_ended = true,
            (_, Some(words)) => match block.words.last_mut().filter(|_| !paragraph_ended) {
                Some(paragraph) => paragraph.push_str(&format!("\n{words}")),
                None => block.words.push(words.to_owned()),
            },
            (setting, None) => block.settings.push(setting),
        }
        paragraph_ended = paragraph_ended && words.is_none();
    }
    blocks
}

/// `[listen]` or `#[[providers]]`, without the mark of a comment.
fn table_name(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('#');
    line.starts_with('[').then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_stands_below_the_name_of_its_table() {
        let text = document();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}"));
        assert!(at("## [listen]") < at("The two listeners."));
        assert!(at("The two listeners.") < at("public = \"127.0.0.1:8080\""));
        assert!(at("## [[providers]]") < at("What can be connected."));
        assert!(text.contains("\n\n```toml\npublic_url = \"http://localhost:8080\"\n```\n"));
    }
}
