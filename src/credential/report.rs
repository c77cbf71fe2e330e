//! A resource server refused a token that was handed out.

use super::refresh::UNAUTHORIZED;
use crate::{
    app::App,
    connect::Refusal,
    connection::{Connection, ConnectionId},
    elicitation::ServerId,
    store::Reported,
};

/// Notes that the token of `generation` was refused, so that it is not handed out again, and makes one refresh for that
/// generation. A report of an older generation changes nothing; one of the generation that this refresh made ends the
/// connection, unless a refresh that is under way brings another one. Gives the connection as it is afterwards; `None` when it is not this MCP server's.
///
/// # Errors
/// The store's.
pub async fn report(
    app: &App,
    server: &ServerId,
    id: ConnectionId,
    generation: i64,
) -> Result<Option<Connection>, Refusal> {
    let now = app.clock.now();
    match app.store.report_refused(server, id, generation, UNAUTHORIZED, now).await? {
        Reported::Refused(refused) => {
            drop(app.refreshes.join(app, refused.id, refused.generation));
            Ok(Some(refused))
        }
        Reported::Ended(ended) => Ok(Some(ended)),
        Reported::Nothing => Ok(app.store.connection(server, id).await?),
    }
}
