-- A database that was restored from a backup, as its operator says: what it holds may be older than what the providers
-- know.
--
-- Additive only: an older program runs on it, and keeps what is held back.

-- The restore since which the present refresh token is in doubt, as `restores` has it; stays until another consent.
-- While the doubt lasts, `intent_at_ms` is the same instant.
ALTER TABLE connections ADD COLUMN restored_at_ms BIGINT;

-- One row per declaration, on the database's clock.
CREATE TABLE restores (
    at_ms BIGINT PRIMARY KEY NOT NULL,
    -- Connections that were in doubt then.
    connections BIGINT NOT NULL,
    -- When refreshes were let go on, if they were.
    released_at_ms BIGINT
);
