//! What is posted on the page that asks which tenant is meant.

use axum::response::Response;

use crate::{
    connect::{self, Chosen, Opened, Refusal},
    elicitation::AttemptId,
};

use super::{
    here::{Here, done_path, see_other},
    pages::Bad,
    parameters::Parameters,
};

impl Here {
    /// `POST /connect/{id}/input` with an `attempt`: the tenant that was chosen, by the browser that began it.
    pub async fn tenant_chosen(&self, opened: &Opened, form: &Parameters) -> Response {
        let id = opened.mine.elicitation().id;
        let Some(attempt) = form.get("attempt").and_then(|id| id.parse::<AttemptId>().ok()) else {
            return self.not_found();
        };
        let Some(tenant) = form.get("tenant") else { return self.bad(Bad::Malformed) };
        let result = match opened.attempt(&self.app, attempt).await {
            Ok(found) => {
                let cookie = self.attempt_cookie(attempt);
                connect::choose(&self.app, opened, &found, cookie, tenant).await
            }
            Err(refusal) => Err(refusal),
        };
        match result {
            Ok(Chosen::Taken) | Err(Refusal::Moved) => see_other(&done_path(id, Some(attempt))),
            Ok(Chosen::NotOffered) => self.bad(Bad::Malformed),
            Err(refusal) => self.refuse(refusal, id, Some(&opened.visitor)),
        }
    }
}
