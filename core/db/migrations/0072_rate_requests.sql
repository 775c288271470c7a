-- Why: holders of keys ask for higher rates by an endpoint, and an administrator decides.
CREATE TABLE hub.rate_request (
  id text PRIMARY KEY CHECK (id ~ '^rrq_[0-9A-Za-z]{16}$'),
  key text NOT NULL REFERENCES hub.api_key,
  per_minute integer NOT NULL CHECK (per_minute BETWEEN 1 AND 1000000),
  purpose text NOT NULL CHECK (length(purpose) BETWEEN 1 AND 500),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  granted integer CHECK (granted BETWEEN 1 AND 1000000), -- null: pending or refused
  reason text,
  decided_at timestamptz,
  CHECK ((decided_at IS NULL) = (reason IS NULL)),
  CHECK (granted IS NULL OR decided_at IS NOT NULL)
);
CREATE UNIQUE INDEX rate_request_pending ON hub.rate_request (key) WHERE decided_at IS NULL;
CREATE INDEX rate_request_key ON hub.rate_request (key, created_at);
CREATE TRIGGER keep_row BEFORE DELETE ON hub.rate_request FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
GRANT SELECT, INSERT (id, key, per_minute, purpose),
  UPDATE (per_minute, purpose, granted, reason, decided_at) ON hub.rate_request TO hub_app;

ALTER TABLE hub.mail DROP CONSTRAINT mail_template_check, ADD CONSTRAINT mail_template_check
  CHECK (template IN ('sign-in', 'payout-sent', 'payout-address', 'credits-expiring', 'rate-decided'));
