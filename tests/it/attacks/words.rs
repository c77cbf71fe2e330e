//! Words from outside: they neither turn nor hide what stands around them, wherever they are shown.

use serde_json::json;

use super::ready;
use crate::{
    engine::Database,
    world::{FILES, World, link},
};

on_both_engines!(hidden_characters_reach_neither_clients_nor_pages);

const HIDDEN: [char; 6] = ['\u{202e}', '\u{2066}', '\u{2069}', '\u{200b}', '\u{feff}', '\u{200f}'];

async fn hidden_characters_reach_neither_clients_nor_pages(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let mut question = api.question("alice", FILES);
    question["message"] =
        json!("Connect\u{202e} it \u{2066}now\u{2069}\u{200b}.\nSecond\u{feff} line نمونه\u{200c}ها");
    question["client"]["name"] = json!("Some\u{200f} \u{202e}Client");
    let answer = api.post("/v1/credentials/resolve", &question).await.expect(200);
    let told = answer.to_string();
    assert!(!told.contains(HIDDEN), "{told}");
    assert_eq!(answer["reply"]["body"]["message"], "Connect it now.\nSecond line نمونه\u{200c}ها");
    let alice = ready(&world, "alice", &link(&answer["elicitation"])).await;
    let text = alice.page().html.clone();
    assert!(!text.contains(HIDDEN) && text.contains("Some Client"), "{text}");

    question["message"] = json!("\u{202e}\u{200b}");
    question["client"]["ref"] = json!("another");
    api.post("/v1/credentials/resolve", &question).await.expect(200);
}
