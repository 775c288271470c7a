-- upgrade: expand
-- Why: owners could not see who changed their keys, limits, payout address, webhooks and linked wallets. Each
-- change is a line that nothing changes or deletes later.
CREATE TABLE hub.activity (
  id uuid PRIMARY KEY,
  principal text NOT NULL REFERENCES hub.principal (id),
  at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
  -- Email address or wallet of a session, or the id of a key.
  author text NOT NULL CHECK (author <> ''),
  -- Id of the session or key.
  via text NOT NULL CHECK (via <> ''),
  network text NOT NULL,
  act text NOT NULL CHECK (act ~ '^[a-z]+\.[a-z]+$'),
  subject text NOT NULL CHECK (length(subject) <= 100),
  details jsonb NOT NULL CHECK (jsonb_typeof(details) = 'object')
);
CREATE INDEX activity_principal ON hub.activity (principal, at, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.activity
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.activity
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT, INSERT ON hub.activity TO hub_app;
