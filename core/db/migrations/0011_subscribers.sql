-- Why: readers of the journal's order. Each keeps a place in it, and moves it in the transaction of its
-- effect; what they keep is a function of the journal and can be rebuilt from it.

-- Up to here a reader repeats what it did before, or what was booked before there was such a reader:
-- nothing of it leaves the database again.
ALTER TABLE hub.cursor ADD COLUMN replay_to bigint NOT NULL DEFAULT 0 CHECK (replay_to >= 0);

-- What calls cost, by who paid, UTC day and endpoint (0: nothing of the catalogue). Money in microdollars.
CREATE TABLE hub.spending (
  payer text NOT NULL,       -- a key, by its credits; or a principal, by its free calls
  day date NOT NULL,
  endpoint integer NOT NULL,
  calls bigint NOT NULL,      -- settled, for money
  charged bigint NOT NULL,
  free_calls bigint NOT NULL,
  failed bigint NOT NULL,     -- calls whose hold went back: released or expired
  released bigint NOT NULL,   -- what they had held
  refunded bigint NOT NULL,   -- of what was charged on this or an earlier day
  PRIMARY KEY (payer, day, endpoint)
) WITH (fillfactor = 70);

-- Below so many microdollars the credits of a key are low; without a row the default holds. This is a
-- setting, and outlives a rebuild.
CREATE TABLE hub.low_balance_threshold (
  account bigint PRIMARY KEY REFERENCES ledger.account,
  threshold bigint NOT NULL CHECK (threshold >= 0)
);

-- What each key owns: its credits, and what calls in flight hold of them.
CREATE TABLE hub.credit_watch (
  account bigint PRIMARY KEY REFERENCES ledger.account,
  balance bigint NOT NULL
) WITH (fillfactor = 70);

-- Each time that fell below the threshold, at this entry.
CREATE TABLE hub.low_balance (
  account bigint NOT NULL REFERENCES ledger.account,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  at timestamptz NOT NULL,
  balance bigint NOT NULL,
  threshold bigint NOT NULL,
  PRIMARY KEY (account, shard, seq)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON hub.spending, hub.credit_watch, hub.low_balance_threshold TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.low_balance TO hub_app;
