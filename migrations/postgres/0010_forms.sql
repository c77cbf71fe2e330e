-- What was typed into a form, and how far it was checked.
--
-- Additive only: an older program runs on it. Words with spaces between: `secret` for values that a person has typed,
-- `unchecked` for those that nobody could check, `test_mode` for those of a test mode. NULL is a grant of OAuth. The values
-- themselves are sealed in `access`.

ALTER TABLE connections ADD COLUMN marks TEXT;
