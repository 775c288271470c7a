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

-- A key is a root with credits of its own, or was made by another key: then it spends the credits of its
-- root, within its own limits and those of every key above it. Limits never change.
CREATE TABLE hub.api_key (
  id text PRIMARY KEY CHECK (id ~ '^key_[0-9A-Za-z]{16}$'),
  principal text NOT NULL REFERENCES hub.principal,
  parent text REFERENCES hub.api_key,
  depth smallint NOT NULL DEFAULT 0 CHECK (depth BETWEEN 0 AND 4 AND (depth = 0) = (parent IS NULL)),
  credits bigint NOT NULL REFERENCES ledger.account,    -- those of its root
  name text CHECK (length(name) BETWEEN 1 AND 100),
  max_call bigint CHECK (max_call > 0),                 -- microdollars
  max_day bigint CHECK (max_day > 0),                   -- in a UTC day
  max_total bigint CHECK (max_total > 0),
  services text[] CHECK (cardinality(services) BETWEEN 1 AND 100), -- slugs; null: all
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX api_key_principal ON hub.api_key (principal, id);
CREATE INDEX api_key_parent ON hub.api_key (parent);
CREATE UNIQUE INDEX api_key_root ON hub.api_key (credits) WHERE parent IS NULL;

-- What opens a key. After a rotation the old secret may go on for a while.
CREATE TABLE hub.key_secret (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),     -- sha256 of the whole key
  key text NOT NULL REFERENCES hub.api_key,
  prefix text NOT NULL,                                 -- its first characters, to tell keys apart
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX key_secret_key ON hub.key_secret (key);

GRANT USAGE ON SCHEMA hub TO hub_app;
GRANT SELECT, INSERT, UPDATE ON hub.principal, hub.api_key, hub.key_secret TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.challenge TO hub_app;
