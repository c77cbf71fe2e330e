-- What housekeeping, revocations and the change of keys look up, so that none of it reads a whole table in one statement.
--
-- Additive only. `account_id` changes with a new consent alone, so that a refresh still touches no index.

-- What is done by one process at a time, and how often it was: a row here is taken also while the table that it stands
-- for is empty.
CREATE TABLE turns (
    name TEXT PRIMARY KEY NOT NULL,
    times BIGINT NOT NULL
);

CREATE INDEX connections_by_account ON connections (provider, account_id);

-- What is deleted when it is old.
CREATE INDEX elicitations_by_end ON elicitations (closed_at_ms) WHERE closed_at_ms IS NOT NULL;
CREATE INDEX deliveries_by_end ON deliveries (done_at_ms) WHERE done_at_ms IS NOT NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at_ms);
CREATE INDEX revocations_by_end ON revocations (done_at_ms) WHERE done_at_ms IS NOT NULL;
CREATE INDEX revocations_by_age ON revocations (created_at_ms);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at_ms);
