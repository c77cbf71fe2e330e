-- The whole life of a connection: refreshing over any number of replicas, webhooks, revocations, the audit record and
-- the change of keys.
--
-- Additive only: an older program runs on it. No column that changes is indexed in `connections`.

-- When the present tokens were received: what their life is counted from.
ALTER TABLE connections ADD COLUMN refreshed_at_ms BIGINT;
-- When the person's consent ends, where the provider limits it.
ALTER TABLE connections ADD COLUMN consent_expires_at_ms BIGINT;
-- When the person was told that it ends soon, so that it is told once.
ALTER TABLE connections ADD COLUMN warned_at_ms BIGINT;
-- When it stopped being active: its refresh token is kept a day longer, and never sent.
ALTER TABLE connections ADD COLUMN ended_at_ms BIGINT;
-- The generation whose token a resource server refused: it is not handed out again.
ALTER TABLE connections ADD COLUMN refused_generation BIGINT;
-- The generation that the refresh after such a refusal made: a second refusal ends the connection.
ALTER TABLE connections ADD COLUMN mended_generation BIGINT;
-- Refreshes that failed since the last success, why the last did, and when the next may be tried.
ALTER TABLE connections ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connections ADD COLUMN failure TEXT;
ALTER TABLE connections ADD COLUMN next_attempt_at_ms BIGINT;
-- The lease, on the database's clock: who refreshes, until when, and a number that grows with each taking (the fence).
-- `intent_at_ms` stands from before the request is sent until its outcome is stored.
ALTER TABLE connections ADD COLUMN lease_token BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connections ADD COLUMN lease_owner UUID;
ALTER TABLE connections ADD COLUMN lease_until_ms BIGINT;
ALTER TABLE connections ADD COLUMN intent_at_ms BIGINT;

-- All that one person has connected, for their own page; whose it is never changes.
CREATE INDEX connections_by_person ON connections (issuer, sub);

-- When a connection was last handed out. Narrow and apart, for it is written often.
CREATE TABLE connection_uses (
    connection UUID PRIMARY KEY NOT NULL,
    used_at_ms BIGINT NOT NULL
);

-- Room in each page for the next version of a row, so that an update touches no index.
ALTER TABLE connections SET (fillfactor = 70);
ALTER TABLE connection_uses SET (fillfactor = 70);

-- One row per signal of an MCP server that has a webhook, written with the signal. The id is the signal's, which is
-- the webhook's id.
CREATE TABLE deliveries (
    signal UUID PRIMARY KEY NOT NULL,
    server TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    -- due, delivered, dead, dropped
    state TEXT NOT NULL,
    tries BIGINT NOT NULL,
    next_at_ms BIGINT NOT NULL,
    claimed_until_ms BIGINT,
    last_status BIGINT,
    last_error TEXT,
    created_at_ms BIGINT NOT NULL,
    done_at_ms BIGINT
);

CREATE INDEX deliveries_due ON deliveries (server, state, next_at_ms);

-- A receiver that answered 410, under the URL that it had: another URL is another receiver.
CREATE TABLE webhook_receivers (
    server TEXT PRIMARY KEY NOT NULL,
    url_hash BYTEA NOT NULL,
    disabled_at_ms BIGINT NOT NULL
);

-- Tokens that a provider has still to end, sealed for their own row.
CREATE TABLE revocations (
    id UUID PRIMARY KEY NOT NULL,
    connection UUID NOT NULL,
    server TEXT NOT NULL,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    provider TEXT NOT NULL,
    account_id TEXT,
    token BYTEA,
    -- refresh_token or access_token
    hint TEXT NOT NULL,
    -- due, confirmed, impossible, shared, dead
    state TEXT NOT NULL,
    tries BIGINT NOT NULL,
    next_at_ms BIGINT NOT NULL,
    claimed_until_ms BIGINT,
    last_error TEXT,
    created_at_ms BIGINT NOT NULL,
    done_at_ms BIGINT
);

CREATE INDEX revocations_due ON revocations (provider, state, next_at_ms);
CREATE INDEX revocations_by_connection ON revocations (connection);

-- What happened, appended and never changed. A process writes chains of its own: `number` counts in one, `previous`
-- is the tag of the row before, `tag` is over the row and `previous`.
CREATE TABLE audit (
    chain UUID NOT NULL,
    number BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    kind TEXT NOT NULL,
    -- Who did it: an MCP server, the person, the operator, or the program itself.
    actor TEXT NOT NULL,
    server TEXT,
    provider TEXT,
    connection UUID,
    elicitation UUID,
    -- A keyed digest of the subject, or the subject itself where the settings say so.
    subject TEXT,
    result TEXT NOT NULL,
    detail TEXT,
    -- How many times within the row's minute.
    times BIGINT NOT NULL,
    previous BYTEA NOT NULL,
    tag BYTEA NOT NULL,
    PRIMARY KEY (chain, number)
);

CREATE INDEX audit_by_time ON audit (at_ms);

-- Keys that have sealed something here, until the last of it is sealed anew.
CREATE TABLE sealing_keys (
    id TEXT PRIMARY KEY NOT NULL,
    first_used_at_ms BIGINT NOT NULL,
    retired_at_ms BIGINT
);

-- How far sealing anew has come, so that it goes on where it stopped.
CREATE TABLE resealings (
    key_id TEXT NOT NULL,
    cells TEXT NOT NULL,
    after_id UUID,
    resealed BIGINT NOT NULL,
    started_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    PRIMARY KEY (key_id, cells)
);

-- The processes that serve, as they tell themselves; those long unseen are gone. `key_id` seals, `keys` open, with
-- spaces between them.
CREATE TABLE replicas (
    id UUID PRIMARY KEY NOT NULL,
    key_id TEXT NOT NULL,
    keys TEXT NOT NULL,
    started_at_ms BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL
);
