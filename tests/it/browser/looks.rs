//! What every page looks like, measured in a real browser: at a phone's width, light and dark, with names that somebody
//! chose to be in the way, and with letters of twice the size.
//!
//! WCAG 2.2: 1.3.1 and 4.1.2 (labels), 1.4.3 (contrast), 1.4.4 and 1.4.10 (resize, reflow), 2.4.3 (focus), 2.5.8
//! (targets), 3.3.1 (errors).

use std::{fs, path::Path};

use consentry::web::{
    assets,
    pages::sample::{Names, pages},
};
use serde_json::{Value, json};

use super::driver::{Browsers, Profile};

/// The narrowest screen that pages are made for, in CSS pixels.
const WIDTH: u32 = 320;

/// A name of many words, and one that nothing breaks.
const LONG: &str = "The International Society for the Promotion of Extraordinarily Long Names, Limited";
const UNBROKEN: &str = "averyveryverylonghostnamethatnothingbreaks.subdomain.of.customers.example.com";
/// From right to left, with digits and Latin in it.
const RIGHT_TO_LEFT: &str = "شركة الأمثلة المحدودة (123) – octocat";

/// What is wrong with the page that is shown, each in a few words.
const LOOK: &str = r#"
const wrong = [];
for (const part of document.querySelectorAll("details")) part.open = true;
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) wrong.push("wider than the screen");
for (const part of document.querySelectorAll("body *")) {
  const box = part.getBoundingClientRect();
  if (box.width && (box.right > width + 1 || box.left < -1)) wrong.push("beyond the edge: " + part.tagName);
}
for (const part of document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")) {
  const box = (part.type === "radio" ? part.closest("label") : part).getBoundingClientRect();
  if (box.height < 24 || box.width < 24) wrong.push("a small target: " + part.textContent.trim());
}
for (const part of document.querySelectorAll("input:not([type=hidden]), select")) {
  if (!part.labels.length) wrong.push("without a label: " + part.name);
}
for (const part of document.querySelectorAll("[aria-invalid]")) {
  const told = (part.getAttribute("aria-describedby") || "").split(" ").map(id => document.getElementById(id));
  if (!told.some(one => one && one.className === "problem")) wrong.push("not said what is wrong: " + part.name);
}
const summary = document.querySelector(".wrong");
if (summary && document.activeElement !== summary) wrong.push("the errors have not the focus");
let last = 0;
for (const part of document.querySelectorAll("h1, h2, h3")) {
  const level = Number(part.tagName[1]);
  if (level > last + 1) wrong.push("a heading is left out before " + part.textContent);
  last = level;
}
const parts = colour => colour.match(/[\d.]+/g).map(Number);
const light = colour => {
  const [red, green, blue] = parts(colour).map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ground = part => {
  for (let one = part; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (parts(colour)[3] !== 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
for (const part of document.querySelectorAll("body *")) {
  const own = [...part.childNodes].some(one => one.nodeType === 3 && one.textContent.trim());
  if (!own || !part.getClientRects().length) continue;
  const [one, other] = [light(getComputedStyle(part).color), light(ground(part))];
  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (contrast < 4.5) wrong.push("hard to read (" + contrast.toFixed(1) + "): " + part.textContent.trim());
}
return wrong;
"#;

/// Writes the pages into a folder, as a browser reads them from a disk.
fn write(folder: &Path, names: &Names) -> Vec<String> {
    fs::create_dir_all(folder.join("static")).unwrap();
    let stylesheet = assets::stylesheet();
    fs::write(folder.join(stylesheet.path.trim_start_matches('/')), stylesheet.bytes).unwrap();
    let write = |(file, page): (&str, Box<dyn consentry::web::pages::Page>)| {
        let html = page.html().unwrap().replace("\"/static/", "\"static/");
        // It must stay to be looked at.
        let html = html.replace("http-equiv=\"refresh\"", "http-equiv=\"x\"");
        fs::write(folder.join(format!("{file}.html")), html).unwrap();
        file.to_owned()
    };
    pages(names).into_iter().map(write).collect()
}

async fn scheme(browser: &Profile, scheme: &str) {
    let wanted = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
    browser.devtools("Emulation.setEmulatedMedia", wanted).await;
}

/// Looks at every page; `size` is that of its letters.
async fn look(browser: &Profile, names: &Names, schemes: &[&str], size: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for file in write(folder.path(), names) {
        browser.open(&format!("file://{}/{file}.html", folder.path().display())).await;
        for one in schemes {
            scheme(browser, one).await;
            let script = format!("document.documentElement.style.fontSize = '{size}';{LOOK}");
            let wrong: Value = browser.run(&script).await;
            if wrong.as_array().is_none_or(|wrong| !wrong.is_empty()) {
                found.push(format!("{file} ({one}, {size}): {wrong}"));
            }
        }
    }
    found
}

async fn phone() -> (Browsers, Profile) {
    let browsers = Browsers::start().await;
    let browser = browsers.open().await;
    let screen = json!({ "width": WIDTH, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    (browsers, browser)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_can_be_read_and_worked_on_a_phone() {
    let (_browsers, browser) = phone().await;
    let found = look(&browser, &Names::usual(), &["light", "dark"], "100%").await;
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_big_letters_break_no_page() {
    let (_browsers, browser) = phone().await;
    for (names, size) in [(LONG, "100%"), (UNBROKEN, "200%"), (RIGHT_TO_LEFT, "100%")] {
        let found = look(&browser, &Names::all(names), &["light"], size).await;
        assert!(found.is_empty(), "{names}: {found:#?}");
    }
}
