//! The stylesheet and the icon, compiled in and served under a path that holds their hash, so that a browser may keep
//! them for ever. There is no other file, and nothing is ever loaded from another host.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};

/// `Cache-Control` of every asset: the path changes when the bytes do (RFC 8246).
pub const CACHE_CONTROL: &str = "public, max-age=31536000, immutable";

/// A file of the program itself.
pub struct Asset {
    /// Absolute path on the public listener, such as `/static/pages.0123456789abcdef.css`.
    pub path: String,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, bytes: &'static [u8]) -> Self {
        let hash = digest(&SHA256, bytes);
        let hash: String = hash.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { path: format!("/static/{stem}.{hash}.{extension}"), content_type, bytes }
    }
}

static ALL: LazyLock<[Asset; 2]> = LazyLock::new(|| {
    [
        Asset::new("pages", "css", "text/css; charset=utf-8", include_bytes!("../../static/pages.css")),
        Asset::new("icon", "svg", "image/svg+xml", include_bytes!("../../static/icon.svg")),
    ]
});

/// The one stylesheet.
#[must_use]
pub fn stylesheet() -> &'static Asset {
    &ALL[0]
}

/// The icon in the browser's tab.
#[must_use]
pub fn icon() -> &'static Asset {
    &ALL[1]
}

/// The asset with exactly this path; `None` for anything else, an older hash included.
#[must_use]
pub fn find(path: &str) -> Option<&'static Asset> {
    ALL.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_hold_the_hash_and_are_found() {
        for asset in [stylesheet(), icon()] {
            let parts: Vec<&str> = asset.path.split('.').collect();
            assert!(asset.path.starts_with("/static/") && parts.len() == 3 && parts[1].len() == 16);
            assert_eq!(find(&asset.path).map(|found| found.bytes), Some(asset.bytes));
        }
        assert!(find("/static/pages.css").is_none());
    }

    #[test]
    fn r41_the_stylesheet_loads_nothing_and_moves_nothing() {
        let css = std::str::from_utf8(stylesheet().bytes).unwrap();
        for word in ["url(", "@import", "@font-face", "http:", "https:", "animation", "transition"] {
            assert!(!css.contains(word), "{word}");
        }
        assert!(css.len() < 20_000);
    }
}
