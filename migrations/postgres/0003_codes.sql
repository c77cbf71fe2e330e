-- Codes that a browser shows and its person types into the MCP client, where nobody can sign in at an authorization
-- server.
--
-- Additive only: an older program runs on it.

-- One row per browser and elicitation. The browser is known by its cookie's secret, of which the hash stands here; of the
-- code there is a keyed digest. Until it is proven a code has minutes; from then on the row says until when that browser
-- is the owner's.
CREATE TABLE browser_codes (
    cookie_hash BYTEA PRIMARY KEY NOT NULL,
    elicitation UUID NOT NULL REFERENCES elicitations (id) ON DELETE CASCADE,
    browser UUID NOT NULL,
    code_tag BYTEA NOT NULL,
    minted_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    proven_at_ms BIGINT,
    -- Two browsers never show the same code for the same elicitation: a code names one of them.
    UNIQUE (elicitation, code_tag)
);

CREATE INDEX browser_codes_by_expiry ON browser_codes (expires_at_ms);

-- Wrong codes that an MCP client has passed on for an elicitation. The client is known by the hash of its reference.
CREATE TABLE code_tries (
    elicitation UUID NOT NULL REFERENCES elicitations (id) ON DELETE CASCADE,
    client_hash BYTEA NOT NULL,
    tries BIGINT NOT NULL,
    PRIMARY KEY (elicitation, client_hash)
);
