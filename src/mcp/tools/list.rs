//! `list_connections`.

use serde_json::{Value, json};

use super::{Done, ToolCall};
use crate::mcp::fault::Fault;

impl ToolCall {
    pub(super) async fn list(&self) -> Result<Done, Fault> {
        let held = self.held().await?;
        let now = self.mcp.app.clock.now();
        let lines = held.iter().map(|one| {
            let works = if one.connection.is_alive(now) { "works" } else { "must be connected again" };
            format!("- {}: {works}", self.called(&one.connection))
        });
        let lines: Vec<String> = lines.collect();
        let text = match lines.len() {
            0 => "The user has connected nothing yet.".to_owned(),
            1 => format!("The user has one connection.\n\n{}", lines.join("\n")),
            many => format!("The user has {many} connections.\n\n{}", lines.join("\n")),
        };
        let connections: Vec<Value> = held.iter().map(|one| self.shown(one)).collect();
        Ok(Done::new(text, json!({ "connections": connections })))
    }
}
