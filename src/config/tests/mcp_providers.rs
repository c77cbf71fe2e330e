//! Third-party MCP servers as providers: what goes with `mcp`, and what does not.

use super::*;
use crate::config::Registration;

fn table(keys: &str) -> String {
    format!("[[providers]]\nid = \"tools\"\n{keys}\n")
}

fn mcp(keys: &str) -> String {
    table(&format!("mcp = \"https://tools.example/mcp\"\n{keys}"))
}

#[test]
fn each_way_of_registering_is_read() {
    let world = World::new();
    for (keys, how) in [
        ("client_id = \"c\"", Registration::Static),
        ("registration = \"client_id_metadata_document\"", Registration::ClientIdMetadataDocument),
        ("registration = \"dynamic\"\nissuer = \"https://id.example\"", Registration::Dynamic),
    ] {
        let settings = world.load(&mcp(keys)).unwrap();
        let provider = &settings.providers[0];
        let third = provider.mcp.as_ref().unwrap();
        assert_eq!(third.registration, how);
        let id = settings.public_url.join("/client-metadata/files/tools");
        assert_eq!(third.document("files", "tools"), id);
        let base = provider.usage.as_ref().unwrap().base_url.as_ref().unwrap().text();
        assert_eq!(base, "https://tools.example/mcp");
    }
    let own = "client_id = \"c\"\nuse = { base_url = \"https://tools.example/other\" }";
    let usage = world.load(&mcp(own)).unwrap().providers.remove(0).usage.unwrap();
    assert_eq!(usage.base_url.unwrap().text(), "https://tools.example/other");
}

#[test]
fn what_is_found_out_is_not_written() {
    let world = World::new();
    for (key, value) in [
        ("authorization_endpoint", "\"https://tools.example/a\""),
        ("token_endpoint", "\"https://tools.example/t\""),
        ("refresh_endpoint", "\"https://tools.example/t\""),
        ("revocation_endpoint", "\"https://tools.example/r\""),
        ("userinfo_endpoint", "\"https://tools.example/u\""),
        ("resource", "[\"https://tools.example/mcp\"]"),
        ("pkce", "false"),
    ] {
        let refused = world.refused(&mcp(&format!("client_id = \"c\"\n{key} = {value}")));
        assert_eq!(refused, [format!("providers[0].{key}")], "{key}");
    }
}

#[test]
fn a_client_is_the_operators_or_it_is_not() {
    let world = World::new();
    assert_eq!(world.refused(&mcp("")), ["providers[0].client_id"]);
    for (keys, refused) in [
        ("registration = \"dynamic\"\nclient_id = \"c\"", "client_id"),
        ("registration = \"dynamic\"\nclient_authentication = \"none\"", "client_authentication"),
        (
            "registration = \"client_id_metadata_document\"\nregistration_token = { value = \"a-token-of-sixteen\" }",
            "registration_token",
        ),
        ("client_id = \"c\"\nregistration_token = { value = \"a-token-of-sixteen\" }", "registration_token"),
        ("registration = \"canary\"", "registration"),
    ] {
        assert_eq!(world.refused(&mcp(keys)), [format!("providers[0].{refused}")], "{keys}");
    }
    let plain = table("client_id = \"c\"\nissuer = \"https://a.example\"\nregistration = \"dynamic\"");
    assert_eq!(world.refused(&plain), ["providers[0].registration"]);
}

/// R63: a secret goes to the authorization server that it is for, whatever the MCP server says one day.
#[test]
fn r63_a_secret_is_for_one_issuer() {
    let world = World::new();
    let secret = "client_id = \"c\"\nclient_secret = { env = \"GITHUB_CLIENT_SECRET\" }";
    assert_eq!(world.refused(&mcp(secret)), ["providers[0].issuer"]);
    assert!(world.load(&mcp(&format!("{secret}\nissuer = \"https://id.example\""))).is_ok());
    let token = "registration = \"dynamic\"\nregistration_token = { env = \"GITHUB_CLIENT_SECRET\" }";
    assert_eq!(world.refused(&mcp(token)), ["providers[0].issuer"]);
    assert!(world.load(&mcp(&format!("{token}\nissuer = \"https://id.example\""))).is_ok());
}

/// R73.
#[test]
fn r73_the_server_is_at_an_address_that_is_called() {
    let world = World::new();
    for bad in [
        "http://tools.example/mcp",
        "https://10.0.0.1/mcp",
        "https://tools.example/mcp?x=1",
        "https://tools.example/mcp#x",
        "https://user@tools.example/mcp",
        "https://tools.example/{name}",
        "tools",
    ] {
        let refused = world.refused(&table(&format!("mcp = \"{bad}\"\nclient_id = \"c\"")));
        assert!(refused.contains(&"providers[0].mcp".to_owned()), "{bad}: {refused:?}");
    }
}
