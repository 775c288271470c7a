-- Why: readers of the journal's order. Each keeps a place in it, and moves it in the transaction of its
-- effect; what they keep is a function of the journal and can be rebuilt from it.

-- Up to here a reader repeats what it did before: nothing of it leaves the database again.
ALTER TABLE hub.cursor ADD COLUMN replay_to bigint NOT NULL DEFAULT 0 CHECK (replay_to >= 0);

-- What each account that pays for calls has paid, by UTC day and endpoint.
CREATE TABLE hub.spending (
  account bigint NOT NULL REFERENCES ledger.account,
  day date NOT NULL,
  endpoint integer NOT NULL,
  calls bigint NOT NULL CHECK (calls >= 0),       -- charged, also if with nothing
  charged bigint NOT NULL CHECK (charged >= 0),   -- in units of the account's asset
  given_back bigint NOT NULL CHECK (given_back >= 0), -- holds that were released or expired
  reversed bigint NOT NULL CHECK (reversed >= 0), -- of what was charged, as refunds
  PRIMARY KEY (account, day, endpoint)
);

-- Credits as a reader of the journal has them, and whether they have run low.
CREATE TABLE hub.credit_watch (
  account bigint PRIMARY KEY REFERENCES ledger.account,
  balance bigint NOT NULL,
  armed boolean NOT NULL -- has been above the threshold since it was last told of
);

-- Each time credits fell below the threshold, at this entry.
CREATE TABLE hub.low_balance (
  account bigint NOT NULL REFERENCES ledger.account,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  at timestamptz NOT NULL,
  balance bigint NOT NULL,
  PRIMARY KEY (account, shard, seq)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON hub.spending, hub.credit_watch TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.low_balance TO hub_app;
