-- Why: everything but calls: entries of a single step, reversals, and the closing of periods.

-- Months whose books are closed, for good and in order.
CREATE TABLE ledger.period (
  month date PRIMARY KEY CHECK (extract(day FROM month) = 1),
  closed_at timestamptz NOT NULL DEFAULT now(),
  author text NOT NULL CHECK (length(author) BETWEEN 1 AND 200)
);
SELECT ledger.protect('ledger.period');

-- The first instant that is not in a closed month.
CREATE FUNCTION ledger.open_since() RETURNS timestamptz LANGUAGE sql STABLE RETURN
  (SELECT coalesce((max(month) + interval '1 month') AT TIME ZONE 'UTC', '-infinity')
    FROM ledger.period);

-- Closes every month up to this one, in order, from the first that has entries, and returns those that were
-- open. A month can be closed when it is over.
CREATE FUNCTION ledger.close_period(p_month date, p_author text) RETURNS SETOF date
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  over timestamptz := (p_month + interval '1 month') AT TIME ZONE 'UTC';
  first date;
BEGIN
  PERFORM FROM head ORDER BY shard FOR UPDATE; -- nobody books while the door closes
  IF over > clock_timestamp() THEN
    RAISE EXCEPTION 'the month % is not over yet', to_char(p_month, 'YYYY-MM')
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE head SET at = over WHERE at < over; -- also by a clock that is set back
  SELECT coalesce((SELECT max(p.month) + interval '1 month' FROM period p),
      least(date_trunc('month', min(s.at) AT TIME ZONE 'UTC'), p_month)) INTO first FROM seal s;
  RETURN QUERY INSERT INTO period AS p (month, author)
    SELECT m, p_author FROM generate_series(first, p_month, interval '1 month') m RETURNING p.month;
END $$;

-- Raises an error unless an entry is balanced for each asset, and its kind may touch these accounts.
CREATE FUNCTION ledger.check_entry(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb)
RETURNS void LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  offender text;
BEGIN
  IF EXISTS (SELECT FROM unnest(p_accounts, p_amounts) u(account, amount)
      LEFT JOIN account a ON a.id = u.account GROUP BY a.asset HAVING sum(u.amount) <> 0
        OR a.asset IS NULL) THEN
    RAISE EXCEPTION 'not balanced, or an unknown account: % %', p_accounts, p_amounts
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT a.code INTO offender FROM unnest(p_accounts, p_amounts) u(account, amount)
    JOIN account a ON a.id = u.account
    WHERE u.amount = 0 OR a.id IN (2, 30, 40) -- what is held, only the steps of calls may change
      OR NOT a.code LIKE ANY (CASE WHEN u.amount < 0 THEN p_kind.debits ELSE p_kind.credits END)
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% may not be booked on % so', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
  SELECT n INTO offender FROM unnest(p_kind.needs) n
    WHERE coalesce(length(trim(p_meta ->> n)), 0) = 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% needs a % in its meta', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
END $$;

-- Posts one balanced entry (purchase, grant, payout, reversal …), known by (owner, id, phase). Answers
-- the number of an outcome in core/ledger/events.ts. Amounts are credit-positive and sum to zero for
-- each asset. A value date in a closed month is an error of state AH001: it needs another one.
CREATE FUNCTION ledger.post(
  p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[],
  p_amounts bigint[], p_effective_at timestamptz DEFAULT NULL, p_meta jsonb DEFAULT NULL
) RETURNS smallint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  known journal;
  settled journal;
  entry journal;
  posted kind;
  updated integer;
BEGIN
  SELECT h.seq, h.hash, greatest(clock_timestamp(), h.at) INTO STRICT base, link, instant
    FROM head h WHERE h.shard = p_shard FOR UPDATE;
  SELECT * INTO posted FROM kind k WHERE k.event = p_event AND k.phase IN (0, 3);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such event: %', p_event USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO known FROM journal WHERE owner = p_owner AND id = p_id AND phase = posted.phase;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted.id AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  PERFORM check_entry(posted, p_accounts, p_amounts, p_meta);
  IF p_effective_at < open_since() THEN
    RAISE EXCEPTION 'the books of % are closed', to_char(p_effective_at AT TIME ZONE 'UTC', 'YYYY-MM')
      USING ERRCODE = 'AH001';
  END IF;
  IF posted.phase = 3 THEN -- a call is reversed once, and by at most what was charged
    SELECT * INTO settled FROM journal WHERE owner = p_owner AND id = p_id AND phase = 2 AND kind = 2;
    IF NOT FOUND THEN RETURN 3; END IF;
    IF (SELECT bool_or(u.account <> p_owner) OR sum(u.amount) > settled.amount
        FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.amount > 0) THEN
      RETURN 4;
    END IF;
  END IF;
  IF EXISTS (SELECT FROM (SELECT u.account, sum(u.amount) AS delta
        FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
      JOIN balance b ON b.account = d.account AND b.shard = p_shard
      WHERE b.balance + d.delta < b.floor) THEN
    RETURN 0;
  END IF;
  -- Clocks of the outside may be a little ahead of ours: then its value date is when it is booked.
  SELECT p_id, p_owner, base + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, a.asset, p_shard, posted.id,
      posted.phase, NULL, p_accounts, p_amounts,
      CASE WHEN p_effective_at < instant THEN p_effective_at END, p_meta, NULL
    INTO entry FROM account a WHERE a.id = p_accounts[1];
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  UPDATE balance b SET balance = b.balance + d.delta
    FROM (SELECT l.account, sum(l.amount)::bigint AS delta FROM legs(entry) l GROUP BY l.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $$;

-- ── Keys of callers ─────────────────────────────────────────────────────────────────────────

-- A caller's own key for what it asked, the hash of all that it asked, and the id that this was given.
-- Kept for ever: a key means one thing.
CREATE TABLE ledger.idempotency (
  owner bigint NOT NULL REFERENCES ledger.account,
  key bytea NOT NULL CHECK (length(key) = 32),     -- sha256
  inputs bytea NOT NULL CHECK (length(inputs) = 32), -- sha256
  id uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (owner, key)
);
SELECT ledger.protect('ledger.idempotency');

-- Gives what was asked under this key its id: `p_id` the first time, and that one ever after. The
-- outcome is 1, 2 for the same again, or 5 when the key was used for something else.
CREATE FUNCTION ledger.claim_key(p_owner bigint, p_key text, p_inputs text, p_id uuid,
  OUT id uuid, OUT outcome smallint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  hash bytea := sha256(convert_to(p_key, 'UTF8'));
  known idempotency;
BEGIN
  INSERT INTO idempotency (owner, key, inputs, id)
    VALUES (p_owner, hash, sha256(convert_to(p_inputs, 'UTF8')), p_id) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    claim_key.id := p_id;
    outcome := 1;
    RETURN;
  END IF;
  SELECT * INTO STRICT known FROM idempotency i WHERE i.owner = p_owner AND i.key = hash;
  claim_key.id := known.id;
  outcome := CASE WHEN known.inputs = sha256(convert_to(p_inputs, 'UTF8')) THEN 2 ELSE 5 END;
END $$;

REVOKE EXECUTE ON FUNCTION ledger.post, ledger.check_entry, ledger.open_since, ledger.close_period,
  ledger.claim_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post, ledger.open_since, ledger.close_period, ledger.claim_key TO hub_app;
GRANT SELECT ON ledger.period, ledger.idempotency TO hub_app;
