//! Visits: all that a page needs of an elicitation and of the browser that looks at it, in one round trip.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::{ElicitationRow, columns, corrupt},
    statements::statements,
    tx::read,
};
use crate::{
    clock::Millis,
    connection::{Account, Connection, ConnectionId, Status},
    elicitation::{Elicitation, ElicitationId},
    scope::Scopes,
    secret::Hash,
    subject::Subject,
    vault::Sealed,
};

statements! {
    /// Everything that a page needs, in one round trip: the elicitation, this browser's session if it is alive,
    /// its sign-in for the elicitation's issuer, and the owner's connection.
    VISIT = concat!("SELECT e.*, s.browser AS browser, s.seen_at_ms AS session_seen_at_ms, \
        i.sub AS signed_in_sub, i.label AS signed_in_label, c.id AS c_id, c.account_id AS c_account_id, \
        c.account_label AS c_account_label, c.granted AS c_granted, c.asked AS c_asked, c.status AS c_status, \
        c.reason AS c_reason, c.generation AS c_generation, c.grant_number AS c_grant_number, \
        c.refresh IS NOT NULL AS c_can_refresh, \
        c.access_expires_at_ms AS c_access_expires_at_ms, c.refused_generation AS c_refused_generation, c.created_at_ms AS c_created_at_ms, \
        c.updated_at_ms AS c_updated_at_ms \
        FROM (SELECT ", columns!(), " FROM elicitations WHERE id = $1) e \
        LEFT JOIN sessions s ON s.id_hash = $2 AND s.replaced_at_ms IS NULL AND s.expires_at_ms > $3 \
            AND s.seen_at_ms > $4 \
        LEFT JOIN sign_ins i ON i.browser = s.browser AND i.issuer = e.issuer \
        LEFT JOIN connections c ON c.server = e.server AND c.issuer = e.issuer AND c.sub = e.sub \
            AND c.provider = e.provider");
}

#[derive(FromRow)]
struct VisitRow {
    #[sqlx(flatten)]
    elicitation: ElicitationRow,
    browser: Option<Uuid>,
    session_seen_at_ms: Option<i64>,
    signed_in_sub: Option<String>,
    signed_in_label: Option<String>,
    c_id: Option<Uuid>,
    c_account_id: Option<String>,
    c_account_label: Option<String>,
    c_granted: Option<String>,
    c_asked: Option<String>,
    c_status: Option<String>,
    c_reason: Option<String>,
    c_generation: Option<i64>,
    c_grant_number: Option<i64>,
    c_can_refresh: Option<bool>,
    c_access_expires_at_ms: Option<i64>,
    c_refused_generation: Option<i64>,
    c_created_at_ms: Option<i64>,
    c_updated_at_ms: Option<i64>,
}

/// A visit to an elicitation by some browser.
#[derive(Clone, Debug)]
pub struct Visit {
    /// What is visited.
    pub elicitation: Elicitation,
    /// The browser's session, when it has a live one.
    pub visitor: Option<Visitor>,
    /// The owner's connection for the same provider, without its sealed values.
    pub connection: Option<Connection>,
}

/// Who visits.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The session's lineage.
    pub browser: Uuid,
    /// When its idle stamp was last written.
    pub seen_at: Millis,
    /// Who is signed in for the elicitation's issuer, if anybody is.
    pub subject: Option<Subject>,
    /// What the authorization server calls them. Untrusted text.
    pub label: Option<String>,
}

impl TryFrom<VisitRow> for Visit {
    type Error = StoreError;

    fn try_from(row: VisitRow) -> Result<Self, StoreError> {
        let elicitation = Elicitation::try_from(row.elicitation)?;
        let subject = row
            .signed_in_sub
            .map(|sub| Subject::new(elicitation.owner.issuer.clone(), sub))
            .transpose()
            .map_err(corrupt("sign_ins", "sub"))?;
        let visitor = row.browser.zip(row.session_seen_at_ms).map(|(browser, seen)| Visitor {
            browser,
            seen_at: Millis(seen),
            subject,
            label: row.signed_in_label,
        });
        let connection = match row.c_id {
            None => None,
            Some(id) => Some(Connection {
                id: ConnectionId(id),
                server: elicitation.server.clone(),
                owner: elicitation.owner.clone(),
                provider: elicitation.provider.clone(),
                account: Account { id: row.c_account_id, label: row.c_account_label },
                granted: scopes(row.c_granted.as_deref())?,
                asked: scopes(row.c_asked.as_deref())?,
                status: row
                    .c_status
                    .as_deref()
                    .unwrap_or_default()
                    .parse::<Status>()
                    .map_err(corrupt("connections", "status"))?,
                reason: row.c_reason,
                generation: row.c_generation.unwrap_or_default(),
                grant: row.c_grant_number.unwrap_or_default(),
                access: Sealed::from_bytes(Vec::new()),
                refresh: None,
                access_expires_at: row.c_access_expires_at_ms.map(Millis),
                refresh_expires_at: None,
                consent_expires_at: None,
                refreshed_at: None,
                can_refresh: row.c_can_refresh.unwrap_or_default(),
                refused_generation: row.c_refused_generation,
                mended_generation: None,
                failures: 0,
                failure: None,
                next_attempt_at: None,
                created_at: Millis(row.c_created_at_ms.unwrap_or_default()),
                updated_at: Millis(row.c_updated_at_ms.unwrap_or_default()),
            }),
        };
        Ok(Self { elicitation, visitor, connection })
    }
}

fn scopes(text: Option<&str>) -> Result<Scopes, StoreError> {
    Scopes::new(text.unwrap_or_default().split_ascii_whitespace()).map_err(corrupt("connections", "granted"))
}

impl Store {
    /// Everything that a page needs, in one round trip. `idle_since` is the oldest idle stamp that still counts.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn visit(
        &self,
        id: ElicitationId,
        session: Option<&Hash>,
        now: Millis,
        idle_since: Millis,
    ) -> Result<Option<Visit>, StoreError> {
        let row: Option<VisitRow> = read!(self, VISIT, |sql, pool| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(session.map(Hash::as_bytes))
                .bind(now.0)
                .bind(idle_since.0)
                .fetch_optional(pool)
                .await?
        });
        row.map(Visit::try_from).transpose()
    }
}
