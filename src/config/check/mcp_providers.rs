//! `mcp` in a provider's table: a third-party MCP server, of which everything but its address is found out.

use super::Checker;
use crate::config::{Registration, ThirdPartyMcp, raw};

impl Checker<'_> {
    /// Takes the keys out of a provider's table, and refuses what would be found out.
    pub(super) fn third_party_mcp(&mut self, at: &str, raw: &mut raw::Provider) -> Option<ThirdPartyMcp> {
        let (registration, token) = (raw.registration.take(), raw.registration_token.take());
        let Some(text) = raw.mcp.take() else {
            for (key, stands) in
                [("registration", registration.is_some()), ("registration_token", token.is_some())]
            {
                self.demand(!stands, format!("{at}.{key}"), "goes with mcp alone");
            }
            return None;
        };
        self.found_out(at, raw);
        let registration = registration.unwrap_or_default();
        if registration != Registration::Static {
            for (key, stands) in [
                ("client_secret", raw.client_secret.is_some()),
                ("client_key", raw.client_key.is_some()),
                ("client_authentication", raw.client_authentication.is_some()),
            ] {
                let problem = "has no use: by this registration the client is not the operator's";
                self.demand(!stands, format!("{at}.{key}"), problem);
            }
        }
        // The MCP server says whom the secret would be sent to, and it may say another one tomorrow (R63).
        let bound = raw.client_secret.is_none() || raw.issuer.is_some();
        self.demand(
            bound || registration != Registration::Static,
            format!("{at}.issuer"),
            "is needed beside a client_secret: it says whom the secret is for",
        );
        let key = format!("{at}.registration_token");
        let dynamic = token.is_none() || registration == Registration::Dynamic;
        self.demand(dynamic, &key, "needs registration = \"dynamic\"");
        let problem = "is needed beside a registration_token: it says whom the token is for";
        let bound = token.is_none() || raw.issuer.is_some();
        self.demand(bound || registration != Registration::Dynamic, format!("{at}.issuer"), problem);
        let registration_token = token.and_then(|source| {
            let token = source.read(&key, self.environment, self.loopback, self.findings)?;
            self.seen.note(&key, &token);
            Some(token)
        });
        let key = format!("{at}.mcp");
        let url = self.endpoint(&key, &text)?;
        let plain = url.query().is_none() && url.username().is_empty() && url.password().is_none();
        self.demand(plain && !text.contains('{'), key, "must have no query, no user name and no braces");
        raw.usage.get_or_insert_default().base_url.get_or_insert_with(|| text.clone());
        Some(ThirdPartyMcp { url, text, registration, registration_token, documents: String::new() })
    }

    /// What cannot be said of it here.
    fn found_out(&mut self, at: &str, raw: &raw::Provider) {
        for (key, stands) in [
            ("authorization_endpoint", raw.authorization_endpoint.is_some()),
            ("token_endpoint", raw.token_endpoint.is_some()),
            ("refresh_endpoint", raw.refresh_endpoint.is_some()),
            ("revocation_endpoint", raw.revocation_endpoint.is_some()),
            ("userinfo_endpoint", raw.userinfo_endpoint.is_some()),
            ("revocation", raw.revocation.is_some()),
            ("renewal", raw.renewal.is_some()),
            ("token_steps", !raw.token_steps.is_empty()),
            ("resource", !raw.resource.is_empty()),
        ] {
            self.demand(!stands, format!("{at}.{key}"), "does not go with mcp, from which it is found out");
        }
        // MCP, "Authorization Code Protection": no client goes on without it.
        self.demand(raw.pkce, format!("{at}.pkce"), "cannot be false with mcp");
    }

    /// The client's id, where it is the operator's.
    pub(super) fn client_id(
        &mut self,
        at: &str,
        client_id: Option<String>,
        mcp: Option<&ThirdPartyMcp>,
    ) -> String {
        let key = format!("{at}.client_id");
        let own = mcp.is_none_or(|mcp| mcp.registration == Registration::Static);
        match client_id {
            Some(id) if own => {
                self.text(&key, &id);
                id
            }
            Some(_) => {
                self.refuse(key, "has no use: by this registration the client is not the operator's");
                String::new()
            }
            None => {
                self.demand(!own, key, "is missing");
                String::new()
            }
        }
    }
}
