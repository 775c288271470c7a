-- Why: a process remembers credentials that are unknown, so that a flood of them costs no queries.
-- A new key, session or link is announced, so that no process takes it for unknown.

CREATE FUNCTION hub.announce_credential() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('credential', '');
  RETURN NULL;
END $$;

CREATE TRIGGER announce AFTER INSERT OR UPDATE OF hash ON hub.key_secret
  FOR EACH STATEMENT EXECUTE FUNCTION hub.announce_credential();
CREATE TRIGGER announce AFTER INSERT ON hub.session
  FOR EACH STATEMENT EXECUTE FUNCTION hub.announce_credential();
CREATE TRIGGER announce AFTER INSERT ON hub.magic_link
  FOR EACH STATEMENT EXECUTE FUNCTION hub.announce_credential();
