-- upgrade: expand
-- Why: an incident on the status page was only what the figures show. Administrators report others, and
-- write how they go on. Nothing of it can be changed later.
CREATE TABLE hub.incident (
  id text PRIMARY KEY CHECK (id ~ '^inc_[0-9A-Za-z]{16}$'),
  title text NOT NULL CHECK (length(title) BETWEEN 1 AND 120),
  -- NULL: the whole hub.
  service text REFERENCES hub.service (slug),
  started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX incident_started ON hub.incident (started_at);

CREATE TABLE hub.incident_update (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  incident text NOT NULL REFERENCES hub.incident (id),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL CHECK (state IN ('investigating', 'identified', 'monitoring', 'resolved')),
  message text NOT NULL CHECK (length(message) BETWEEN 1 AND 1000)
);
CREATE INDEX incident_update_incident ON hub.incident_update (incident, seq);

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.incident
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.incident
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON hub.incident_update
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON hub.incident_update
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT, INSERT ON hub.incident, hub.incident_update TO hub_app;
