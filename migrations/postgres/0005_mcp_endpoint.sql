-- The MCP endpoint of our own: what a call that waits on one process hears through another.
--
-- Additive only: an older program runs on it. A session itself has no row; it is sealed into its id.

-- A request to an MCP client of the legacy era that a call waits for. Its answer may come to any process.
CREATE TABLE mcp_questions (
    id UUID PRIMARY KEY NOT NULL,
    session UUID NOT NULL,
    answer TEXT,
    expires_at_ms BIGINT NOT NULL
);

-- Sessions that their clients have ended, until they would have ended by themselves.
CREATE TABLE mcp_endings (
    session UUID PRIMARY KEY NOT NULL,
    until_ms BIGINT NOT NULL
);

-- What is deleted when it is over.
CREATE INDEX mcp_questions_by_end ON mcp_questions (expires_at_ms);
CREATE INDEX mcp_endings_by_end ON mcp_endings (until_ms);
