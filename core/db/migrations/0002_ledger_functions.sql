-- Why: the only ways into the ledger. The hub's role may execute these functions and read; it can
-- write no table of the ledger itself.

-- ── The chart of accounts of the house ──────────────────────────────────────────────────────

INSERT INTO ledger.account (id, code, asset) VALUES
  (1, 'income:commission', 1),
  (2, 'liabilities:holds', 1),
  (3, 'assets:usdc:base:treasury', 1),
  (4, 'assets:usdc:base:in-transit', 1),
  (5, 'assets:usdc:base:spend', 1),
  (6, 'liabilities:x402-out:in-transit', 1),
  (13, 'equity:opening', 1),
  (30, 'liabilities:free-calls:holds', 3),
  (31, 'equity:free-calls:granted', 3),
  (32, 'equity:free-calls:used', 3),
  (40, 'liabilities:allowances:holds', 4),
  (41, 'equity:allowances:granted', 4),
  (42, 'equity:allowances:used', 4);

-- Opens a shard: its head, and its balance of every account that all shards have.
CREATE FUNCTION ledger.open_shard(p_shard smallint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO head (shard) VALUES (p_shard) ON CONFLICT DO NOTHING;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT id, p_shard, asset, CASE WHEN id IN (2, 6, 30, 40) THEN 0 END FROM account WHERE home IS NULL
    ON CONFLICT DO NOTHING $$;
SELECT ledger.open_shard(0::smallint);

-- Gives the account of a code, opening it when it is new. With a home it has one balance, on that
-- shard; without, one on every shard.
CREATE FUNCTION ledger.open_account(
  p_code text, p_asset smallint, p_home smallint DEFAULT NULL, p_floor bigint DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  opened bigint;
BEGIN
  SELECT id INTO opened FROM account WHERE code = p_code;
  IF FOUND THEN RETURN opened; END IF;
  INSERT INTO account (code, asset, home) VALUES (p_code, p_asset, p_home)
    ON CONFLICT (code) DO NOTHING RETURNING id INTO opened;
  IF opened IS NULL THEN -- somebody else opened it meanwhile
    SELECT id INTO STRICT opened FROM account WHERE code = p_code;
    RETURN opened;
  END IF;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT opened, shard, p_asset, p_floor FROM head WHERE p_home IS NULL OR shard = p_home;
  RETURN opened;
END $$;

-- ── Calls: reserve and resolve, in batches ──────────────────────────────────────────────────

-- Outcomes, the same numbers as in core/ledger/events.ts: 0 insufficient_funds, 1 applied,
-- 2 replayed, 3 no_such_hold, 4 above_hold, 5 id_reused_with_other_terms.
CREATE TYPE ledger.judged AS (
  n integer, k smallint, owner bigint, id uuid, amount bigint, payee bigint, bps smallint,
  ttl integer, endpoint integer, price_version integer, held bigint, asset smallint,
  guards bigint[], available bigint, outcome smallint);

-- Applies one batch of operations of one shard, in their order, and answers the outcome of each
-- and the owner's balance after the batch. The arrays are parallel:
--   k       1 reserve, 2 settle, 3 release, 4 expire (a hold whose time is up)
--   owner   account that pays; a hold is known by (owner, id)
--   amount  to reserve or to charge, > 0 for a reserve; ignored for 3 and 4
--   payee, bps, ttl (seconds), endpoint, price_version: terms of a reserve, ignored otherwise
-- guard_n and guard hold further accounts that operation number guard_n debits by the same amount,
-- all or none. The ids of one batch are distinct (the batcher sees to it; the key enforces it).
-- Plans are pinned (index probes from the first row on): one cached while the journal was empty
-- must not become a scan later.
CREATE FUNCTION ledger.apply(
  p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], payee bigint[],
  bps smallint[], ttl integer[], endpoint integer[], price_version integer[],
  guard_n integer[], guard bigint[], OUT outcomes smallint[], OUT balances bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  ops judged[];
  op judged;
  short bigint[];
  available bigint[];
  place integer;
  places integer[];
  passes boolean;
  entries journal[];
  touched bigint[];
  deltas bigint[];
  updated integer;
BEGIN
  SELECT h.seq, h.hash INTO STRICT base, link FROM head h WHERE h.shard = p_shard FOR UPDATE;
  instant := clock_timestamp();

  -- What the journal already knows of each id. Outcome null: a reserve that funds will decide.
  SELECT array_agg(ROW(o.n, o.k, o.owner, o.id, o.amount,
      CASE WHEN o.k = 1 THEN o.payee ELSE j.payee END,
      CASE WHEN o.k = 1 THEN o.bps ELSE j.bps END, o.ttl,
      CASE WHEN o.k = 1 THEN o.endpoint ELSE j.endpoint END,
      CASE WHEN o.k = 1 THEN o.price_version ELSE j.price_version END,
      j.amount + j.rest, coalesce(j.asset, b.asset), CASE WHEN o.k = 1 THEN g.guards ELSE j.guards END,
      b.balance - coalesce(b.floor, -4611686018427387904),
      CASE
        WHEN o.k = 1 AND j.phase IS NULL THEN NULL
        WHEN o.k = 1 THEN CASE WHEN j.amount + j.rest = o.amount AND j.payee = o.payee
          AND j.guards IS NOT DISTINCT FROM g.guards THEN 2 ELSE 5 END
        WHEN j.phase IS NULL THEN 3
        WHEN j.phase = 2 THEN CASE WHEN j.kind = o.k AND (o.k > 2 OR j.amount = o.amount)
          THEN 2 ELSE 5 END
        WHEN o.k = 2 AND o.amount > j.amount THEN 4
        WHEN o.k = 4 AND j.expires_at > instant THEN 3
        ELSE 1 END)::judged ORDER BY o.n)
    INTO ops
    FROM unnest(k, owner, id, amount, payee, bps, ttl, endpoint, price_version) WITH ORDINALITY
      AS o(k, owner, id, amount, payee, bps, ttl, endpoint, price_version, n)
    LEFT JOIN LATERAL (SELECT * FROM journal j WHERE j.owner = o.owner AND j.id = o.id
      AND j.phase > 0 ORDER BY j.phase DESC LIMIT 1) j ON true
    LEFT JOIN LATERAL (SELECT * FROM balance b WHERE b.account = o.owner AND b.shard = p_shard
      LIMIT 1) b ON true
    CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(guard_n) > 0 THEN (SELECT array_agg(x.account)
      FROM unnest(guard_n, guard) AS x(n, account) WHERE x.n = o.n) END AS guards) g;

  -- Which accounts could not pay for everything that this batch asks of them?
  SELECT array_agg(d.account), array_agg(coalesce(d.available, 0)) INTO short, available FROM (
      SELECT o.owner AS account, max(o.available) AS available, sum(o.amount) AS demand
        FROM unnest(ops) o WHERE o.outcome IS NULL GROUP BY o.owner
      UNION ALL
      SELECT u.account, max(b.balance - b.floor), sum(o.amount)
        FROM unnest(ops) o CROSS JOIN LATERAL unnest(o.guards) u(account)
        LEFT JOIN LATERAL (SELECT * FROM balance b WHERE b.account = u.account
          AND b.shard = p_shard LIMIT 1) b ON true
        WHERE o.outcome IS NULL AND o.guards IS NOT NULL GROUP BY u.account) d
    WHERE d.available IS NULL OR d.available < d.demand;

  -- Only what touches those accounts is judged one by one, in order of arrival, so that a refused
  -- operation takes nothing from a later one.
  IF short IS NOT NULL THEN
    FOR op IN SELECT * FROM unnest(ops) o
        WHERE o.owner = ANY (short) OR o.guards && short ORDER BY o.n LOOP
      places := NULL;
      passes := true;
      FOR place IN SELECT p FROM unnest(short) WITH ORDINALITY s(account, p)
          WHERE s.account = op.owner OR s.account = ANY (op.guards) LOOP
        places := array_append(places, place);
        passes := passes AND available[place] >= op.amount;
      END LOOP;
      IF op.outcome IS NULL AND NOT passes THEN
        ops[op.n].outcome := 0;
      ELSIF op.outcome IS NULL OR op.outcome = 1 THEN
        FOREACH place IN ARRAY places LOOP
          available[place] := available[place] + CASE
            WHEN op.k = 1 THEN -op.amount
            WHEN op.k = 2 THEN op.held - op.amount
            ELSE op.held END;
        END LOOP;
      END IF;
    END LOOP;
  END IF;

  SELECT array_agg(ROW(x.*, sha256(record_send(ROW(x.*))))::journal ORDER BY x.seq) INTO entries FROM (
    SELECT o.id, o.owner, base + row_number() OVER (ORDER BY o.n) AS seq, instant AS at,
      CASE WHEN o.k > 2 THEN 0 ELSE o.amount END AS amount,
      CASE o.k WHEN 1 THEN 0 WHEN 2 THEN o.held - o.amount ELSE o.held END AS rest,
      CASE o.k WHEN 2 THEN o.amount * o.bps / 10000 ELSE 0 END AS fee,
      o.payee, CASE o.k WHEN 1 THEN instant + make_interval(secs => o.ttl) END AS expires_at,
      o.endpoint, o.price_version, o.bps, o.asset, p_shard AS shard, o.k AS kind,
      CASE o.k WHEN 1 THEN 1 ELSE 2 END::smallint AS phase, o.guards, NULL::bigint[] AS accounts,
      NULL::bigint[] AS amounts, NULL::timestamptz AS effective_at, NULL::jsonb AS meta
    FROM unnest(ops) o WHERE coalesce(o.outcome, 1) = 1) x;

  IF entries IS NOT NULL THEN
    INSERT INTO journal SELECT e.* FROM unnest(entries) e;
    SELECT array_agg(d.account), array_agg(d.delta) INTO touched, deltas
      FROM (SELECT l.account, sum(l.amount)::bigint AS delta FROM unnest(entries) e, legs(e) l
        GROUP BY l.account) d
      WHERE d.delta <> 0;
    UPDATE balance b SET balance = b.balance + d.delta
      FROM unnest(touched, deltas) d(account, delta)
      WHERE b.account = d.account AND b.shard = p_shard;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(touched) THEN RAISE EXCEPTION 'unknown account in batch'; END IF;
    PERFORM seal_batch(p_shard, base, link, instant, entries);
  END IF;

  SELECT array_agg(coalesce(o.outcome, 1::smallint) ORDER BY o.n), array_agg(b.balance ORDER BY o.n)
    INTO outcomes, balances FROM unnest(ops) o
    LEFT JOIN LATERAL (SELECT b.balance FROM balance b
      WHERE b.account = o.owner AND b.shard = p_shard LIMIT 1) b ON true;
END $$;

-- Appends a link to the hash chain and moves the head; the caller holds the head's lock.
CREATE FUNCTION ledger.seal_batch(
  p_shard smallint, base bigint, link bytea, instant timestamptz, entries ledger.journal[]
) RETURNS void LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  last bigint := base + cardinality(entries);
  next bytea;
BEGIN
  SELECT sha256(link || string_agg(e.leaf, '' ORDER BY e.seq)) INTO next FROM unnest(entries) e;
  INSERT INTO seal VALUES (p_shard, base + 1, last, instant, link, next);
  UPDATE head SET seq = last, hash = next WHERE shard = p_shard;
END $$;

-- ── Everything else: entries of a single step ───────────────────────────────────────────────

-- Posts one balanced entry (purchase, grant, payout, correction …), known by (owner, id). Answers
-- an outcome as above. Amounts are credit-positive and sum to zero for each asset.
CREATE FUNCTION ledger.post(
  p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[],
  p_amounts bigint[], p_effective_at timestamptz DEFAULT NULL, p_meta jsonb DEFAULT NULL
) RETURNS smallint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  known journal;
  entry journal;
  posted_kind smallint;
  updated integer;
BEGIN
  SELECT seq, hash INTO STRICT base, link FROM head WHERE shard = p_shard FOR UPDATE;
  instant := clock_timestamp();
  SELECT k.id INTO STRICT posted_kind FROM kind k WHERE k.event = p_event AND k.phase = 0;
  SELECT * INTO known FROM journal WHERE owner = p_owner AND id = p_id AND phase = 0;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted_kind AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  IF EXISTS (SELECT FROM unnest(p_accounts, p_amounts) u(account, amount)
      LEFT JOIN account a ON a.id = u.account GROUP BY a.asset HAVING sum(u.amount) <> 0
        OR a.asset IS NULL) THEN
    RAISE EXCEPTION 'not balanced, or an unknown account: % %', p_accounts, p_amounts
      USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT FROM (SELECT u.account, sum(u.amount) AS delta
        FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
      JOIN balance b ON b.account = d.account AND b.shard = p_shard
      WHERE b.balance + d.delta < b.floor) THEN
    RETURN 0;
  END IF;
  SELECT p_id, p_owner, base + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, a.asset, p_shard, posted_kind,
      0, NULL, p_accounts, p_amounts, p_effective_at, p_meta, NULL
    INTO entry FROM account a WHERE a.id = p_accounts[1];
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  UPDATE balance b SET balance = b.balance + d.delta
    FROM (SELECT l.account, sum(l.amount)::bigint AS delta FROM legs(entry) l GROUP BY l.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts;
  END IF;
  PERFORM seal_batch(p_shard, base, link, instant, ARRAY[entry]);
  RETURN 1;
END $$;

-- ── Rights ──────────────────────────────────────────────────────────────────────────────────

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;
GRANT USAGE ON SCHEMA ledger TO hub_app;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO hub_app;
GRANT EXECUTE ON FUNCTION ledger.apply, ledger.post, ledger.open_account, ledger.ensure_partitions,
  ledger.legs, ledger.leaf, ledger.holds_account, ledger.first_id TO hub_app;
SELECT ledger.ensure_partitions();
