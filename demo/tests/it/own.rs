//! rmcp as a client of Consentry's own MCP endpoint, in each era: a link with a browser in between, a form, and words.

use std::time::Duration;

use demo::mcp_client::Era;
use demo::{Options, World};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::client::{Answers, Client, Person, connect, text};
use crate::whole::browse;

/// Far more than anything here needs on two busy cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// The endpoint, and an access token of alice's for it.
pub(crate) fn endpoint(world: &World) -> (String, String) {
    let url = format!("{}/mcp", world.consentry.public_url);
    let token = world.example_id.access_token_for("alice", &url).unwrap();
    (url, token)
}

async fn client(world: &World, person: Person) -> Client {
    let (url, token) = endpoint(world);
    connect(&url, &token, person).await
}

async fn calls(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let params = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
    timeout(PATIENCE, client.call_tool(params)).await.unwrap().unwrap()
}

/// The link that this person is asked to open.
async fn link(person: &Person) -> String {
    let mut pace = interval(Duration::from_millis(20));
    let asked = async {
        loop {
            pace.tick().await;
            let asked = person.asked.lock().unwrap().last().map(|last| last["url"].clone());
            if let Some(Value::String(link)) = asked {
                return link;
            }
        }
    };
    timeout(PATIENCE, asked).await.unwrap()
}

/// E5, E10, E11, E13, M28: a link within the call, the result when the browser is done, and a form.
#[tokio::test(flavor = "multi_thread")]
async fn e10_e11_m28_rmcp_connects_by_a_link_and_disconnects_by_a_form() {
    for era in [Era::Legacy, Era::Modern] {
        let world = World::start(Options::default()).await.unwrap();
        let person = Person::declaring(json!({ "form": {}, "url": {} }), era);
        let client = client(&world, person.clone()).await;
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["list_connections", "connect", "disconnect"], "{era:?}");

        let browsing = async { browse(&link(&person).await, "alice", "octocat").await };
        let (result, browser) = tokio::join!(calls(&client, "connect", json!({})), browsing);
        assert_eq!(browser.page(), "connected", "{era:?}");
        assert_eq!(result.is_error, Some(false), "{era:?} {result:?}");
        let connected = result.structured_content.unwrap();
        assert_eq!(connected["connection"]["account"], "octocat", "{era:?} {connected}");
        let asked = person.asked.lock().unwrap().clone();
        assert_eq!((asked.len(), &asked[0]["mode"]), (1, &json!("url")), "{era:?} {asked:?}");
        if matches!(era, Era::Legacy) {
            let told = timeout(PATIENCE, person.is_told(1)).await.unwrap();
            assert_eq!(told, [json!({ "elicitationId": asked[0]["elicitationId"] })]);
        }
        let listed = calls(&client, "list_connections", json!({})).await.structured_content.unwrap();
        assert_eq!(listed["connections"].as_array().unwrap().len(), 1, "{era:?} {listed}");

        let gone = calls(&client, "disconnect", json!({})).await;
        assert_eq!(gone.structured_content.as_ref().unwrap()["disconnected"], true, "{era:?} {gone:?}");
        let asked = person.asked.lock().unwrap().clone();
        assert!(asked.len() == 2 && asked[1]["requestedSchema"].is_object(), "{era:?} {asked:?}");
        assert!(person.told.borrow().len() <= 1, "{era:?}");
        client.cancel().await.unwrap();
        world.stop().await;
    }
}

/// E7, E21: a no, and a client that cannot be asked, are told in words.
#[tokio::test(flavor = "multi_thread")]
async fn e7_e21_rmcp_is_told_in_words_what_it_cannot_be_asked() {
    for era in [Era::Legacy, Era::Modern] {
        let world = World::start(Options::default()).await.unwrap();
        for answer in ["decline", "cancel"] {
            let person = Person::declaring(json!({ "url": {} }), era).answering(Answers::With(answer));
            let client = client(&world, person.clone()).await;
            let result = calls(&client, "connect", json!({})).await;
            assert!(result.is_error == Some(true) && !text(&result).contains("http"), "{era:?} {result:?}");
            assert_eq!(person.asked.lock().unwrap().len(), 1, "{era:?} {answer}");
            client.cancel().await.unwrap();
        }
        let person = Person::declaring(Value::Null, era);
        let client = client(&world, person.clone()).await;
        let result = calls(&client, "connect", json!({})).await;
        assert!(text(&result).contains("/connect?elicitationId="), "{era:?} {result:?}");
        assert!(person.asked.lock().unwrap().is_empty(), "{era:?}");
        client.cancel().await.unwrap();
        world.stop().await;
    }
}
