//! Pages of MCP servers' own: the code of a visit is redeemed, and what came of the visit is said.
//!
//! What it must never do: tell a code that is used, late, unknown or another MCP server's from each other.

use std::collections::BTreeMap;

use axum::{http::StatusCode, response::Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    clock::Millis,
    connect::{self, NotTaken, PageResult},
    elicitation::ElicitationId,
    hosted::{Accepted, FailedAtPage},
    provider::mcp::is_of_a_place,
    secret::Secret,
    values::{Values, ValuesError},
};

use super::{
    answer::{json, text, time},
    auth::Caller,
    input::{Body, Id, NoQuery},
    problem::{Code, Problem, ProblemBody},
    view::{ElicitationView, SubjectView},
};

/// The code that a browser brought.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Redeem)]
pub(super) struct RedeemBody {
    /// The parameter `code` of the page's address.
    #[schema(value_type = String, format = Password)]
    code: Secret,
}

/// For whom a visit to a page is.
#[derive(Serialize, ToSchema)]
#[schema(as = PageVisit)]
struct VisitView<'a> {
    /// The elicitation that is answered by it.
    #[serde(serialize_with = "text")]
    #[schema(value_type = String, format = Uuid)]
    elicitation_id: ElicitationId,
    /// Who is asked. Whoever is at the browser need not be the same: the code is no login.
    subject: SubjectView<'a>,
    /// The provider's id.
    provider: &'a str,
    /// The caller's reference of the client that asked.
    client_ref: Option<&'a str>,
    /// Where the browser is sent back to, with the `state` of the page's address.
    redirect_uri: &'a str,
    /// Until when.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Millis,
}

/// What came of a visit.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PageResult)]
pub(super) struct ResultBody {
    /// What came of it.
    result: ResultKind,
    /// With `accepted`: what the user knows it by, 1 to 100 characters.
    label: Option<String>,
    /// With `accepted`: what the MCP server wants to find again, by name; nothing secret. At most 32, of at most 1024 bytes.
    values: Option<BTreeMap<String, String>>,
    /// With `failed`: why, 1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter.
    #[schema(example = "card_declined")]
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PageResultKind)]
enum ResultKind {
    /// It was done. Nothing is completed by that before the user's browser is back.
    Accepted,
    /// It came to nothing: the elicitation has failed.
    Failed,
}

/// Redeems the code of a visit, once. A code that is unknown, used, late or of another MCP server is refused in the same way; a
/// second time ends the visit.
#[utoipa::path(
    post,
    path = "/v1/hosted/redeem",
    operation_id = "redeemPageCode",
    tag = "hosted",
    request_body = RedeemBody,
    responses(
        (status = 200, description = "For whom the visit is", body = VisitView<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn redeem(caller: Caller, _: NoQuery, body: Body<RedeemBody>) -> Result<Response, Problem> {
    let visiting = connect::redeem(&caller.app, &caller.server().id, &body.value.code).await?;
    let visiting = visiting.ok_or_else(|| {
        let detail =
            "It is unknown, used, too old, or not this MCP server's; the user opens their link again.";
        Problem::new(Code::PageCodeInvalid, detail)
    })?;
    let asked = &visiting.elicitation;
    let view = VisitView {
        elicitation_id: asked.id,
        subject: (&asked.owner).into(),
        provider: asked.provider.as_str(),
        client_ref: Some(asked.caller_ref()).filter(|reference| !reference.is_empty()),
        redirect_uri: &visiting.redirect_uri,
        expires_at: visiting.expires_at,
    };
    json(StatusCode::OK, &view)
}

/// Says what came of a visit. `accepted` counts once the user's browser is back; `failed` ends the elicitation at once. The same
/// result may be said again.
#[utoipa::path(
    post,
    path = "/v1/elicitations/{id}/result",
    operation_id = "reportPageResult",
    tag = "hosted",
    params(("id" = String, Path, format = Uuid)),
    request_body = ResultBody,
    responses(
        (status = 200, description = "The elicitation as it is now", body = ElicitationView<'static>),
        (status = "4XX", description = "Refused", body = ProblemBody<'static>, content_type = "application/problem+json"),
        (status = "5XX", description = "Failed", body = ProblemBody<'static>, content_type = "application/problem+json"),
    )
)]
pub(super) async fn result(
    caller: Caller,
    Id(id): Id<ElicitationId>,
    _: NoQuery,
    body: Body<ResultBody>,
) -> Result<Response, Problem> {
    let told = body.value.check()?;
    let elicitation = connect::tell(&caller.app, &caller.server().id, id, &told).await?;
    let elicitation = elicitation.map_err(Problem::from)?;
    json(StatusCode::OK, &ElicitationView::new(&caller.app, &elicitation))
}

impl ResultBody {
    fn check(self) -> Result<PageResult, Problem> {
        match self.result {
            ResultKind::Accepted => {
                if self.reason.is_some() {
                    return Err(Problem::invalid_field("reason", "This field goes with `failed` alone."));
                }
                let values = values(&self.values.unwrap_or_default())?;
                let accepted = Accepted::new(self.label.as_deref(), values).ok_or_else(|| {
                    Problem::invalid_field("label", "1 to 100 characters, without control characters.")
                })?;
                Ok(PageResult::Accepted(accepted))
            }
            ResultKind::Failed => {
                for (field, is_there) in [("label", self.label.is_some()), ("values", self.values.is_some())]
                {
                    if is_there {
                        return Err(Problem::invalid_field(field, "This field goes with `accepted` alone."));
                    }
                }
                let reason = FailedAtPage::new(self.reason.as_deref()).ok_or_else(|| {
                    let what = "1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter.";
                    Problem::invalid_field("reason", what)
                })?;
                Ok(PageResult::Failed(reason))
            }
        }
    }
}

fn values(given: &BTreeMap<String, String>) -> Result<Values, Problem> {
    let mut values = Values::default();
    for (name, value) in given {
        if is_of_a_place(name) {
            // It would not be handed out again.
            let what = "This name is Consentry's own; take another one.";
            return Err(Problem::invalid_field(format!("values.{name}"), what));
        }
        values.insert(name, value).map_err(|error| {
            let (field, what) = match error {
                ValuesError::Name => (
                    "values".to_owned(),
                    "A name is 1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter.",
                ),
                ValuesError::TooMany => ("values".to_owned(), "At most 32 values."),
                ValuesError::Value | ValuesError::Json => {
                    (format!("values.{name}"), "1 to 1024 bytes without control characters.")
                }
            };
            Problem::invalid_field(field, what)
        })?;
    }
    Ok(values)
}

impl From<NotTaken> for Problem {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::NoPage => {
                Self::new(Code::NoHostedPage, "Only what is asked on a page of the MCP server has a result.")
            }
            NotTaken::Nobody => {
                let detail =
                    "No visit is under way whose code was redeemed; redeem the code that the browser brings.";
                Self::new(Code::PageNotVisited, detail)
            }
            NotTaken::Otherwise => {
                Self::new(Code::ResultGiven, "Another result was given before; it stays as it is.")
            }
            NotTaken::Over => {
                Self::new(Code::ElicitationOver, "The elicitation has ended; read it to see how.")
            }
        }
    }
}
