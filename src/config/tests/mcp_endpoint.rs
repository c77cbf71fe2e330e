//! `[mcp]`: whose tokens the endpoint of our own takes, and whose MCP servers it offers.

use super::*;

/// An owner's users do not find another owner's MCP servers at the endpoint, nor are they led to connect for them.
#[test]
fn the_mcp_endpoint_is_one_owners() {
    let world = World::new().set("OTHER_API_KEY", Random.secret().expose());
    let (entry, second) = (&BASE[BASE.find("[[providers]]").unwrap()..], |lines: &str| {
        format!(
            "[[mcp_servers]]\nid = \"notes\"\nname = \"Notes\"\nresource = \"https://notes.example.com/mcp\"\n\
             providers = [\"acme-too\"]\napi_keys = [{{ env = \"OTHER_API_KEY\" }}]\n{lines}\n"
        )
    });
    let entry = entry.replace("\"acme\"", "\"acme-too\"").replace("\"consentry\"", "\"other\"");
    let two = |mcp: &str, lines: &str| {
        let base = with("[operator]", &format!("[mcp]\nenabled = true\n{mcp}"));
        format!("{base}{entry}{}", second(&format!("authorization_server = \"main\"\n{lines}")))
    };
    let offered = |text: &str| {
        let settings = world.load(text).unwrap();
        let endpoint = settings.mcp.unwrap();
        let servers = settings.mcp_servers.iter().filter(|server| endpoint.offers(server));
        servers.map(|server| server.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(offered(&two("", "")), ["files", "notes"]);
    assert_eq!(world.refused(&two("", "owner = \"b\"")), ["mcp.owner"]);
    assert_eq!(offered(&two("owner = \"b\"", "owner = \"b\"")), ["notes"]);
    assert_eq!(world.refused(&two("owner = \"canary\"", "owner = \"b\"")), ["mcp.owner"]);
    assert_eq!(world.refused(&two("owner = \"\"", "")), ["mcp.owner"; 2]);
    // One whose users do not sign in is not offered, whoever owns it.
    assert_eq!(offered(&two("", "owner = \"b\"\nidentity = \"code\"")), ["files"]);
    assert_eq!(world.refused(&two("owner = \"b\"", "owner = \"b\"\nidentity = \"code\"")), ["mcp.owner"]);
}

/// The endpoint of our own is off until somebody says otherwise, and takes tokens of one issuer that were made for it.
#[test]
fn the_mcp_endpoint_is_enabled_for_one_authorization_server() {
    let world = World::new();
    assert!(world.load(BASE).unwrap().mcp.is_none());
    let mcp = |lines: &str| with("[operator]", &format!("[mcp]\n{lines}"));
    let enabled = world.load(&mcp("enabled = true\nscope = \"connections\"")).unwrap().mcp.unwrap();
    assert_eq!((&*enabled.authorization_server, enabled.scope.as_deref()), ("main", Some("connections")));
    assert_eq!(enabled.legacy_links, Prefer::Request);
    let key = "mcp.authorization_server";
    assert_eq!(world.refused(&mcp("authorization_server = \"canary\"")), [key]);
    assert_eq!(world.refused(&mcp("enabled = true\nscope = \"a canary\"")), ["mcp.scope"]);
    assert_eq!(world.refused(&mcp("legacy_links = \"canary\"")), ["mcp.legacy_links"]);
    let second =
        "[[authorization_servers]]\nid = \"other\"\nissuer = \"https://other.example\"\nclient_id = \"c\"\n";
    assert_eq!(world.refused(&format!("{}{second}", mcp("enabled = true"))), [key]);
    let other = mcp("enabled = true\nauthorization_server = \"other\"");
    assert_eq!(world.refused(&format!("{other}{second}")), [key], "it names nobody's users");
    let same =
        mcp("enabled = true").replace("https://files.example.com/mcp", "https://connect.example.com/mcp");
    assert_eq!(world.refused(&same), ["mcp_servers.files.resource"]);
}
