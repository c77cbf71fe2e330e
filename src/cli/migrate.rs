//! `consentry migrate`.

use serde_json::json;

use super::{Context, output::CliError};
use crate::store::Store;

pub(super) async fn run(context: &Context) -> Result<(), CliError> {
    let settings = context.settings()?;
    let store =
        Store::open(&settings.database.url, settings.database.connections).await.map_err(CliError::failed)?;
    let before = store.is_migrated().await.unwrap_or(false);
    let migrated = store.migrate().await;
    store.shut_down().await;
    migrated.map_err(CliError::failed)?;
    let text = if before { "The database was up to date." } else { "The database is up to date." };
    context.out.say(&json!({ "ok": true, "changed": !before }), text)
}
