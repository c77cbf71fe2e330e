//! `/stopped/{page}`: a refusal that belongs to no proven attempt. Knows nothing and changes nothing.

use axum::{extract::RawQuery, response::Response};

use crate::elicitation::ElicitationId;

use super::{
    here::{Here, connect_path, see_other},
    pages::{self, Bad, Name},
    parameters::Parameters,
    segments::Segments,
};

/// `GET /stopped/{page}`. Anything that is not a refusal is not found.
pub async fn show(here: Here, Segments(page): Segments<String>, RawQuery(query): RawQuery) -> Response {
    let frame = here.frame();
    match Name::parse(&page) {
        Some(Name::OtherBrowser) => here.show(&pages::OtherBrowser { frame, open_again: None }),
        Some(Name::ProviderMismatch) => here.show(&pages::ProviderMismatch { frame }),
        Some(Name::BadRequest) => here.bad(Bad::Malformed),
        Some(Name::Unavailable) => here.show(&pages::Unavailable { frame }),
        Some(Name::ServerError) => here.show(&pages::ServerError { frame }),
        Some(Name::SignInFailed) => here.sign_in_stopped(query.as_deref()),
        Some(Name::SignedOut) => here.show(&pages::SignedOut { frame }),
        Some(Name::WrongAccount) => wrong_account(&here, query.as_deref()).await,
        _ => here.not_found(),
    }
}

/// With an elicitation named, whoever is at the browser is told who they are and offered to switch.
async fn wrong_account(here: &Here, query: Option<&str>) -> Response {
    let id = Parameters::query(query).ok().and_then(|parameters| {
        parameters.get("elicitationId").and_then(|id| id.parse::<ElicitationId>().ok())
    });
    let Some(id) = id else { return here.not_found() };
    let Ok(visit) = here.look(id).await else { return here.not_found() };
    match &visit.visitor {
        // They have switched meanwhile: the question again.
        Some(visitor) if visitor.subject.as_ref() == Some(&visit.elicitation.owner) => {
            see_other(&connect_path(id))
        }
        visitor => here.wrong_account(id, visitor.as_ref()),
    }
}
