-- Why: who calls. A principal is a wallet (or a human without one) and is fixed for ever; its keys
-- hold the credits. Secrets are kept as hashes only.

CREATE TABLE hub.principal (
  id text PRIMARY KEY CHECK (id ~ '^prn_[0-9A-Za-z]{16}$'),
  wallet_address text UNIQUE CHECK (wallet_address ~ '^0x[0-9a-f]{40}$'),
  shard smallint NOT NULL REFERENCES ledger.head,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- A challenge is used by one guarded update, in the transaction that makes the key.
CREATE TABLE hub.challenge (
  nonce text PRIMARY KEY CHECK (length(nonce) >= 16),
  message text NOT NULL,
  wallet_address text CHECK (wallet_address ~ '^0x[0-9a-f]{40}$'),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX challenge_expiry ON hub.challenge (expires_at);

CREATE TABLE hub.api_key (
  id text PRIMARY KEY CHECK (id ~ '^key_[0-9A-Za-z]{16}$'),
  principal text NOT NULL REFERENCES hub.principal,
  hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32), -- sha256 of the whole key
  prefix text NOT NULL,                                 -- its first characters, to tell keys apart
  credits bigint NOT NULL UNIQUE REFERENCES ledger.account,
  name text CHECK (length(name) BETWEEN 1 AND 100),
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);
CREATE INDEX api_key_principal ON hub.api_key (principal);

GRANT USAGE ON SCHEMA hub TO hub_app;
GRANT SELECT, INSERT, UPDATE ON hub.principal, hub.api_key TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.challenge TO hub_app;
