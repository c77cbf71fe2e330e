//! Somebody else's MCP server as a provider: how it is found out, how our client comes to be known there, and what is
//! never sent where.
//!
//! "Example Tools" takes tokens of an authorization server of its own, beside the one that the users of these worlds sign
//! in at.

mod changes;
mod faults;
mod ordinary;
mod registrations;

use std::net::Ipv4Addr;

use consentry::config::Settings;
use consentry_fakes::{AuthorizationServer, Client, Listen, McpServer, Refresh};
use serde_json::Value;

use crate::{
    engine::Database,
    world::{Browser, Link, World},
};

/// The provider's id.
const TOOLS: &str = "tools";
/// The operator's client, where it is registered by hand.
const SECRET: &str = "a-secret-of-tools-and-nobody-else";

/// The three ways of being known.
const STATIC: &str = "issuer = \"{issuer}\"\nclient_id = \"by-hand\"\nclient_secret = { value = \"a-secret-of-tools-and-nobody-else\" }";
const DOCUMENT: &str = "registration = \"client_id_metadata_document\"";
const DYNAMIC: &str = "registration = \"dynamic\"";

/// Everybody, the third party's MCP server and its authorization server.
struct Stand {
    world: World,
    tools: McpServer,
    third: AuthorizationServer,
}

async fn listening(last: u8) -> AuthorizationServer {
    let server = AuthorizationServer::start(Listen::on(Ipv4Addr::new(127, 0, 0, last))).await.unwrap();
    server.configure(|settings| settings.refresh = Refresh::Strict);
    server
}

impl Stand {
    /// With these keys in the provider's table; `{issuer}` is the authorization server's.
    async fn with(db: Database, keys: &str) -> Self {
        Self::changed(db, keys, |_| ()).await
    }

    /// The same, with settings of the test's own.
    async fn changed(db: Database, keys: &str, change: impl Fn(&mut Settings)) -> Self {
        let third = listening(7).await;
        let tools = McpServer::start(Listen::on(Ipv4Addr::new(127, 0, 0, 8)), &third).await.unwrap();
        third.configure_identity(|identity| identity.resources = Some(vec![tools.url()]));
        let keys = keys.replace("{issuer}", third.base_url());
        let table = format!(
            "\n[[providers]]\nid = \"{TOOLS}\"\nname = \"Example Tools\"\nmcp = \"{}\"\n{keys}\n",
            tools.url()
        );
        let rewrite = |text: String| {
            let text = text.replace("providers = [\"", &format!("providers = [\"{TOOLS}\", \""));
            format!("{text}{table}")
        };
        let world = World::start_written_with(db, rewrite, change).await;
        let by_hand = Client::basic("by-hand", SECRET).name("Consentry");
        third.register(by_hand.redirect_uri(format!("{}/callback/files/{TOOLS}", world.public_url)));
        Self { world, tools, third }
    }

    fn advance(&self, span: std::time::Duration) {
        self.third.clock().advance(span);
        self.world.advance(span);
    }

    async fn resolves(&self) -> Value {
        self.world.api("files").resolves("alice", TOOLS).await
    }

    async fn asks(&self) -> Link {
        self.world.api("files").asks("alice", TOOLS).await
    }

    /// Alice on the page of this link.
    async fn arrives(&self, link: &Link) -> Browser {
        let mut alice = self.world.browser();
        alice.opens(&link.url).await;
        if alice.page().name().as_deref() == Some("sign-in") {
            alice.signs_in("alice").await;
        }
        alice
    }

    /// Alice agrees and is where she would leave: the authorize URL.
    async fn leaves(&self, alice: &mut Browser) -> String {
        alice.agrees().await.is("leaving");
        alice.page().refresh().expect("a page that leads away").to_string()
    }

    /// Alice goes there and allows it; ends at the outcome.
    async fn allows(&self, alice: &mut Browser) {
        let authorize = self.leaves(alice).await;
        let back = self.third.approve(&authorize, "alice").await.unwrap();
        alice.opens(&back).await;
    }

    /// Alice is connected; what a tool gets then.
    async fn connected(&self) -> Value {
        let mut alice = self.arrives(&self.asks().await).await;
        self.allows(&mut alice).await;
        alice.page().is("connected");
        let answer = self.resolves().await;
        assert_eq!(answer["status"], "ready", "{answer}");
        answer
    }

    /// The MCP server's own answer to what was handed out, used as the answer says.
    async fn calls(&self, answer: &Value) -> u16 {
        let used = &answer["credential"]["use"];
        let (url, token) =
            (used["base_url"].as_str().unwrap(), used["headers"]["Authorization"].as_str().unwrap());
        let client = crate::world::client("127.0.0.1:1".parse().unwrap());
        client.post(url).header("authorization", token).send().await.unwrap().status().as_u16()
    }

    /// How often the metadata of each were asked for.
    fn asked(&self, path: &str) -> usize {
        let here = |log: &consentry_fakes::Log<consentry_fakes::Received>| {
            log.entries().iter().filter(|one| one.path.starts_with(path)).count()
        };
        here(self.tools.log()) + here(self.third.log())
    }
}
