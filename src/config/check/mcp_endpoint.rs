//! `[mcp]`: the endpoint of our own.

use std::collections::BTreeSet;

use super::{Checker, Declared};
use crate::{
    config::{McpEndpoint, McpServer, raw},
    scope::Scopes,
};

const SERVER: &str = "mcp.authorization_server";
const OWNER: &str = "mcp.owner";

impl Checker<'_> {
    /// The endpoint, where it is enabled. What stands there is checked all the same.
    pub(super) fn mcp_endpoint(
        &mut self,
        raw: raw::Mcp,
        resource: &str,
        declared: &Declared,
        servers: &[McpServer],
    ) -> Option<McpEndpoint> {
        if let Some(id) = &raw.authorization_server {
            let known = declared.authorization_servers.contains(id);
            self.demand(known, SERVER, "names no [[authorization_servers]] entry");
        }
        if let Some(scope) = &raw.scope {
            let fits = Scopes::new([scope.as_str()]).is_ok();
            self.demand(fits, "mcp.scope", "is not a scope (RFC 6749, section 3.3)");
        }
        if let Some(owner) = &raw.owner {
            self.text(OWNER, owner);
        }
        if !raw.enabled {
            return None;
        }
        for server in servers.iter().filter(|server| server.resource == resource) {
            let key = format!("mcp_servers.{}.resource", server.id);
            // A token that was given to that MCP server would be good here too.
            self.refuse(key, "is the resource of [mcp] as well; give the MCP server its own");
        }
        let authorization_server = match (&raw.authorization_server, &*declared.authorization_servers) {
            (Some(id), _) => id.clone(),
            (None, [only]) => only.clone(),
            (None, _) => {
                self.refuse(SERVER, "must name the one whose access tokens are taken");
                return None;
            }
        };
        let offered: Vec<_> =
            servers.iter().filter(|server| server.signs_in_at(&authorization_server)).collect();
        self.demand(
            !offered.is_empty(),
            SERVER,
            "is that of no [[mcp_servers]] entry, so that nothing can be connected",
        );
        let owners: BTreeSet<_> = offered.iter().map(|server| server.owner.as_deref()).collect();
        match raw.owner.as_deref() {
            // One owner's users would find the other's MCP servers there, and could be led to connect for them.
            None => self.demand(
                owners.len() <= 1,
                OWNER,
                "must name one: the [[mcp_servers]] whose users sign in there have several (those without `owner` have one in \
                 common; to choose them, name it with each)",
            ),
            Some(_) if offered.is_empty() => {}
            owner => self.demand(
                owners.contains(&owner),
                OWNER,
                "is that of no [[mcp_servers]] entry whose users sign in there",
            ),
        }
        let raw::Mcp { scope, owner, legacy_links, .. } = raw;
        Some(McpEndpoint { authorization_server, scope, owner, legacy_links })
    }
}
