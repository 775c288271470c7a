-- upgrade: expand
-- Why: a limit of a sub-key can be lowered while calls in flight hold more than is left of it. What they
-- later release may not be spent: these units are withdrawn when they return.
CREATE TABLE hub.allowance_excess (
  key_id text REFERENCES hub.api_key,
  span text,
  units bigint NOT NULL CHECK (units > 0),
  since timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (key_id, span)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.allowance_excess TO hub_app;
