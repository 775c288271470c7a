-- Why: providers are paid what they earned, once, whatever dies on the way; and what the platform keeps of
-- their sales is agreed on in rules that are never rewritten.

-- ── Commission ──────────────────────────────────────────────────────────────────────────────

-- The newest rule of a service that is in force counts, else that of its provider, else the default. A price
-- version has the rate of its time, and a call that of its price version: no rule reaches back.
CREATE TABLE hub.commission_rule (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text NOT NULL REFERENCES hub.provider,
  service text REFERENCES hub.service,   -- null: all of the provider's that have no rule of their own
  bps smallint CHECK (bps BETWEEN 0 AND 10000), -- null: from then on there is no rule of its own
  effective_from timestamptz NOT NULL,
  author text NOT NULL CHECK (length(trim(author)) BETWEEN 1 AND 200),
  reason text NOT NULL CHECK (length(trim(reason)) BETWEEN 1 AND 1000),
  set_at timestamptz NOT NULL DEFAULT now(),
  CHECK (effective_from >= set_at)
);
CREATE INDEX commission_rule_order ON hub.commission_rule (provider, service, effective_from, id);

-- The rate that a rule gives, in basis points; null: that of the default.
CREATE FUNCTION hub.commission_of(p_provider text, p_service text, p_at timestamptz DEFAULT now())
RETURNS smallint LANGUAGE sql STABLE RETURN coalesce(
  (SELECT r.bps FROM hub.commission_rule r WHERE r.provider = p_provider AND r.service = p_service
    AND r.effective_from <= p_at ORDER BY r.effective_from DESC, r.id DESC LIMIT 1),
  (SELECT r.bps FROM hub.commission_rule r WHERE r.provider = p_provider AND r.service IS NULL
    AND r.effective_from <= p_at ORDER BY r.effective_from DESC, r.id DESC LIMIT 1));

INSERT INTO hub.commission_rule (provider, bps, effective_from, author, reason)
  SELECT id, commission_bps, now(), 'migration', 'As it was before there were rules.' FROM hub.provider
  WHERE commission_bps IS NOT NULL;
INSERT INTO hub.commission_rule (provider, service, bps, effective_from, author, reason)
  SELECT provider, slug, commission_bps, now(), 'migration', 'As it was before there were rules.'
  FROM hub.service WHERE commission_bps IS NOT NULL;
ALTER TABLE hub.provider DROP COLUMN commission_bps;
ALTER TABLE hub.service DROP COLUMN commission_bps;
SELECT ledger.protect('hub.commission_rule');
GRANT SELECT, INSERT ON hub.commission_rule TO hub_app;

-- ── Where payouts go ────────────────────────────────────────────────────────────────────────

ALTER TABLE hub.challenge DROP CONSTRAINT challenge_purpose_check,
  ADD CONSTRAINT challenge_purpose_check CHECK (purpose IN ('register', 'link', 'transfer', 'payout'));

-- Each address was signed for by its own wallet. The newest one that is effective and was not taken back
-- counts; while a change waits, nothing is paid.
CREATE TABLE hub.payout_address (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text NOT NULL REFERENCES hub.provider,
  address hub.address NOT NULL,
  set_by text NOT NULL REFERENCES hub.principal,
  nonce text NOT NULL UNIQUE,            -- of the challenge that was signed
  set_at timestamptz NOT NULL DEFAULT now(),
  effective_at timestamptz NOT NULL CHECK (effective_at >= set_at),
  withdrawn_at timestamptz CHECK (withdrawn_at < effective_at)
);
CREATE INDEX payout_address_provider ON hub.payout_address (provider, effective_at, id);

-- Where a provider is paid, and where from a later instant on.
CREATE VIEW hub.payout_destination AS
  SELECT p.id AS provider, c.address, c.effective_at AS since, w.id AS next_id, w.address AS next,
    w.effective_at AS next_at
  FROM hub.provider p
  LEFT JOIN LATERAL (SELECT d.* FROM hub.payout_address d WHERE d.provider = p.id
    AND d.withdrawn_at IS NULL AND d.effective_at <= now()
    ORDER BY d.effective_at DESC, d.id DESC LIMIT 1) c ON true
  LEFT JOIN LATERAL (SELECT d.* FROM hub.payout_address d WHERE d.provider = p.id
    AND d.withdrawn_at IS NULL AND d.effective_at > now() ORDER BY d.id DESC LIMIT 1) w ON true;
GRANT SELECT ON hub.payout_destination TO hub_app;

CREATE FUNCTION hub.keep_payout_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.withdrawn_at IS NOT NULL OR OLD.effective_at <= now() OR
      (NEW.id, NEW.provider, NEW.address, NEW.set_by, NEW.nonce, NEW.set_at, NEW.effective_at)
      IS DISTINCT FROM (OLD.id, OLD.provider, OLD.address, OLD.set_by, OLD.nonce, OLD.set_at,
        OLD.effective_at) THEN
    RAISE EXCEPTION 'payout address % stays as it is', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON hub.payout_address
  FOR EACH ROW EXECUTE FUNCTION hub.keep_payout_address();
GRANT SELECT, INSERT, UPDATE (withdrawn_at) ON hub.payout_address TO hub_app;

-- ── Payouts ─────────────────────────────────────────────────────────────────────────────────

-- A payout is one transfer, and is booked out of the wallet by one entry on one shard. What was earned on
-- other shards is carried there by two entries: it leaves one shard and comes to the other.
INSERT INTO ledger.account (id, code, asset) VALUES (23, 'equity:between-shards', 1);
INSERT INTO ledger.balance (account, shard, asset, floor) SELECT 23, shard, 1, NULL FROM ledger.head;
INSERT INTO ledger.kind (id, event, phase, debits, credits, meaning) VALUES
  (42, 'payout.gathered', 0, '{liabilities:payouts:in-transit,equity:between-shards}',
    '{liabilities:payouts:in-transit,equity:between-shards}',
    'a part of a payout leaves one shard, and comes to another by an entry of its own');

-- Lets nobody book on these shards until the transaction ends: what is read is what is there. In the order
-- in which a period is closed, so that nobody waits for whoever waits for them.
CREATE FUNCTION ledger.hold_still(p_shards smallint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM FROM head WHERE shard = ANY (p_shards) ORDER BY shard FOR UPDATE;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.hold_still FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.hold_still TO hub_app;

-- The accounts of what a provider earned.
CREATE INDEX account_provider ON ledger.account (split_part(code, ':', 3))
  WHERE code LIKE 'liabilities:providers:%';
-- Refunds after a payout, and how they were made good: few, and summed up before each payout.
CREATE INDEX journal_receivable ON ledger.journal (kind, id) WHERE kind IN (29, 38, 39);

-- A payout on its way, or at its end. The authorization that pays it follows from provider, day and attempt,
-- so that the chain itself takes it once, though a backup that was restored has forgotten it.
CREATE TABLE hub.payout (
  id uuid PRIMARY KEY,                  -- of its entries in the journal too
  provider text NOT NULL REFERENCES hub.provider,
  batch date NOT NULL,                  -- the UTC day
  attempt smallint NOT NULL CHECK (attempt BETWEEN 1 AND 1000),
  amount bigint NOT NULL CHECK (amount > 0),         -- microdollars
  recovered bigint NOT NULL CHECK (recovered >= 0),  -- of debts, taken out before
  shard smallint NOT NULL REFERENCES ledger.head,    -- where all of it is in transit
  payer hub.address NOT NULL,           -- the spend wallet
  payee hub.address NOT NULL,
  nonce hub.hash NOT NULL UNIQUE,       -- of the authorization (EIP-3009)
  valid_before timestamptz NOT NULL,    -- on the clock of the chain it is dead after this
  from_block bigint NOT NULL,           -- of the chain when it was made: where to look from
  state text NOT NULL DEFAULT 'started' CHECK (state IN ('started', 'confirmed', 'failed')),
  transaction hub.hash,
  reason text,                          -- what the facilitator said last, if it was no success
  started_at timestamptz NOT NULL DEFAULT now(),
  tried_at timestamptz NOT NULL DEFAULT now(),       -- looked at, the last time
  ended_at timestamptz,
  UNIQUE (provider, batch, attempt),
  CHECK ((state = 'started') = (ended_at IS NULL)),
  CHECK (state <> 'confirmed' OR transaction IS NOT NULL)
);
CREATE UNIQUE INDEX payout_of_day ON hub.payout (provider, batch) WHERE state <> 'failed';
CREATE UNIQUE INDEX payout_under_way ON hub.payout (provider) WHERE state = 'started';
CREATE INDEX payout_open ON hub.payout (tried_at) WHERE state = 'started';
CREATE INDEX payout_provider ON hub.payout (provider, id);

-- What a payout took from one account on one shard: all that was there, which is what the entries after
-- `after_seq` and before `upto_seq` came to. `upto_seq` is the entry payout.started itself. The sums of these
-- entries are written down once, after the fact.
CREATE TABLE hub.payout_part (
  payout uuid NOT NULL REFERENCES hub.payout,
  account bigint NOT NULL REFERENCES ledger.account,
  shard smallint NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  entry uuid NOT NULL,
  phase smallint GENERATED ALWAYS AS (0) STORED,
  after_seq bigint NOT NULL CHECK (after_seq >= 0),
  upto_seq bigint NOT NULL CHECK (upto_seq > after_seq),
  calls bigint CHECK (calls >= 0),
  gross bigint CHECK (gross >= 0),            -- what callers paid, and what was paid for them
  commission bigint CHECK (commission BETWEEN 0 AND gross),
  refunded bigint CHECK (refunded >= 0),      -- of the provider's part, after disputes
  other bigint,                               -- debts, earlier payouts that failed, corrections
  PRIMARY KEY (payout, account, shard),
  UNIQUE (account, shard, after_seq),
  UNIQUE (account, shard, upto_seq),
  FOREIGN KEY (account, entry, phase) REFERENCES ledger.journal (owner, id, phase),
  CONSTRAINT payout_part_sums CHECK (num_nulls(calls, gross, commission, refunded, other) IN (0, 5)
    AND coalesce(amount = gross - commission - refunded + other, true))
);
CREATE INDEX payout_part_open ON hub.payout_part (payout) WHERE calls IS NULL;

-- Nothing starts while outgoing payments are paused: AH010, as for sellers.
CREATE FUNCTION hub.admit_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  IF (SELECT paused FROM hub.outgoing_state) THEN
    RAISE EXCEPTION 'outgoing payments are paused' USING ERRCODE = 'AH010';
  END IF;
  IF NEW.state <> 'started' THEN
    RAISE EXCEPTION 'a payout begins at its beginning' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER admit BEFORE INSERT ON hub.payout FOR EACH ROW EXECUTE FUNCTION hub.admit_payout();

-- At the end of its transaction a new payout is exactly what its entries took from the provider, and all of
-- it is in transit on its shard.
CREATE FUNCTION hub.prove_payout() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  taken bigint;
  carried bigint;
BEGIN
  SELECT coalesce(sum(p.amount), 0), coalesce(sum(p.amount) FILTER (WHERE p.shard <> NEW.shard), 0)
    INTO taken, carried
    FROM hub.payout_part p
    JOIN ledger.journal j ON j.owner = p.account AND j.id = p.entry AND j.phase = 0 AND j.kind = 21
      AND j.shard = p.shard AND j.seq = p.upto_seq AND j.accounts = ARRAY[p.account, 7]
      AND j.amounts = ARRAY[-p.amount, p.amount]
    JOIN ledger.account a ON a.id = p.account AND split_part(a.code, ':', 3) = NEW.provider
    WHERE p.payout = NEW.id;
  IF taken <> NEW.amount THEN
    RAISE EXCEPTION 'payout % is of %, and its entries of %', NEW.id, NEW.amount, taken
      USING ERRCODE = 'check_violation';
  END IF;
  IF carried <> (SELECT coalesce(sum(j.amounts[2]), 0) FROM ledger.journal j
      WHERE j.owner = 23 AND j.id = NEW.id AND j.phase = 0 AND j.kind = 42 AND j.shard = NEW.shard
        AND j.accounts = ARRAY[23, 7]::bigint[])
      OR (SELECT sum(b.balance) FROM ledger.balance b WHERE b.account = 23) <> 0 THEN
    RAISE EXCEPTION 'payout %: not all of it is on shard %', NEW.id, NEW.shard
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER prove AFTER INSERT ON hub.payout DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION hub.prove_payout();

-- What a payout is never changes. It ends once, and together with the entries that say so.
CREATE FUNCTION hub.keep_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.state <> 'started' OR
      (NEW.id, NEW.provider, NEW.batch, NEW.attempt, NEW.amount, NEW.recovered, NEW.shard, NEW.payer,
        NEW.payee, NEW.nonce, NEW.valid_before, NEW.from_block, NEW.started_at) IS DISTINCT FROM
      (OLD.id, OLD.provider, OLD.batch, OLD.attempt, OLD.amount, OLD.recovered, OLD.shard, OLD.payer,
        OLD.payee, OLD.nonce, OLD.valid_before, OLD.from_block, OLD.started_at) THEN
    RAISE EXCEPTION 'payout % stays as it is', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.state = 'confirmed' AND NOT EXISTS (SELECT FROM ledger.journal j WHERE j.owner = 7
      AND j.id = NEW.id AND j.phase = 0 AND j.kind = 22 AND j.amounts[1] = -NEW.amount) THEN
    RAISE EXCEPTION 'payout % is not booked out of the wallet', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.state = 'failed' AND NEW.amount <> (SELECT coalesce(sum(j.amounts[2]), 0)
      FROM (SELECT DISTINCT p.account FROM hub.payout_part p WHERE p.payout = NEW.id) p
      JOIN ledger.journal j ON j.owner = p.account AND j.id = NEW.id AND j.phase = 0 AND j.kind = 23) THEN
    RAISE EXCEPTION 'payout % is not owed again', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON hub.payout
  FOR EACH ROW EXECUTE FUNCTION hub.keep_payout();

CREATE FUNCTION hub.keep_payout_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.calls IS NOT NULL OR (NEW.payout, NEW.account, NEW.shard, NEW.amount,
      NEW.entry, NEW.after_seq, NEW.upto_seq) IS DISTINCT FROM (OLD.payout, OLD.account, OLD.shard,
      OLD.amount, OLD.entry, OLD.after_seq, OLD.upto_seq) THEN
    RAISE EXCEPTION 'what payout % took stays as it is', OLD.payout USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON hub.payout_part
  FOR EACH ROW EXECUTE FUNCTION hub.keep_payout_part();

GRANT SELECT, INSERT, UPDATE (state, transaction, reason, tried_at, ended_at) ON hub.payout TO hub_app;
GRANT SELECT, INSERT, UPDATE (calls, gross, commission, refunded, other) ON hub.payout_part TO hub_app;

-- ── Earnings by day ─────────────────────────────────────────────────────────────────────────

-- What calls came to for those who earn, by UTC day: a function of the journal, and rebuilt from it. Payouts
-- and corrections are none of it.
CREATE TABLE hub.earning (
  account bigint NOT NULL REFERENCES ledger.account,
  day date NOT NULL,
  calls bigint NOT NULL,
  gross bigint NOT NULL,       -- what callers paid, and what was paid for them
  commission bigint NOT NULL,
  refunded bigint NOT NULL,    -- the provider's part of what callers got back on this day
  PRIMARY KEY (account, day)
) WITH (fillfactor = 70);
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.earning TO hub_app;

ALTER TABLE hub.mail DROP CONSTRAINT mail_template_check,
  ADD CONSTRAINT mail_template_check CHECK (template IN ('sign-in', 'payout-sent', 'payout-address'));
