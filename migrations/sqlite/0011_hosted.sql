-- Visits to pages of MCP servers' own: the code that a browser takes there, what the MCP server says, and the way back.
--
-- Additive only: an older program runs on it, as long as its settings have no such page. An attempt with the hash of a code is
-- a visit. `result_json` is what was accepted: an object with a label and values, none of them secret; it counts for nothing
-- before the browser is back. In `connections.marks` such a connection is `redirect`.

ALTER TABLE attempts ADD COLUMN page_code_hash BLOB;
ALTER TABLE attempts ADD COLUMN page_code_expires_at_ms BIGINT;
ALTER TABLE attempts ADD COLUMN redeemed_at_ms BIGINT;
ALTER TABLE attempts ADD COLUMN result_json TEXT;
ALTER TABLE attempts ADD COLUMN returned_at_ms BIGINT;

CREATE UNIQUE INDEX attempts_by_page_code ON attempts (page_code_hash) WHERE page_code_hash IS NOT NULL;
