//! Visits: all that a page needs of an elicitation and of the browser that looks at it, in one round trip.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{fingerprint_of, values_of},
    elicitations::{ElicitationRow, columns, corrupt},
    statements::statements,
    tx::read,
};
use crate::{
    clock::Millis,
    connection::{Account, Connection, ConnectionId, Marks, Status},
    elicitation::{BrowserCode, Elicitation, ElicitationId},
    scope::Scopes,
    secret::Hash,
    subject::Subject,
    vault::Sealed,
};

statements! {
    /// Everything that a page needs, in one round trip: the elicitation, this browser's session if it is alive,
    /// its sign-in for the elicitation's issuer, its code for the elicitation, and the owner's connection.
    VISIT = concat!("SELECT e.*, s.browser AS browser, s.seen_at_ms AS session_seen_at_ms, \
        i.sub AS signed_in_sub, i.label AS signed_in_label, b.browser AS code_browser, \
        b.expires_at_ms AS code_expires_at_ms, b.proven_at_ms AS code_proven_at_ms, c.id AS c_id, c.account_id AS c_account_id, \
        c.account_label AS c_account_label, c.granted AS c_granted, c.asked AS c_asked, c.status AS c_status, \
        c.reason AS c_reason, c.generation AS c_generation, c.grant_number AS c_grant_number, \
        c.refresh IS NOT NULL AS c_can_refresh, \
        c.access_expires_at_ms AS c_access_expires_at_ms, c.refused_generation AS c_refused_generation, c.created_at_ms AS c_created_at_ms, \
        c.updated_at_ms AS c_updated_at_ms, c.values_json AS c_values_json, c.fingerprint AS c_fingerprint, c.marks AS c_marks \
        FROM (SELECT ", columns!(), " FROM elicitations WHERE id = $1) e \
        LEFT JOIN sessions s ON s.id_hash = $2 AND s.replaced_at_ms IS NULL AND s.expires_at_ms > $3 \
            AND s.seen_at_ms > $4 \
        LEFT JOIN sign_ins i ON i.browser = s.browser AND i.issuer = e.issuer \
        LEFT JOIN browser_codes b ON b.cookie_hash = $5 AND b.elicitation = e.id AND b.expires_at_ms > $3 \
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
    code_browser: Option<Uuid>,
    code_expires_at_ms: Option<i64>,
    code_proven_at_ms: Option<i64>,
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
    c_values_json: Option<String>,
    c_fingerprint: Option<Vec<u8>>,
    c_marks: Option<String>,
}

/// A visit to an elicitation by some browser.
#[derive(Clone, Debug)]
pub struct Visit {
    /// What is visited.
    pub elicitation: Elicitation,
    /// The browser's session, when it has a live one.
    pub visitor: Option<Visitor>,
    /// The browser's code for it, where it shows one or has shown the one that was typed.
    pub code: Option<BrowserCode>,
    /// The owner's connection for the same provider, without its sealed values.
    pub connection: Option<Connection>,
}

/// Who visits.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The session's lineage, or what names a browser that has shown a code.
    pub browser: Uuid,
    /// When its idle stamp was last written.
    pub seen_at: Millis,
    /// Who is signed in for the elicitation's issuer, if anybody is.
    pub subject: Option<Subject>,
    /// What the authorization server calls them. Untrusted text.
    pub label: Option<String>,
}

impl VisitRow {
    /// `cookie` is the hash that the row was found by.
    fn visit(self, cookie: Option<&Hash>) -> Result<Visit, StoreError> {
        let row = self;
        let elicitation = Elicitation::try_from(row.elicitation)?;
        let found = cookie.zip(row.code_browser.zip(row.code_expires_at_ms));
        let code = found.map(|(cookie, (browser, expires_at))| BrowserCode {
            elicitation: elicitation.id,
            browser,
            cookie: *cookie,
            expires_at: Millis(expires_at),
            proven_at: row.code_proven_at_ms.map(Millis),
        });
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
                values: values_of("connections", row.c_values_json.as_deref())?,
                fingerprint: fingerprint_of("connections", row.c_fingerprint)?,
                marks: Marks::from_text(row.c_marks.as_deref()),
                created_at: Millis(row.c_created_at_ms.unwrap_or_default()),
                updated_at: Millis(row.c_updated_at_ms.unwrap_or_default()),
            }),
        };
        Ok(Visit { elicitation, visitor, code, connection })
    }
}

fn scopes(text: Option<&str>) -> Result<Scopes, StoreError> {
    Scopes::new(text.unwrap_or_default().split_ascii_whitespace()).map_err(corrupt("connections", "granted"))
}

impl Store {
    /// Everything that a page needs, in one round trip. `idle_since` is the oldest idle stamp that still counts; `code`
    /// is the hash of the secret in the browser's code cookie.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn visit(
        &self,
        id: ElicitationId,
        session: Option<&Hash>,
        code: Option<&Hash>,
        now: Millis,
        idle_since: Millis,
    ) -> Result<Option<Visit>, StoreError> {
        let row: Option<VisitRow> = read!(self, VISIT, |sql, pool| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(session.map(Hash::as_bytes))
                .bind(now.0)
                .bind(idle_since.0)
                .bind(code.map(Hash::as_bytes))
                .fetch_optional(pool)
                .await?
        });
        row.map(|row| row.visit(code)).transpose()
    }
}
