//! Whether a credential is still for the place that it was got at (R63).
//!
//! A provider whose issuer, endpoints or client id are changed in the settings is another one: nothing that was stored
//! before is sent to it, and its connections need their persons again.

use std::sync::Arc;

use crate::{
    app::App,
    config::Provider,
    connection::{Connection, ConnectionId, PROVIDER_CHANGED, Status},
    elicitation::ProviderId,
    provider::{NotConcrete, fingerprint, still_fit},
    secret::Hash,
    store::StoreError,
    values::Values,
};

/// What the settings have now for a stored credential.
#[derive(Clone, Debug)]
pub enum Home {
    /// The place that it is for.
    Same(Arc<Provider>),
    /// It does not say what it is for: it is from before that was stored.
    Unsaid(Arc<Provider>),
    /// Another one.
    Changed,
    /// None, or one where nothing stored is sent.
    Gone,
}

impl Home {
    /// Of a credential for `id` with these values and this fingerprint.
    pub fn of(app: &App, id: &ProviderId, values: &Values, stored: Option<&Hash>) -> Self {
        match app.providers.placed(id, &[values]) {
            // Nobody is led to a host that is not one of the provider's any more.
            Ok((provider, _)) if !still_fit(&provider, values) => Self::Changed,
            Ok((provider, here)) => match stored {
                None => Self::Unsaid(provider),
                Some(stored) if *stored == here => Self::Same(provider),
                Some(_) => Self::Changed,
            },
            Err(NotConcrete::Unconfigured) => Self::Gone,
            // It has variables now that nothing is known of.
            Err(NotConcrete::Missing(_) | NotConcrete::Unfit | NotConcrete::Changed) => Self::Changed,
        }
    }

    /// Of a connection.
    pub fn of_connection(app: &App, connection: &Connection) -> Self {
        // What was done on a page is sent nowhere, wherever the page is by now.
        if connection.marks.redirect || app.hosted_page(&connection.provider).is_some() {
            let is_page = app.connectable(&connection.provider).map(|one| one.hosted_page().is_some());
            let stays = connection.marks.redirect && is_page.unwrap_or(true);
            return if stays { Self::Gone } else { Self::Changed };
        }
        // What a person has typed is sent nowhere from here, and is handed out for the place that it was typed for.
        if let Some(here) = app.secret_forms.fingerprint(&connection.provider) {
            let stays = connection.marks.secret && connection.fingerprint == Some(here);
            return if stays { Self::Gone } else { Self::Changed };
        }
        if connection.marks.secret && app.providers.get(&connection.provider).is_some() {
            return Self::Changed;
        }
        Self::of(app, &connection.provider, &connection.values, connection.fingerprint.as_ref())
    }

    /// The same, borrowed.
    pub fn as_provider(&self) -> Option<&Provider> {
        match self {
            Self::Same(provider) | Self::Unsaid(provider) => Some(provider),
            Self::Changed | Self::Gone => None,
        }
    }

    /// The provider, if it may be sent what is stored.
    pub fn provider(self) -> Option<Arc<Provider>> {
        match self {
            Self::Same(provider) | Self::Unsaid(provider) => Some(provider),
            Self::Changed | Self::Gone => None,
        }
    }
}

/// The connection as it is under the settings of now; nothing is stored.
pub fn seen_now(app: &App, connection: Connection) -> Connection {
    let home = Home::of_connection(app, &connection);
    seen_at(&home, connection)
}

fn seen_at(home: &Home, mut connection: Connection) -> Connection {
    if matches!(home, Home::Changed) {
        if connection.status == Status::Active {
            connection.status = Status::NeedsReconnect;
        }
        connection.reason = Some(PROVIDER_CHANGED.to_owned());
    }
    connection
}

/// The same, and what was found is stored: the end with its one signal, or the fingerprint that was missing.
///
/// # Errors
/// The store's.
pub async fn settle_now(app: &App, connection: Connection) -> Result<Connection, StoreError> {
    let home = Home::of_connection(app, &connection);
    match &home {
        Home::Unsaid(provider) => adopt(app, connection.id, connection.grant, provider).await?,
        Home::Changed if connection.status == Status::Active => {
            let (id, generation) = (connection.id, connection.generation);
            app.store.end_by_clock(id, generation, PROVIDER_CHANGED, app.clock.now()).await?;
        }
        _ => {}
    }
    Ok(seen_at(&home, connection))
}

/// Notes the present place for a connection from before places were stored.
///
/// # Errors
/// The store's.
pub async fn adopt(app: &App, id: ConnectionId, grant: i64, provider: &Provider) -> Result<(), StoreError> {
    app.store.adopt_fingerprint(id, grant, &fingerprint(provider)).await.map(|_| ())
}
