-- Why: the wallet that pays for gas: one number for each transaction, none lost, and its gas in the books.

-- Whoever sends locks the row of the wallet, so that two processes never use a number twice. The node
-- counts; what it may not have seen yet stands in hub.sent_transaction.
CREATE TABLE hub.wallet_nonce (
  chain_id integer NOT NULL,
  address hub.address NOT NULL,
  PRIMARY KEY (chain_id, address)
);

-- A transaction of ours, from before it leaves until its gas is in the books.
CREATE TABLE hub.sent_transaction (
  hash hub.hash PRIMARY KEY,
  chain_id integer NOT NULL,
  sender hub.address NOT NULL,
  nonce integer NOT NULL,
  raw bytea NOT NULL,       -- signed: the same again is the same transaction
  kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since its block is final:
  mined_at timestamptz,     -- the time of that block
  wei bigint CHECK (wei >= 0),
  gwei bigint CHECK (gwei >= 0),
  worth bigint CHECK (worth >= 0), -- microdollars
  CHECK (num_nulls(mined_at, wei, gwei, worth) IN (0, 4))
);
CREATE INDEX sent_transaction_number ON hub.sent_transaction (chain_id, sender, nonce);

-- A payment that a transaction of ours settles, until the fate of the transaction is known: none is
-- under way twice.
CREATE TABLE hub.sent_payment (
  payment bytea PRIMARY KEY CHECK (length(payment) = 32), -- sha256 of its signature
  hash hub.hash NOT NULL REFERENCES hub.sent_transaction ON DELETE CASCADE
);
CREATE INDEX sent_payment_hash ON hub.sent_payment (hash);

-- A wallet that pays for gas. The books count gwei, the chain wei: `rest` is what it held beyond the whole
-- gwei of the books, after the last transaction that was counted.
CREATE TABLE hub.gas_wallet (
  chain_id integer NOT NULL,
  address hub.address NOT NULL,
  opening bigint NOT NULL CHECK (opening >= 0), -- gwei before the first transaction of the books
  opened_at bigint NOT NULL,                    -- the block that it was read in
  booked boolean NOT NULL DEFAULT false,        -- the opening
  rest bigint NOT NULL CHECK (rest BETWEEN 0 AND 999999999), -- wei
  balance bigint CHECK (balance >= 0),          -- gwei on chain, when it was looked at
  low boolean,
  looked_at timestamptz,
  PRIMARY KEY (chain_id, address)
);

GRANT SELECT, INSERT, UPDATE ON hub.wallet_nonce, hub.gas_wallet TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.sent_transaction TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.sent_payment TO hub_app;
