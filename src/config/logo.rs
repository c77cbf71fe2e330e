//! The file that an operator gives as a provider's logo: read once, and taken for what its bytes say it is.
//!
//! It goes to browsers as an image with a path of its own. What it must never be: part of a page's markup.

use std::{fmt, fs, io::Read, path::Path, sync::Arc};

use crate::secret::Hash;

/// Bytes of a logo's file.
pub const LOGO_MAX: u64 = 64 * 1024;
/// Pixels of either side of a PNG: a small file can hold a picture that fills a browser's memory.
const SIDE_MAX: u32 = 1024;

/// What kind of picture it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoType {
    /// PNG (ISO/IEC 15948).
    Png,
    /// SVG, in UTF-8.
    Svg,
}

impl LogoType {
    /// `Content-Type`.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Svg => "image/svg+xml",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }
}

/// A logo. Cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    /// The file.
    pub bytes: Arc<[u8]>,
    /// What it is.
    pub kind: LogoType,
    /// Its absolute path on the public listener, which changes when the bytes do.
    pub path: String,
}

/// Without the bytes.
impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logo({}, {} bytes)", self.path, self.bytes.len())
    }
}

impl Logo {
    /// Reads the file.
    ///
    /// # Errors
    /// A sentence without a subject: it cannot be read, is too big, or is no picture that may be shown.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let cannot =
            |error: std::io::Error| format!("names the file {name}, which cannot be read: {}", error.kind());
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(cannot)?;
        file.take(LOGO_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
        if bytes.len() as u64 > LOGO_MAX {
            return Err(format!("names the file {name}, which is larger than 64 KiB"));
        }
        Self::of(bytes).map_err(|problem| format!("names the file {name}, which {problem}"))
    }

    fn of(bytes: Vec<u8>) -> Result<Self, &'static str> {
        let kind = kind(&bytes)?;
        let hash: String =
            Hash::of(&bytes).as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let path = format!("/static/logo.{hash}.{}", kind.extension());
        Ok(Self { bytes: bytes.into(), kind, path })
    }
}

fn kind(bytes: &[u8]) -> Result<LogoType, &'static str> {
    if let Some(rest) = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n") {
        return png(rest).map(|()| LogoType::Png);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| NEITHER)?;
    svg(text).map(|()| LogoType::Svg)
}

const NEITHER: &str = "is neither a PNG nor an SVG in UTF-8";

/// The header, which comes first: length, `IHDR`, width, height.
fn png(rest: &[u8]) -> Result<(), &'static str> {
    let number = |at: usize| rest.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let (true, Some(width), Some(height)) = (rest.get(4..8) == Some(b"IHDR"), number(8), number(12)) else {
        return Err("is not a whole PNG");
    };
    let fits = |side: u32| (1..=SIDE_MAX).contains(&side);
    if fits(width) && fits(height) { Ok(()) } else { Err("is a PNG of more than 1024 pixels a side") }
}

/// Its root, and nothing that a picture has no use for. Browsers run no script in an image and load nothing for it; what
/// is refused here would show nothing, or is a mistake that the operator wants to hear of.
fn svg(text: &str) -> Result<(), &'static str> {
    let low = text.to_ascii_lowercase();
    let root = past_prolog(low.trim_start_matches('\u{feff}'));
    let is_svg = root
        .strip_prefix("<svg")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/'));
    if !is_svg {
        return Err(NEITHER);
    }
    if !low.contains("http://www.w3.org/2000/svg") {
        return Err("is an SVG without its namespace, which browsers do not show");
    }
    if ["<script", "<foreignobject", "<!entity", "javascript:"].iter().any(|part| low.contains(part)) {
        return Err("is an SVG with a script, an entity or foreign content in it");
    }
    Ok(())
}

/// Behind the XML declaration, comments and the document type.
fn past_prolog(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = [("<?", "?>"), ("<!--", "-->"), ("<!doctype", ">")]
            .into_iter()
            .find_map(|(begin, end)| text.strip_prefix(begin)?.split_once(end));
        match end {
            Some((_, rest)) => text = rest,
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    #[test]
    fn a_logo_is_what_its_bytes_say() {
        for svg in [
            "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            "\u{feff}<?xml version=\"1.0\"?>\n<!-- by hand -->\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \
             \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n<svg xmlns='http://www.w3.org/2000/svg'></svg>",
        ] {
            let logo = Logo::of(svg.as_bytes().to_vec()).unwrap();
            assert_eq!(logo.kind, LogoType::Svg);
            assert!(logo.path.starts_with("/static/logo.") && logo.path.ends_with(".svg"));
        }
        assert_eq!(Logo::of(png_of(64, 1024)).unwrap().kind, LogoType::Png);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let with =
            |inner: &str| format!("<svg xmlns=\"http://www.w3.org/2000/svg\">{inner}</svg>").into_bytes();
        for bytes in [
            Vec::new(),
            b"GIF89a".to_vec(),
            b"<html><svg xmlns=\"http://www.w3.org/2000/svg\"/></html>".to_vec(),
            b"<svgx xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
            b"<svg/>".to_vec(),
            b"\xff<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
            with("<SCRIPT>alert(1)</SCRIPT>"),
            with("<foreignObject/>"),
            with("<a href=\"javascript:alert(1)\"/>"),
            [b"<!DOCTYPE svg [<!ENTITY a \"b\">]>".to_vec(), with("&a;")].concat(),
            b"\x89PNG\r\n\x1a\n".to_vec(),
            png_of(0, 10),
            png_of(10, 1025),
        ] {
            assert!(Logo::of(bytes.clone()).is_err(), "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_big_file_is_not_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logo.svg");
        let text = format!("<svg xmlns=\"http://www.w3.org/2000/svg\"/>{}", " ".repeat(64 * 1024));
        fs::write(&path, text).unwrap();
        assert!(Logo::read(&path).unwrap_err().contains("64 KiB"));
        assert!(Logo::read(&dir.path().join("none")).unwrap_err().contains("cannot be read"));
        assert!(Logo::read(dir.path()).is_err());
    }
}
