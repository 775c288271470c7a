-- Why: how often keys and networks came in the minute that is open, exact for all processes. Nothing of it
-- is worth a disk: after a crash every window begins anew.

CREATE UNLOGGED TABLE hub.rate_window (
  key text PRIMARY KEY,
  hits integer NOT NULL CHECK (hits > 0),
  ends_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

GRANT SELECT, INSERT, UPDATE, DELETE ON hub.rate_window TO hub_app;
