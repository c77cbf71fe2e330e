//! The kinds of `[[providers]]`, and what is refused of a form.

use super::*;

const FORM: &str = r#"
[[providers]]
kind = "secret"
id = "keyed"
name = "Keyed"
fields = [
    { name = "subdomain", label = "Subdomain", secret = false },
    { name = "token", label = "Token", pattern = "^tok_", wrong = [{ pattern = "^pk_", advice = "Not this one." }] },
]
use = { base_url = "https://{subdomain}.keyed.example/api", basic = { username = "{subdomain}/token", password = "{token}" } }
probe = { url = "https://{subdomain}.keyed.example/api/me", id = "user.id", label = "user.email" }
"#;

fn without(part: &str, by: &str) -> String {
    assert!(FORM.contains(part), "{part}");
    FORM.replace(part, by)
}

#[test]
fn a_form_is_read_and_shares_the_ids_of_all_kinds() {
    let world = World::new();
    let settings = world.load(FORM).unwrap();
    let form = &settings.secret_forms[0];
    assert!(form.fields[0].in_host && !form.fields[1].in_host && form.fields[1].secret);
    assert_eq!(form.usage.basic.as_ref().unwrap().0.text(), "{subdomain}/token");
    assert_eq!(form.probe.as_ref().unwrap().rejected, [401, 403]);
    assert_eq!(settings.named().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["keyed"]);
    let oauth = "\n[[providers]]\nid = \"keyed\"\nclient_id = \"c\"\nissuer = \"https://a.example\"\n";
    assert_eq!(world.refused(&format!("{FORM}{oauth}")), ["providers[1].id"]);
}

#[test]
fn a_kind_that_is_none_is_told_and_keys_of_another_are_refused() {
    let world = World::new();
    assert_eq!(world.refused(&without("\"secret\"", "\"canary\"")), ["providers[0].kind"]);
    assert_eq!(
        world.refused(&without("name = \"Keyed\"", "client_id = \"canary\"")),
        ["providers[0].client_id"]
    );
    let oauth =
        "[[providers]]\nkind = \"oauth2\"\nid = \"a\"\nclient_id = \"c\"\nissuer = \"https://a.example\"\n";
    assert_eq!(world.load(oauth).unwrap().providers.len(), 1);
    assert_eq!(world.refused(&format!("{oauth}fields = []\n")), ["providers[0].fields"]);
}

/// What goes into a host must be bounded, and no secret.
#[test]
fn a_field_in_a_host_is_bounded() {
    let world = World::new();
    let anywhere = without("{subdomain}.keyed.example/api\"", "{subdomain}/api\"");
    assert_eq!(world.refused(&anywhere), ["providers[0].fields[0]"]);
    for bound in [
        "suffixes = [\".keyed.example\"]",
        "choices = { \"eu.keyed.example\" = \"Europe\" }",
        "pattern = \"[a-z]+\\\\.keyed\\\\.example\"",
    ] {
        let text = anywhere.replace("secret = false", &format!("secret = false, {bound}"));
        world.load(&text).unwrap_or_else(|errors| panic!("{bound}: {errors:?}"));
    }
    // A top-level domain bounds nothing, nor does a suffix without a dot.
    let wide = FORM.replace(".keyed.example/api\"", ".example/api\"");
    assert_eq!(world.refused(&wide), ["providers[0].fields[0]"]);
    let loose = FORM.replace("{subdomain}.keyed.example", "{subdomain}keyed.example");
    assert_eq!(world.refused(&loose), ["providers[0].fields[0]"]);
    assert_eq!(world.refused(&without(", secret = false", "")), ["providers[0].fields[0].secret"]);
    // A pattern that closes the group it is put into would hold for a part alone.
    let open = anywhere.replace("secret = false", "secret = false, pattern = \"a)|(b\"");
    assert!(world.refused(&open).contains(&"providers[0].fields[0].pattern".to_owned()));
}

const PAGE: &str = r#"
[[providers]]
kind = "redirect"
id = "checkout"
name = "Checkout"
url = "https://files.example/checkout?shop=main"
what = "You pay there."
manage_url = "https://files.example/orders"
"#;

#[test]
fn a_page_is_read_and_its_query_is_kept() {
    let world = World::new();
    let settings = world.load(PAGE).unwrap();
    let page = &settings.hosted_pages[0];
    assert_eq!(page.url.as_str(), "https://files.example/checkout?shop=main");
    assert_eq!((page.name.as_str(), page.what.as_deref()), ("Checkout", Some("You pay there.")));
    assert_eq!(settings.named().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["checkout"]);
    assert_eq!(
        world.refused(&format!("{PAGE}{}", FORM.replace("\"keyed\"", "\"checkout\""))),
        ["providers[1].id"]
    );
}

#[test]
fn what_a_page_cannot_be_is_refused() {
    let world = World::new();
    let with = |url: &str| PAGE.replace("https://files.example/checkout?shop=main", url);
    for url in [
        "http://files.example/checkout",
        "https://files.example/checkout#pay",
        "https://user@files.example/checkout",
        "https://10.0.0.1/checkout",
        "https://files.example/checkout?code=1",
        "https://files.example/checkout?a=b&st%61te=1",
        "https://files.example/checkout?redirect_uri=https://files.example",
        "javascript:alert(1)",
        "checkout",
    ] {
        assert_eq!(world.refused(&with(url)), ["providers[0].url"], "{url}");
    }
    for (part, by, key) in [
        ("name = \"Checkout\"", "name = \"\"", "name"),
        ("what = \"You pay there.\"", "what = \"\"", "what"),
        ("https://files.example/orders", "http://files.example/orders", "manage_url"),
        ("what = ", "scopes = []\nwhat = ", "scopes"),
        ("id = \"checkout\"", "id = \"Check out\"", "id"),
    ] {
        assert_eq!(world.refused(&PAGE.replace(part, by)), [format!("providers[0].{key}")], "{by}");
    }
    assert!(world.refused("[[providers]]\nkind = \"redirect\"\nid = \"a\"\n")[0].starts_with("providers[0]"));
}

#[test]
fn what_a_form_cannot_be_is_refused() {
    let world = World::new();
    for (part, by, key) in [
        ("name = \"token\"", "name = \"csrf\"", "fields[1].name"),
        ("name = \"token\"", "name = \"Token\"", "fields[1].name"),
        ("name = \"token\"", "name = \"subdomain\"", "fields[1].name"),
        ("pattern = \"^tok_\"", "pattern = \"(\"", "fields[1].pattern"),
        ("pattern = \"^pk_\"", "pattern = \"(\"", "fields[1].wrong[0].pattern"),
        ("{token}\" }", "{other}\" }", "use.basic.password"),
        ("{subdomain}/token\"", "{subdomain}:token\"", "use.basic.username"),
        ("secret = false }", "secret = false, optional = true }", "use.base_url"),
        ("https://{subdomain}.keyed.example/api/me", "http://{subdomain}.keyed.example/me", "probe.url"),
        ("label = \"user.email\"", "label = \"user.email\", rejected = [200]", "probe.rejected"),
        ("label = \"user.email\"", "label = \"x\", body = \"{token}\"", "probe.body"),
        ("label = \"user.email\"", "label = \"x\", headers = { Host = \"a\" }", "probe.headers"),
    ] {
        let key = format!("providers[0].{key}");
        let refused = world.refused(&without(part, by));
        assert!(refused.contains(&key), "{by}: {refused:?}");
    }
}

#[test]
fn a_token_is_used_by_what_is_known_of_it() {
    let world = World::new();
    let oauth = |usage: &str| {
        format!(
            "[[providers]]\nid = \"a\"\nclient_id = \"c\"\nissuer = \"https://a.example\"\nuse = {usage}\n"
        )
    };
    let settings =
        world.load(&oauth("{ headers = { X-Token = \"{access_token}\" }, query = { c = \"{client_id}\" } }"));
    assert_eq!(settings.unwrap().providers[0].usage.as_ref().unwrap().templates().count(), 2);
    let refused = world.refused(&oauth("{ headers = { Authorization = \"{refresh_token}\" } }"));
    assert_eq!(refused, ["providers[0].use.headers"]);
}

/// A logo is for any kind, is read at start, and is refused by its key.
#[test]
fn a_logo_is_for_any_kind() {
    let world = World::new();
    let logo = |file: &str| format!("name = \"Keyed\"\nlogo = \"{}\"", world.path(file));
    let settings = world.load(&without("name = \"Keyed\"", &logo("acme.svg"))).unwrap();
    let logo_of_keyed = &settings.logos[&settings.secret_forms[0].id];
    assert_eq!(logo_of_keyed.kind, LogoType::Svg);
    let settings = world.load(&with("[[providers]]", &logo("acme.svg").replace("Keyed", "Acme"))).unwrap();
    assert_eq!(settings.logos.len(), 1);
    let page = PAGE.replace("name = \"Checkout\"", &logo("acme.svg").replace("Keyed", "Checkout"));
    let settings = world.load(&page).unwrap();
    assert!(settings.logos.contains_key(&settings.hosted_pages[0].id));
    for (file, bytes) in [("canary.gif", b"GIF89a canary".to_vec()), ("canary.svg", vec![b' '; 65 * 1024])] {
        fs::write(world.path(file), bytes).unwrap();
        let errors = world.load(&without("name = \"Keyed\"", &logo(file))).unwrap_err();
        assert_eq!(errors[0].key, "providers[0].logo");
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
}
