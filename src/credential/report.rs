//! A resource server refused a token that was handed out.

use crate::{
    app::App,
    connect::Refusal,
    connection::{Connection, ConnectionId},
    elicitation::ServerId,
};

/// Notes that the token of `generation` was refused, so that it is not handed out again. A report of an older
/// generation changes nothing. Gives the connection as it is afterwards; `None` when it is not this MCP server's.
///
/// # Errors
/// The store's.
pub async fn report(
    app: &App,
    server: &ServerId,
    id: ConnectionId,
    generation: i64,
) -> Result<Option<Connection>, Refusal> {
    let refused = app.store.refused(server, id, generation, "unauthorized", app.clock.now()).await?;
    if refused.is_some() {
        return Ok(refused);
    }
    Ok(app.store.connection(server, id).await?)
}
