//! The MCP server, with the real Example ID in front and the played Consentry behind.

use std::time::Duration;

use consentry_client::Prefer;
use consentry_fakes::{AuthorizationServer, Forge, Listen};
use demo::mcp_server::{Bound, McpServer, Settings};

use crate::client::{Client, Person, connect};
use crate::played::Consentry;

pub(crate) struct Stand {
    pub(crate) id: AuthorizationServer,
    pub(crate) consentry: Consentry,
    pub(crate) server: McpServer,
}

impl Stand {
    pub(crate) async fn new() -> Self {
        Self::waiting(Duration::from_secs(60)).await
    }

    /// With calls that wait so long for the user.
    pub(crate) async fn waiting(patience: Duration) -> Self {
        let id = AuthorizationServer::start(Listen::default()).await.unwrap();
        let consentry = Consentry::start().await;
        let bound = Bound::to("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let settings = Settings {
            issuer: id.base_url().to_owned(),
            consentry: consentry.url.clone(),
            api_key: "the API key".to_owned(),
            files: consentry.url.clone(),
            patience,
            prefer: Prefer::default(),
        };
        Self { id, consentry, server: bound.serve(settings).unwrap() }
    }

    pub(crate) fn token(&self, person: &str) -> String {
        self.id.access_token_for(person, &self.server.url()).unwrap()
    }

    pub(crate) fn forged(&self, forge: &Forge) -> String {
        self.id.forged_access_token("alice", &self.server.url(), forge).unwrap()
    }

    pub(crate) async fn client(&self, person: Person) -> Client {
        connect(&self.server.url(), &self.token("alice"), person).await
    }
}
