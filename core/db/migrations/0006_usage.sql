-- Why: what happened, call by call. The journal is the truth about money; these rows explain it and
-- are written in batches, off the path of the answer.

CREATE TABLE hub.call (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL,
  request_id text NOT NULL,
  principal text NOT NULL,
  key_id text,             -- null: paid by x402 without a key
  service text NOT NULL,
  endpoint integer NOT NULL,
  price_version integer NOT NULL,
  source text NOT NULL CHECK (source IN ('free', 'credits', 'x402', 'none')),
  charged bigint NOT NULL CHECK (charged >= 0), -- microdollars
  outcome text NOT NULL -- taken: failed, and charged, since a third party has the money
    CHECK (outcome IN ('delivered', 'failed', 'unresolved', 'taken')),
  status smallint NOT NULL,
  latency_ms integer NOT NULL CHECK (latency_ms >= 0),
  reason text              -- the code of the fault, for calls that failed
);
CREATE INDEX call_service ON hub.call (service, at);
CREATE INDEX call_key ON hub.call (key_id, at);

GRANT SELECT, INSERT, UPDATE (charged, outcome) ON hub.call TO hub_app; -- what was open is told later

-- What a caller asked under a key of its own (Idempotency-Key); the id stands in ledger.idempotency, for
-- ever. What failed may be tried again, each time as another call.
CREATE TABLE hub.idempotent_call (
  id uuid PRIMARY KEY,
  call uuid NOT NULL,             -- the newest attempt
  done boolean NOT NULL DEFAULT false,
  busy_until timestamptz NOT NULL -- then at the latest it is over, whatever became of its process
);
GRANT SELECT, INSERT, UPDATE ON hub.idempotent_call TO hub_app;

-- How far a reader of the journal's order has come, for each shard.
CREATE TABLE hub.cursor (
  name text NOT NULL,
  shard smallint NOT NULL REFERENCES ledger.head,
  seq bigint NOT NULL CHECK (seq >= 0),
  PRIMARY KEY (name, shard)
);

GRANT SELECT, INSERT, UPDATE ON hub.cursor TO hub_app;
