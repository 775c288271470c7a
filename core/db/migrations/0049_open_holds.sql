-- Why: expiring holds reads each entry of the journal once, however long one hold stays open. Holds that were
-- open when they were read are listed here until they are resolved.

CREATE TABLE hub.open_hold (
  shard smallint NOT NULL,
  seq bigint NOT NULL,       -- of the reserve
  call uuid NOT NULL,
  owner bigint NOT NULL REFERENCES ledger.account,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (shard, seq)
);
CREATE INDEX open_hold_due ON hub.open_hold (expires_at);

GRANT SELECT, INSERT, DELETE ON hub.open_hold TO hub_app;
