//! Clients that we have registered by ourselves, one for each issuer and callback.
//!
//! Whoever registers holds the row's claim meanwhile, so that two processes do not register at once. What it must never
//! do: give one issuer's client to another.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::statements,
    tx::{read, write},
};
use crate::{clock::Millis, registration::Registration, vault::Sealed};

statements! {
    FIND = "SELECT id, issuer, server, provider, generation, client_id, secret, authentication, secret_expires_at_ms, \
        refusals, next_at_ms FROM client_registrations WHERE issuer = $1 AND redirect_uri = $2";

    /// Only while nobody has it, and over exactly the registration that was seen. Whoever comes second finds the claim of
    /// the first, because the guard is looked at again in the row that it waited for.
    CLAIM = "INSERT INTO client_registrations (id, issuer, redirect_uri, server, provider, generation, refusals, claim, \
        claimed_until_ms, next_at_ms, created_at_ms) VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $8, 0, $7) \
        ON CONFLICT (issuer, redirect_uri) DO UPDATE SET claim = excluded.claim, \
        claimed_until_ms = excluded.claimed_until_ms WHERE client_registrations.claimed_until_ms <= $7 \
        AND client_registrations.next_at_ms <= $7 AND client_registrations.generation = $9 RETURNING id, generation";

    KEEP = "UPDATE client_registrations SET generation = generation + 1, client_id = $4, secret = $5, authentication = $6, \
        secret_expires_at_ms = $7, registered_at_ms = $8, next_at_ms = $9, refusals = 0, refused_at_ms = NULL, \
        claimed_until_ms = 0 WHERE id = $1 AND claim = $2 AND generation = $3";

    PUT_OFF = "UPDATE client_registrations SET claimed_until_ms = 0, next_at_ms = $3 WHERE id = $1 AND claim = $2";

    /// Refusals of long ago do not count.
    REFUSED = "UPDATE client_registrations SET \
        refusals = CASE WHEN refused_at_ms > $4 THEN refusals ELSE 0 END + $6, refused_at_ms = $5 \
        WHERE issuer = $1 AND redirect_uri = $2 AND client_id = $3";
}

/// The right to register, of one process and for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistrationClaim {
    /// The row.
    pub id: Uuid,
    /// Whose turn it is.
    pub claim: Uuid,
    /// The generation before the one that it makes.
    pub generation: i64,
}

/// Who wants to register, and what it has seen.
#[derive(Clone, Copy, Debug)]
pub struct ToRegister<'a> {
    /// The authorization server.
    pub issuer: &'a str,
    /// Our callback.
    pub redirect_uri: &'a str,
    /// The tenant.
    pub server: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// The generation that was seen; 0 for none.
    pub seen: i64,
    /// Of the row, where there is none yet.
    pub id: Uuid,
    /// Of this turn.
    pub claim: Uuid,
}

/// What is kept of a registration.
#[derive(Clone, Debug)]
pub struct NewRegistration<'a> {
    /// The client's id.
    pub client_id: &'a str,
    /// Sealed for the claim's next generation.
    pub secret: Option<Sealed>,
    /// How it proves itself.
    pub authentication: &'a str,
    /// When the secret ends.
    pub secret_expires_at: Option<Millis>,
    /// Before then it is not registered again.
    pub next_at: Millis,
}

#[derive(FromRow)]
struct RegistrationRow {
    id: Uuid,
    issuer: String,
    server: String,
    provider: String,
    generation: i64,
    client_id: Option<String>,
    secret: Option<Vec<u8>>,
    authentication: Option<String>,
    secret_expires_at_ms: Option<i64>,
    refusals: i64,
    next_at_ms: i64,
}

impl Store {
    /// Our client at an issuer for a callback, as it was registered last, or is going to be.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn registration(
        &self,
        issuer: &str,
        redirect_uri: &str,
    ) -> Result<Option<Registration>, StoreError> {
        let row: Option<RegistrationRow> = read!(self, FIND, |sql, pool| {
            sqlx::query_as(sql).bind(issuer).bind(redirect_uri).fetch_optional(pool).await?
        });
        Ok(row.map(Registration::from))
    }

    /// Takes the turn to register until `until`; none when somebody else has it, or has registered, or it is too early.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn claim_registration(
        &self,
        by: ToRegister<'_>,
        now: Millis,
        until: Millis,
    ) -> Result<Option<RegistrationClaim>, StoreError> {
        let row: Option<(Uuid, i64)> = write!(self, CLAIM, |sql, pool| {
            sqlx::query_as(sql)
                .bind(by.id)
                .bind(by.issuer)
                .bind(by.redirect_uri)
                .bind(by.server)
                .bind(by.provider)
                .bind(by.claim)
                .bind(now.0)
                .bind(until.0)
                .bind(by.seen)
                .fetch_all(pool)
                .await?
                .pop()
        });
        Ok(row.map(|(id, generation)| RegistrationClaim { id, claim: by.claim, generation }))
    }

    /// Keeps what was registered. False when somebody else had the turn by then.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn keep_registration(
        &self,
        claim: RegistrationClaim,
        new: &NewRegistration<'_>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = write!(self, KEEP, |sql, pool| {
            sqlx::query(sql)
                .bind(claim.id)
                .bind(claim.claim)
                .bind(claim.generation)
                .bind(new.client_id)
                .bind(new.secret.as_ref().map(Sealed::as_bytes))
                .bind(new.authentication)
                .bind(new.secret_expires_at.map(|at| at.0))
                .bind(now.0)
                .bind(new.next_at.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    /// Gives the turn back; nobody tries before `next_at`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn put_registration_off(
        &self,
        claim: RegistrationClaim,
        next_at: Millis,
    ) -> Result<(), StoreError> {
        write!(self, PUT_OFF, |sql, pool| {
            sqlx::query(sql)
                .bind(claim.id)
                .bind(claim.claim)
                .bind(next_at.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(())
    }

    /// Notes that an authorization server does not know this client, with this weight; refusals before `since` are forgotten.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn registration_refused(
        &self,
        (issuer, redirect_uri): (&str, &str),
        client_id: &str,
        weight: i64,
        since: Millis,
        now: Millis,
    ) -> Result<(), StoreError> {
        write!(self, REFUSED, |sql, pool| {
            sqlx::query(sql)
                .bind(issuer)
                .bind(redirect_uri)
                .bind(client_id)
                .bind(since.0)
                .bind(now.0)
                .bind(weight)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(())
    }
}

impl From<RegistrationRow> for Registration {
    fn from(row: RegistrationRow) -> Self {
        Self {
            id: row.id,
            issuer: row.issuer,
            server: row.server,
            provider: row.provider,
            generation: row.generation,
            client_id: row.client_id,
            secret: row.secret.map(Sealed::from_bytes),
            authentication: row.authentication,
            secret_expires_at: row.secret_expires_at_ms.map(Millis),
            refusals: row.refusals,
            next_at: Millis(row.next_at_ms),
        }
    }
}
