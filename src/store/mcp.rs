//! What the MCP endpoint keeps: requests to clients of the legacy era with their answers, which may come to another
//! process than the one that waits, and sessions that were ended.
//!
//! A session is sealed into its id and has no row. What an answer says is the client's word.

use std::sync::LazyLock;

use tokio::sync::watch;
use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::statements,
    tx::{read, write},
};
use crate::{clock::Millis, elicitation::ServerId};

statements! {
    ASK = "INSERT INTO mcp_questions (id, session, expires_at_ms) VALUES ($1, $2, $3)";

    /// The first answer of the session that was asked.
    ANSWER = "UPDATE mcp_questions SET answer = $3 \
        WHERE id = $1 AND session = $2 AND answer IS NULL AND expires_at_ms > $4";

    HEAR = "SELECT answer FROM mcp_questions WHERE id = $1";

    FORGET = "DELETE FROM mcp_questions WHERE id = $1";

    END = "INSERT INTO mcp_endings (session, until_ms) VALUES ($1, $2) ON CONFLICT (session) DO NOTHING";

    ENDED = "SELECT COUNT(*) FROM mcp_endings WHERE session = $1";

    PURGE_QUESTIONS = "DELETE FROM mcp_questions WHERE id IN (\
        SELECT id FROM mcp_questions WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2)";

    PURGE_ENDINGS = "DELETE FROM mcp_endings WHERE session IN (\
        SELECT session FROM mcp_endings WHERE until_ms <= $1 ORDER BY until_ms LIMIT $2)";
}

/// What wakes whoever waits for an answer, in the place of an MCP server's id. One that is really called so is woken
/// without need, which does no harm.
static WAKES: LazyLock<Option<ServerId>> = LazyLock::new(|| "mcp-endpoint".parse().ok());

impl Store {
    /// Notes that a client is asked something, until it is forgotten or its time is over.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn ask_client(&self, question: Uuid, session: Uuid, until: Millis) -> Result<(), StoreError> {
        write!(self, ASK, |sql, pool| {
            sqlx::query(sql).bind(question).bind(session).bind(until.0).execute(pool).await?.rows_affected()
        });
        Ok(())
    }

    /// Keeps a client's answer for the call that waits, and wakes it. False when nobody waits: for the question of
    /// another session, one that was answered, one that is over.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn answer_client(
        &self,
        question: Uuid,
        session: Uuid,
        answer: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let kept = write!(self, ANSWER, |sql, pool| {
            sqlx::query(sql)
                .bind(question)
                .bind(session)
                .bind(answer)
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        if kept > 0 {
            self.announce(WAKES.as_slice());
        }
        Ok(kept > 0)
    }

    /// The answer, once it has come.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn client_answer(&self, question: Uuid) -> Result<Option<String>, StoreError> {
        let found: Option<Option<String>> = read!(self, HEAR, |sql, pool| {
            sqlx::query_scalar(sql).bind(question).fetch_optional(pool).await?
        });
        Ok(found.flatten())
    }

    /// Is told when an answer has come, to this process or, on Postgres, to another. Subscribe before looking.
    pub fn client_answers(&self) -> Option<watch::Receiver<u64>> {
        WAKES.as_ref().map(|wakes| self.subscribe(wakes))
    }

    /// Nobody waits for the answer any more.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn forget_question(&self, question: Uuid) -> Result<(), StoreError> {
        write!(self, FORGET, |sql, pool| {
            sqlx::query(sql).bind(question).execute(pool).await?.rows_affected()
        });
        Ok(())
    }

    /// Ends a session that would end by itself at `until`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn end_mcp_session(&self, session: Uuid, until: Millis) -> Result<(), StoreError> {
        write!(self, END, |sql, pool| {
            sqlx::query(sql).bind(session).bind(until.0).execute(pool).await?.rows_affected()
        });
        Ok(())
    }

    /// Whether a session was ended.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn mcp_session_ended(&self, session: Uuid) -> Result<bool, StoreError> {
        let ended: i64 =
            read!(self, ENDED, |sql, pool| sqlx::query_scalar(sql).bind(session).fetch_one(pool).await?);
        Ok(ended > 0)
    }

    /// Deletes up to `limit` questions whose time is over. Gives how many.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_mcp_questions(&self, now: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_QUESTIONS, now, limit).await
    }

    /// The same of ended sessions that would be over by themselves.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_mcp_endings(&self, now: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_ENDINGS, now, limit).await
    }
}
