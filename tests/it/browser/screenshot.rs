//! What pages look like, kept for people to judge; only when they ask for it.

use std::{fs, path::PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;

use super::driver::Profile;

/// A phone, in CSS pixels.
const WIDTH: u32 = 360;
const HEIGHT: u32 = 740;

/// Keeps the page that is shown, under its name, light and dark.
pub(super) async fn keep(browser: &Profile, page: &str) {
    let Some(folder) = folder() else { return };
    fs::create_dir_all(&folder).unwrap();
    let screen = json!({ "width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 2, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    for scheme in ["light", "dark"] {
        let wanted = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", wanted).await;
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        let taken = browser.devtools("Page.captureScreenshot", whole).await;
        let png = BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        fs::write(folder.join(format!("{page}-{scheme}.png")), png).unwrap();
    }
}

fn folder() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "whoever wants pictures says here where")]
    std::env::var("CONSENTRY_TEST_SCREENSHOTS").ok().map(PathBuf::from)
}
