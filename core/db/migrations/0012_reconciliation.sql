-- Why: the books against the chain. What the chain says of our wallets and what the journal says of them
-- stand side by side, each transfer tied to its entry; what has no counterpart is an exception, open
-- until an entry or a reason closes it. Nothing here is ever deleted. Gas (ETH) is not looked at.

CREATE DOMAIN hub.wallet AS text CHECK (VALUE IN ('treasury', 'spend'));
CREATE DOMAIN hub.hash AS text CHECK (VALUE ~ '^0x[0-9a-f]{64}$');
CREATE DOMAIN hub.address AS text CHECK (VALUE ~ '^0x[0-9a-f]{40}$');

-- A run over a range of blocks. The hash of its last block stands for all blocks before it: while the
-- chain still has it, nothing that was read has changed.
CREATE TABLE hub.reconciliation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  wallet hub.wallet NOT NULL,
  address hub.address NOT NULL,
  from_block bigint NOT NULL CHECK (from_block >= 0),
  to_block bigint NOT NULL CHECK (to_block >= from_block - 1), -- before its first block: nothing yet
  block_hash hub.hash NOT NULL,
  block_time timestamptz NOT NULL,
  chain_balance bigint,  -- at `to_block`; null where the run did not reach the newest final block
  ledger_balance bigint NOT NULL, -- debit-positive, what is in transit included
  transfers integer NOT NULL, -- in the range
  matched integer NOT NULL,   -- tied to an entry by this run
  pending integer NOT NULL,
  exceptions integer NOT NULL, -- open after the run
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX reconciliation_newest ON hub.reconciliation (wallet, address, id DESC);

-- What the journal says that a wallet paid or received: a row for each entry and wallet, derived from
-- the journal and only here so that it can be looked up. `transit` is the part that waits in
-- assets:usdc:base:in-transit, as far as no other entry has taken it out again.
CREATE TABLE hub.wallet_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  wallet hub.wallet NOT NULL,
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  owner bigint NOT NULL,
  entry uuid NOT NULL,
  phase smallint NOT NULL,
  event text NOT NULL,
  amount bigint NOT NULL, -- received above zero, paid below
  transit bigint NOT NULL,
  tx hub.hash,
  payer hub.address,      -- who must have sent it, where the entry names somebody
  opens_at bigint,        -- balance.opened: the block whose balance it tells
  exception bigint,       -- which exception it says it answers
  answers bigint UNIQUE,  -- which one it does
  at timestamptz NOT NULL,
  matched boolean NOT NULL DEFAULT false, -- whether a transfer in hub.transfer has it now
  UNIQUE (shard, seq, wallet),
  UNIQUE (id, wallet, tx, amount),
  FOREIGN KEY (owner, entry, phase) REFERENCES ledger.journal (owner, id, phase)
);
CREATE INDEX wallet_entry_unmatched ON hub.wallet_entry (wallet) WHERE NOT matched AND amount <> 0;
CREATE INDEX wallet_entry_entry ON hub.wallet_entry (entry);
CREATE INDEX wallet_entry_transit ON hub.wallet_entry (entry) WHERE transit <> 0;
CREATE INDEX wallet_entry_exception ON hub.wallet_entry (exception) WHERE exception IS NOT NULL;

-- Every USDC transfer from or to a wallet of ours, once for each of our wallets that it concerns. One
-- that a reorganisation took away keeps its row, with `gone_at`; what comes back in another block is
-- another row. The foreign key holds that a match is of one wallet, transaction and amount, the unique
-- index that it is one to one.
CREATE TABLE hub.transfer (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  wallet hub.wallet NOT NULL,
  tx hub.hash NOT NULL,
  log_index integer NOT NULL,
  block bigint NOT NULL,
  block_hash hub.hash NOT NULL,
  sender hub.address NOT NULL,
  recipient hub.address NOT NULL,
  amount bigint NOT NULL CHECK (amount <> 0), -- received above zero, paid below
  entry bigint,
  gone_at timestamptz,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (block_hash, log_index, amount),
  FOREIGN KEY (entry, wallet, tx, amount) REFERENCES hub.wallet_entry (id, wallet, tx, amount)
);
CREATE UNIQUE INDEX transfer_entry ON hub.transfer (entry) WHERE gone_at IS NULL;
CREATE INDEX transfer_gone ON hub.transfer (entry) WHERE gone_at IS NOT NULL;
CREATE INDEX transfer_unmatched ON hub.transfer (wallet) WHERE entry IS NULL AND gone_at IS NULL;
CREATE INDEX transfer_block ON hub.transfer (wallet, block);
CREATE INDEX transfer_tx ON hub.transfer (tx, wallet);

CREATE TABLE hub.reconciliation_exception (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  wallet hub.wallet NOT NULL,
  kind text NOT NULL CHECK (kind IN ('unknown_deposit', 'unknown_withdrawal', 'missing_on_chain',
    'amount_differs', 'booked_twice', 'no_transaction', 'balance_differs', 'reorganised')),
  fact text NOT NULL,     -- what it is about, exactly: found again, it is the same exception
  amount bigint NOT NULL, -- what the chain has more than the books by it; below zero: less
  reason text NOT NULL CHECK (length(reason) > 0),
  tx hub.hash,
  block bigint,
  transfer bigint REFERENCES hub.transfer,
  entry bigint REFERENCES hub.wallet_entry,
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- found again, the last time
  resolved_at timestamptz,
  -- booked: an entry makes up for it; explained: a person says why it needs none;
  -- vanished: a later run found what was missing.
  resolution text CHECK (resolution IN ('booked', 'explained', 'vanished')),
  author text CHECK (length(trim(author)) BETWEEN 1 AND 200),
  explanation text CHECK (length(trim(explanation)) > 0),
  answer bigint REFERENCES ledger.account, -- the entry that was booked: its owner …
  answer_id uuid,                          -- … and id
  answer_phase smallint GENERATED ALWAYS AS (0) STORED,
  FOREIGN KEY (answer, answer_id, answer_phase) REFERENCES ledger.journal (owner, id, phase),
  CONSTRAINT exception_resolved CHECK (CASE resolution
    WHEN 'booked' THEN num_nulls(resolved_at, author, explanation, answer, answer_id) = 0
    WHEN 'explained' THEN num_nulls(resolved_at, author, explanation) = 0 AND answer IS NULL
    WHEN 'vanished' THEN num_nulls(resolved_at, explanation) = 0 AND author IS NULL AND answer IS NULL
    ELSE num_nonnulls(resolved_at, author, explanation, answer, answer_id) = 0 END)
);
CREATE UNIQUE INDEX exception_open ON hub.reconciliation_exception (fact) WHERE resolved_at IS NULL;
CREATE INDEX exception_transfer ON hub.reconciliation_exception (transfer);
CREATE INDEX exception_entry ON hub.reconciliation_exception (entry);
ALTER TABLE hub.wallet_entry ADD FOREIGN KEY (answers) REFERENCES hub.reconciliation_exception;

-- What an exception says never changes; it is closed once, and stays.
CREATE FUNCTION hub.keep_exception() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.resolved_at IS NOT NULL OR (NEW.id, NEW.wallet, NEW.kind, NEW.fact, NEW.amount, NEW.reason, NEW.tx,
      NEW.block, NEW.transfer, NEW.entry, NEW.found_at) IS DISTINCT FROM (OLD.id, OLD.wallet, OLD.kind,
      OLD.fact, OLD.amount, OLD.reason, OLD.tx, OLD.block, OLD.transfer, OLD.entry, OLD.found_at) THEN
    RAISE EXCEPTION 'exception % stays as it is', OLD.id USING ERRCODE = 'restrict_violation',
      HINT = 'Resolve it while it is open; what was resolved wrongly is corrected by another entry.';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE ON hub.reconciliation_exception
  FOR EACH ROW EXECUTE FUNCTION hub.keep_exception();

CREATE FUNCTION hub.keep_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'evidence is kept: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END $$;
DO $$
DECLARE
  kept text;
BEGIN
  FOREACH kept IN ARRAY ARRAY['transfer', 'wallet_entry', 'reconciliation_exception'] LOOP
    EXECUTE format('CREATE TRIGGER keep_row BEFORE DELETE ON hub.%I
      FOR EACH ROW EXECUTE FUNCTION hub.keep_row()', kept);
    EXECUTE format('CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.%I
      FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row()', kept);
  END LOOP;
END $$;
SELECT ledger.protect('hub.reconciliation');

-- Whether sellers are paid: not while the switch is off, nor while the books were held against the chain
-- too long ago. After a restore from a backup they were, so that no payment is made that the books may
-- have forgotten they made. Where they never were, nothing was paid either.
CREATE VIEW hub.outgoing_state AS
  SELECT coalesce(s.paused, false) OR coalesce(r.overdue, false) AS paused,
    CASE WHEN r.overdue AND s.paused IS NOT TRUE THEN 'reconciliation' ELSE s.author END AS author,
    CASE WHEN r.overdue AND s.paused IS NOT TRUE
      THEN 'The books have not been held against the chain for ten minutes.' ELSE s.reason END AS reason,
    CASE WHEN r.overdue AND s.paused IS NOT TRUE THEN r.at ELSE s.at END AS at
  FROM (VALUES (1)) one (n)
  LEFT JOIN LATERAL (SELECT * FROM hub.outgoing_switch ORDER BY id DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (SELECT at, at < clock_timestamp() - interval '10 minutes' AS overdue
    FROM hub.reconciliation WHERE wallet = 'spend' AND chain_balance IS NOT NULL
    ORDER BY id DESC LIMIT 1) r ON true;
GRANT SELECT ON hub.outgoing_state TO hub_app;

GRANT SELECT, INSERT ON hub.reconciliation, hub.transfer, hub.wallet_entry, hub.reconciliation_exception
  TO hub_app;
GRANT UPDATE (entry, gone_at) ON hub.transfer TO hub_app;
GRANT UPDATE (tx, transit, answers, matched) ON hub.wallet_entry TO hub_app;
GRANT UPDATE (seen_at, resolved_at, resolution, author, explanation, answer, answer_id)
  ON hub.reconciliation_exception TO hub_app;
