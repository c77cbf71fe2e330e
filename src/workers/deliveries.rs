//! Posts signals to MCP servers' webhooks. Each receiver has hands of its own, so that one that is slow or gone keeps
//! no other waiting.

use std::time::Duration;

use futures_util::future::join_all;

use super::pump::pump;
use crate::{
    app::App,
    config::{McpServer, Webhook},
    connect::Refusal,
    delivery::State,
    signals,
};

/// What a claim has beyond the time limit of a post, for the store.
const MARGIN: Duration = Duration::from_secs(30);
/// What is younger may have been queued by a process with newer settings.
const STRANGE_FOR: Duration = Duration::from_hours(1);

/// Runs until the process drains.
pub(super) async fn run(app: App) {
    let posted = app.settings.mcp_servers.iter();
    let posted = posted.filter_map(|server| server.webhook.as_ref().map(|webhook| (server, webhook)));
    join_all(posted.map(|(server, webhook)| to(&app, server, webhook))).await;
}

async fn to(app: &App, server: &McpServer, webhook: &Webhook) {
    let receiver = signals::receiver(webhook);
    let claim = |free| async move {
        let now = app.clock.now();
        let until = now.plus(app.settings.webhooks.timeout).plus(MARGIN);
        app.store.claim_deliveries(&server.id, &receiver, free, now, until).await
    };
    let work = |claimed| {
        let (app, server, webhook) = (app.clone(), server.clone(), webhook.clone());
        async move { signals::post(&app, &server, &webhook, &claimed).await }
    };
    pump(app, app.settings.webhooks.concurrent, app.store.subscribe(&server.id), claim, work).await;
}

/// Tells the metrics how much waits and how much was given up.
///
/// # Errors
/// The store's.
pub(super) async fn measure(app: &App) -> Result<(), Refusal> {
    let now = app.clock.now();
    for server in app.settings.mcp_servers.iter().filter(|server| server.webhook.is_some()) {
        let due = app.store.backlog(&server.id, State::Due).await?;
        let dead = app.store.backlog(&server.id, State::Dead).await?;
        let age = due.oldest.map(|oldest| oldest.until(now)).unwrap_or_default();
        app.metrics.webhook_backlog(&server.id, age, dead.number);
    }
    Ok(())
}

/// Drops what is queued for nobody any more (R115).
///
/// # Errors
/// The store's.
pub(super) async fn drop_unposted(app: &App) -> Result<(), Refusal> {
    let now = app.clock.now();
    let dropped = app.store.drop_unposted(now.minus(STRANGE_FOR), now).await?;
    if dropped > 0 {
        tracing::warn!(dropped, "signals were dropped whose MCP server has no webhook any more");
    }
    Ok(())
}
