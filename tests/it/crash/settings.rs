//! The settings file of a scene's servers: one MCP server with a webhook, one provider.

use crate::world::{FILES, ID};

use super::scene::SERVER;

/// What the file is made of. A test may change it between two starts.
pub(super) struct Plan {
    /// The public listener's port; the internal one has the next.
    pub(super) port: u16,
    pub(super) id: String,
    pub(super) files: String,
    pub(super) sink: String,
    /// Consentry's client secret everywhere.
    pub(super) secret: String,
    pub(super) api_key: String,
    pub(super) webhook_secret: String,
    /// The ring, by the keys' ids: the first seals. Each has a file `{id}.key`.
    pub(super) keys: Vec<String>,
    /// Requests in a second that the provider gets.
    pub(super) rate: u32,
    /// More sections.
    pub(super) more: String,
}

impl Plan {
    pub(super) fn public_url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// The whole file. The addresses to listen on come by the environment.
    pub(super) fn settings(&self, database: &str) -> String {
        let Self { id, files, sink, secret, api_key, webhook_secret, rate, more, .. } = self;
        let public_url = self.public_url();
        let keys: Vec<String> =
            self.keys.iter().map(|id| format!(r#"{{ id = "{id}", file = "{id}.key" }}"#)).collect();
        let keys = keys.join(", ");
        format!(
            r#"public_url = "{public_url}"

[database]
url = {{ value = '{database}' }}

[encryption]
keys = [{keys}]

[limits]
requests_per_minute = 100000
elicitations_per_minute = 10000

[log]
filter = "info"
{more}

[[authorization_servers]]
id = "{ID}"
name = "Example ID"
issuer = "{id}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}

[[mcp_servers]]
id = "{SERVER}"
name = "The files tools"
resource = "https://files.example/mcp"
authorization_server = "{ID}"
api_keys = [{{ value = "{api_key}" }}]
providers = ["{FILES}"]
webhook = {{ url = "{sink}/hook", secret = {{ value = "{webhook_secret}" }} }}

[[providers]]
id = "{FILES}"
name = "Example Files"
issuer = "{files}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}
scopes = ["files.read"]
probe = {{ url = "{files}/me", id = "id", label = "login" }}
requests_per_second = {rate}
concurrent_requests = 64
"#
        )
    }
}
