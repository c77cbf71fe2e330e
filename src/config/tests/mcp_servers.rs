//! `[[mcp_servers]]`: what owners do not share, and users who are known by codes.

use super::*;

/// R62: a provider is one registration, which owners do not share. R103: nor is a key shared.
#[test]
fn r62_servers_of_different_owners_share_nothing() {
    let world = World::new().set("OTHER_API_KEY", Random.secret().expose());
    let second = |owner: &str, key: &str| {
        format!(
            "{BASE}[[mcp_servers]]\nid = \"notes\"\nname = \"Notes\"\nresource = \"https://notes.example.com/mcp\"\n\
             authorization_server = \"main\"\nproviders = [\"acme\"]\napi_keys = [{{ env = \"{key}\" }}]\n{owner}\n"
        )
    };
    world.load(&second("", "OTHER_API_KEY")).unwrap();
    assert_eq!(world.refused(&second("owner = \"b\"", "OTHER_API_KEY")), ["mcp_servers[1].providers[0]"]);
    // A second entry for the same client at the same issuer is the same registration.
    let entry = &BASE[BASE.find("[[providers]]").unwrap()..];
    let again = second("owner = \"b\"", "OTHER_API_KEY");
    let again = again.replacen(BASE, "", 1).replace("\"acme\"", "\"acme-too\"");
    let again = format!("{BASE}{}{again}", entry.replace("\"acme\"", "\"acme-too\""));
    assert_eq!(world.refused(&again), ["mcp_servers.notes.providers.acme-too"]);
    assert_eq!(world.refused(&second("", "FILES_API_KEY")), ["mcp_servers[1].api_keys[0]"]);
    assert_eq!(world.refused(&second("", "GITHUB_CLIENT_SECRET")).len(), 1);
    assert_eq!(
        world.refused(&second("", "OTHER_API_KEY").replace("\"notes\"", "\"files\"")),
        ["mcp_servers[1].id"]
    );
}

#[test]
fn with_codes_a_server_names_its_own_users() {
    let world = World::new();
    let coded = BASE.replace("authorization_server = \"main\"", "identity = \"code\"");
    let settings = world.load(&coded).unwrap();
    let server = &settings.mcp_servers[0];
    assert_eq!((server.identity, &server.authorization_server), (BrowserIdentity::Code, &None));
    assert_eq!(server.own_issuer, format!("urn:consentry:mcp-server:{}", server.id));
    // With an authorization server, its users are that one's, codes or not.
    let both = BASE
        .replace("authorization_server = \"main\"", "authorization_server = \"main\"\nidentity = \"code\"");
    assert_eq!(world.load(&both).unwrap().mcp_servers[0].authorization_server.as_deref(), Some("main"));
    assert_eq!(world.load(BASE).unwrap().mcp_servers[0].identity, BrowserIdentity::SignIn);
    assert_eq!(world.refused(&coded.replace("\"code\"", "\"canary\"")).len(), 1);
}
