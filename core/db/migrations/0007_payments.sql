-- Why: x402 in both directions, with nothing executed twice and nothing lost.

-- A payment to us, claimed before it is verified: whatever comes with the same authorization again
-- is a replay. An EIP-3009 authorization is known by network, token, payer and nonce.
CREATE TABLE hub.payment_claim (
  network text NOT NULL,
  asset text NOT NULL CHECK (asset ~ '^0x[0-9a-f]{40}$'),
  payer text NOT NULL CHECK (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text NOT NULL CHECK (nonce ~ '^0x[0-9a-f]{64}$'),
  id uuid NOT NULL UNIQUE,          -- of the entry in the journal
  purpose text NOT NULL CHECK (purpose IN ('credits', 'call')),
  payee text NOT NULL,              -- the account that it credits
  commission_bps smallint NOT NULL CHECK (commission_bps BETWEEN 0 AND 10000),
  request_hash bytea NOT NULL,      -- sha256 of what it pays, exactly
  amount bigint NOT NULL CHECK (amount > 0), -- microdollars
  state text NOT NULL DEFAULT 'claimed'
    CHECK (state IN ('claimed', 'settled', 'confirmed', 'pending', 'failed')),
  transaction text,
  valid_before timestamptz NOT NULL, -- after it the authorization is dead
  claimed_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (network, asset, payer, nonce)
);
CREATE INDEX payment_claim_open ON hub.payment_claim (changed_at)
  WHERE state IN ('claimed', 'pending', 'settled');

-- A payment by us, committed before its signature leaves: at most one for each call.
CREATE TABLE hub.payment_intent (
  call uuid PRIMARY KEY,
  owner bigint NOT NULL REFERENCES ledger.account, -- whose hold pays
  url text NOT NULL,
  network text NOT NULL,
  asset text NOT NULL,
  payer text NOT NULL,
  payee text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0), -- microdollars
  nonce text NOT NULL UNIQUE,
  valid_before timestamptz NOT NULL,
  payload_hash text NOT NULL,        -- sha256 of the header that carried it
  from_block bigint NOT NULL,        -- of the chain when it was signed: where to look from
  state text NOT NULL DEFAULT 'signed'
    CHECK (state IN ('signed', 'paid', 'confirmed', 'unresolved', 'unused')),
  transaction text,
  reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX payment_intent_open ON hub.payment_intent (changed_at)
  WHERE state IN ('signed', 'unresolved', 'paid');

GRANT SELECT, INSERT, UPDATE ON hub.payment_intent TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.payment_claim TO hub_app;
