//! Logos that an operator gives: where they are shown, and how they are served.

use reqwest::Url;

use crate::{
    engine::Database,
    world::{Browser, FILES, Page, World},
};

on_both_engines! {
    r41_a_logo_is_an_image_of_its_own_and_nothing_else,
    a_provider_without_a_logo_has_a_letter,
}

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\"><style>path{fill:red}</style><path d=\"M0 0h8v8z\"/></svg>";
/// What comes first of a PNG of 8 pixels a side; nothing here draws it.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x06\0\0\0";

/// With an SVG for "Example Files", which is connected by OAuth, and a PNG for "Example Key", which is typed.
async fn world(db: Database) -> World {
    let directory = tempfile::tempdir().unwrap();
    let (svg, png) = (directory.path().join("files.svg"), directory.path().join("key"));
    std::fs::write(&svg, SVG).unwrap();
    std::fs::write(&png, PNG).unwrap();
    World::start_written(db, |text| {
        let id = format!("id = \"{FILES}\"");
        assert!(text.contains(&id));
        let text = text.replace(&id, &format!("{id}\nlogo = \"{}\"", svg.display()));
        let text = text.replace("providers = [", "providers = [\"example-key\", ");
        format!(
            "{text}\n[[providers]]\nkind = \"secret\"\nid = \"example-key\"\nname = \"Example Key\"\nlogo = \"{}\"\n\
             fields = [{{ name = \"key\", label = \"Key\" }}]\n",
            png.display()
        )
    })
    .await
}

/// Paths of the pictures on a page.
fn pictures(page: &Page) -> Vec<Url> {
    let found = page.html.split("<img src=\"").skip(1);
    found.map(|rest| page.url.join(rest.split('"').next().unwrap()).unwrap()).collect()
}

async fn opens(world: &World, provider: &str) -> Browser {
    let link = world.api("files").asks("alice", provider).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice
}

async fn r41_a_logo_is_an_image_of_its_own_and_nothing_else(db: Database) {
    let world = world(db).await;
    let mut alice = opens(&world, FILES).await;
    let [svg] = pictures(alice.page().is("ready")).try_into().unwrap();
    assert!(!alice.page().html.contains("M0 0h8v8z"), "it is never part of a page");
    let [png] = pictures(opens(&world, "example-key").await.page().is("secret-form")).try_into().unwrap();
    for (url, kind, bytes) in [(&svg, "image/svg+xml", SVG.as_bytes()), (&png, "image/png", PNG)] {
        let mut nobody = world.browser();
        let page = nobody.opens(url.as_str()).await;
        assert_eq!(page.status.as_u16(), 200);
        assert_eq!(page.header("content-type"), kind);
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(page.header("cache-control"), "public, max-age=31536000, immutable");
        let policy = page.header("content-security-policy");
        for part in ["default-src 'none'", "sandbox", "frame-ancestors 'none'", "form-action 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("script") && !policy.contains("allow-"), "{policy}");
        assert_eq!(page.html.len(), String::from_utf8_lossy(bytes).len());
        assert!(!page.headers.contains_key("set-cookie"));
    }
    // An older or a guessed hash is not found, and neither is the file's name.
    for path in
        ["/static/logo.0123456789abcdef.svg", "/static/files.svg", "/static/logo.svg", "/static/../key"]
    {
        let page = alice.opens(&format!("{}{path}", world.public_url)).await;
        assert_eq!(page.is("not-found").status.as_u16(), 404, "{path}");
    }
    let other = svg.as_str().replace(".svg", ".png");
    assert_eq!(alice.opens(&other).await.is("not-found").status.as_u16(), 404);
    // And on the pages of what is connected.
    let mut alice = opens(&world, FILES).await;
    alice.connects("octocat").await.is("connected");
    let list = alice.opens(&format!("{}/connections", world.public_url)).await;
    assert_eq!(pictures(list.is("connections")), std::slice::from_ref(&svg));
    let one = list.links().into_iter().find(|(url, _)| url.path().starts_with("/connections/")).unwrap().0;
    let one = alice.clicks(one).await;
    assert_eq!(pictures(one.is("connection")), [svg]);
}

async fn a_provider_without_a_logo_has_a_letter(db: Database) {
    let world = World::start(db).await;
    let alice = opens(&world, FILES).await;
    let page = alice.page().is("ready");
    assert!(pictures(page).is_empty());
    assert!(page.html.contains("aria-hidden=\"true\" translate=\"no\">E</span>"), "{}", page.html);
}
