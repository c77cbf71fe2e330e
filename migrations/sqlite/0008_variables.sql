-- Variables of providers' addresses, values read from providers' answers, and the place that a credential is for.
--
-- Additive only: an older program runs on it. Values are JSON objects of texts and hold no secret. A fingerprint is the
-- SHA-256 of the issuer, the endpoints and the client id that a credential was got with; NULL in rows from before,
-- which take the present one when they are next used.

ALTER TABLE connections ADD COLUMN values_json TEXT;
ALTER TABLE connections ADD COLUMN fingerprint BLOB;

-- What the caller gave, and what the person typed.
ALTER TABLE elicitations ADD COLUMN values_json TEXT;
ALTER TABLE elicitations ADD COLUMN typed_json TEXT;

-- What the trip was begun with, and what its answers were read for.
ALTER TABLE attempts ADD COLUMN values_json TEXT;
ALTER TABLE attempts ADD COLUMN fingerprint BLOB;

ALTER TABLE revocations ADD COLUMN values_json TEXT;
ALTER TABLE revocations ADD COLUMN fingerprint BLOB;
