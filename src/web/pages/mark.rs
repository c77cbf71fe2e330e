//! What stands for a provider where a picture would: the operator's own logo file, else a letter in a shape.
//!
//! It says nothing that the words beside it do not say, and is hidden from screen readers. What it must never be: a
//! trademark that this program brings along.

use super::label::Label;

/// A provider's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    letter: String,
    class: String,
    logo: Option<String>,
}

impl Mark {
    /// Colours of the stylesheet (`.hue-0` and on), each with enough contrast in light and dark.
    pub const HUES: u32 = 12;
    /// Shapes of the stylesheet (`.shape-0` and on), so that a colour is never all that tells two apart.
    pub const SHAPES: u32 = 3;

    /// The letter of `name`, in the colour and shape that always go with `id`.
    #[must_use]
    pub fn new(id: &str, name: &Label) -> Self {
        let number = number(id);
        let (hue, shape) = (number % Self::HUES, number / Self::HUES % Self::SHAPES);
        Self { letter: name.initial(), class: format!("hue-{hue} shape-{shape}"), logo: None }
    }

    /// The same with a logo in its place, by its path on this host.
    #[must_use]
    pub fn with_logo(self, path: Option<&str>) -> Self {
        Self { logo: path.map(str::to_owned), ..self }
    }

    /// The letter.
    #[must_use]
    pub fn letter(&self) -> &str {
        &self.letter
    }

    /// Classes of the stylesheet.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class
    }

    /// Path of the picture to show instead.
    #[must_use]
    pub fn logo(&self) -> Option<&str> {
        self.logo.as_deref()
    }
}

/// FNV-1a, of 32 bits: the same in every process and version.
fn number(id: &str) -> u32 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = id.bytes().fold(0x811c_9dc5, mix);
    // The low bits alone tell short ids badly apart.
    hash ^ (hash >> 13)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::assets;

    #[test]
    fn a_mark_is_the_same_every_time_and_marks_differ() {
        let mark = |id: &str| Mark::new(id, &Label::new("G"));
        assert_eq!(mark("github"), mark("github"));
        let alike =
            ["github", "gitlab", "google", "google-drive", "google-gmail", "google-calendar", "grafana"];
        let mut classes: Vec<_> = alike.iter().map(|id| mark(id).class).collect();
        classes.sort();
        classes.dedup();
        assert_eq!(classes.len(), alike.len(), "{classes:?}");
        let css = std::str::from_utf8(assets::stylesheet().bytes).unwrap();
        for hue in 0..Mark::HUES {
            assert!(css.contains(&format!(".hue-{hue} {{")), "{hue}");
        }
        for shape in 0..Mark::SHAPES {
            assert!(css.contains(&format!(".shape-{shape} {{")), "{shape}");
        }
    }

    /// WCAG 2.2, 1.4.3 and 1.4.11: each letter on its ground, at 4.5 to 1 or more, light and dark.
    #[test]
    fn every_letter_can_be_read() {
        let css = std::str::from_utf8(assets::stylesheet().bytes).unwrap();
        let mut seen = 0;
        for line in css.lines().map(str::trim).filter(|line| line.starts_with(".hue-")) {
            let colours: Vec<f64> = line.split('#').skip(1).map(|hex| luminance(&hex[..6])).collect();
            // Ground and letter, as the light theme and the dark one have them.
            for pair in colours.chunks(2) {
                let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                let contrast = (high + 0.05) / (low + 0.05);
                assert!(contrast >= 4.5, "{line}: {contrast}");
                seen += 1;
            }
        }
        assert_eq!(seen, 2 * Mark::HUES);
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(hex: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
    }
}
