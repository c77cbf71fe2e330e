-- The main job: elicitations, attempts, connections, signals, browser sessions.
-- Instants are milliseconds since the epoch from the program's clock. Sealed values name their row in their
-- associated data. No CHECK on states: adding one would force a rebuild of the table.

CREATE TABLE elicitations (
    id BLOB PRIMARY KEY NOT NULL,
    server TEXT NOT NULL,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    provider TEXT NOT NULL,
    scopes TEXT NOT NULL,
    legacy BOOLEAN NOT NULL,
    client_ref TEXT NOT NULL,
    client_name TEXT,
    message TEXT,
    state TEXT NOT NULL,
    reason TEXT,
    connection BLOB,
    seen_connection BLOB,
    seen_grant BIGINT,
    -- Unique while it is open and may be used again; NULL otherwise.
    reuse_key BLOB UNIQUE,
    attempt_until_ms BIGINT,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    closed_at_ms BIGINT
);

CREATE INDEX elicitations_by_subject ON elicitations (server, issuer, sub, provider, state);
CREATE INDEX elicitations_by_expiry ON elicitations (state, expires_at_ms);

CREATE TABLE attempts (
    id BLOB PRIMARY KEY NOT NULL,
    elicitation BLOB NOT NULL REFERENCES elicitations (id) ON DELETE CASCADE,
    server TEXT NOT NULL,
    provider TEXT NOT NULL,
    browser BLOB NOT NULL,
    state_hash BLOB NOT NULL UNIQUE,
    binding_hash BLOB NOT NULL,
    verifier BLOB,
    expected_issuer TEXT,
    issuer_required BOOLEAN NOT NULL,
    redirect_uri TEXT NOT NULL,
    scopes TEXT NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    detail TEXT,
    parked BLOB,
    parked_until_ms BIGINT,
    offer BLOB,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    claimed_at_ms BIGINT,
    settled_at_ms BIGINT
);

CREATE INDEX attempts_by_elicitation ON attempts (elicitation);
CREATE INDEX attempts_by_browser ON attempts (browser);

CREATE TABLE connections (
    id BLOB PRIMARY KEY NOT NULL,
    server TEXT NOT NULL,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    provider TEXT NOT NULL,
    account_id TEXT,
    account_label TEXT,
    granted TEXT NOT NULL,
    asked TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    generation BIGINT NOT NULL,
    grant_number BIGINT NOT NULL,
    access BLOB NOT NULL,
    refresh BLOB,
    access_expires_at_ms BIGINT,
    refresh_expires_at_ms BIGINT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    UNIQUE (server, issuer, sub, provider)
);

-- One row per MCP server. Taking the next number locks it until the commit, so that numbers become visible in
-- their order and a reader never skips one that commits late.
CREATE TABLE signal_heads (
    server TEXT PRIMARY KEY NOT NULL,
    sequence BIGINT NOT NULL
);

CREATE TABLE signals (
    id BLOB PRIMARY KEY NOT NULL,
    server TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    kind TEXT NOT NULL,
    elicitation BLOB,
    connection BLOB,
    provider TEXT NOT NULL,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    client_ref TEXT NOT NULL,
    reason TEXT,
    legacy BOOLEAN NOT NULL,
    at_ms BIGINT NOT NULL,
    UNIQUE (server, sequence)
);

CREATE INDEX signals_by_time ON signals (at_ms);

-- A browser's sessions. The id is stored as its SHA-256; `browser` outlives a change of id.
CREATE TABLE sessions (
    id_hash BLOB PRIMARY KEY NOT NULL,
    browser BLOB NOT NULL,
    created_at_ms BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    -- Set when a sign-in replaced the id: from then on it opens nothing.
    replaced_at_ms BIGINT
);

CREATE INDEX sessions_by_browser ON sessions (browser);
CREATE INDEX sessions_by_expiry ON sessions (expires_at_ms);

CREATE TABLE sign_ins (
    browser BLOB NOT NULL,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    label TEXT,
    signed_in_at_ms BIGINT NOT NULL,
    PRIMARY KEY (browser, issuer)
);

CREATE TABLE idempotency_keys (
    server TEXT NOT NULL,
    key_hash BLOB NOT NULL,
    body_hash BLOB NOT NULL,
    elicitation BLOB NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (server, key_hash)
);
