-- Clients that Consentry has registered by itself at the authorization servers of third-party MCP servers.
--
-- Additive only: an older program runs on it. One row for an issuer and a callback of ours, and so for an MCP server and a
-- provider. The latest registration takes the place of the one before, and `generation` counts them. `secret` is sealed,
-- and NULL for a public client. While a process registers, `claim` is its own and `claimed_until_ms` the end of its turn;
-- before `next_at_ms` nobody tries again.

CREATE TABLE client_registrations (
    id UUID PRIMARY KEY NOT NULL,
    issuer TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    server TEXT NOT NULL,
    provider TEXT NOT NULL,
    generation BIGINT NOT NULL,
    client_id TEXT,
    secret BYTEA,
    authentication TEXT,
    secret_expires_at_ms BIGINT,
    registered_at_ms BIGINT,
    -- How often the authorization server has said since that it does not know this client, and when last.
    refusals BIGINT NOT NULL,
    refused_at_ms BIGINT,
    claim UUID,
    claimed_until_ms BIGINT NOT NULL,
    next_at_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL
);

CREATE UNIQUE INDEX client_registrations_by_callback ON client_registrations (issuer, redirect_uri);
