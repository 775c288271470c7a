-- Why: receipts of calls, and prices that are held for a caller for some minutes.

ALTER TABLE hub.call
  ADD COLUMN request_hash bytea,  -- sha256 of endpoint and input
  ADD COLUMN response_hash bytea, -- sha256 of the body; null: it was not sent whole
  ADD COLUMN entry uuid;          -- of the journal's rows; null: no money was asked for

-- A price that was told to a key, and counts for it until then, though it may have risen since.
CREATE TABLE hub.quote (
  id uuid PRIMARY KEY,
  key_id text NOT NULL REFERENCES hub.api_key,
  endpoint integer NOT NULL,
  price_version integer NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0), -- microdollars
  commission_bps smallint NOT NULL CHECK (commission_bps BETWEEN 0 AND 10000),
  request_hash bytea NOT NULL,                -- of the one request that it is for
  expires_at timestamptz NOT NULL,
  FOREIGN KEY (endpoint, price_version) REFERENCES hub.price (endpoint, version)
);
CREATE INDEX quote_expiry ON hub.quote (expires_at);

GRANT SELECT, INSERT, DELETE ON hub.quote TO hub_app;
