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

-- Applies one batch of operations of one shard, in their order, and answers the outcome of each
-- and, for resolved holds, the owner's balance after the batch. The arrays are parallel:
--   k       1 reserve, 2 settle, 3 release, 4 expire (a hold whose time is up)
--   owner   account that pays; a hold is known by (owner, id)
--   amount  to reserve or to charge, > 0 for a reserve; ignored for 3 and 4
--   asset, payee, bps, ttl (seconds), endpoint, price_version: terms of a reserve, else ignored
-- guard_n and guard hold further accounts that operation number guard_n debits by the same amount,
-- all or none. The ids of one batch are distinct (the batcher sees to it; the key enforces it).
-- A repeated id violates the key, and the caller then repeats the batch with exact = true, which
-- looks first: nobody pays for replays but those who replay.
-- Plans are pinned (index probes from the first row on): one cached while the journal was empty
-- must not become a scan later.
CREATE FUNCTION ledger.apply(
  p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[],
  payee bigint[], bps smallint[], ttl integer[], endpoint integer[], price_version integer[],
  guard_n integer[], guard bigint[], exact boolean, OUT outcomes smallint[], OUT balances bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  size integer := cardinality(k);
  base bigint;
  link bytea;
  instant timestamptz;
  first uuid;
  final uuid;
  refused boolean[];
  applied integer;
  touched bigint[];
  deltas bigint[];
  updated integer;
BEGIN
  SELECT h.seq, h.hash INTO STRICT base, link FROM head h WHERE h.shard = p_shard FOR UPDATE;
  instant := clock_timestamp();
  -- The bounds let PostgreSQL leave out all partitions but those of the batch before it starts.
  SELECT x INTO first FROM unnest(id) x ORDER BY x LIMIT 1;
  SELECT x INTO final FROM unnest(id) x ORDER BY x DESC LIMIT 1;

  -- Could every account pay for everything that this batch asks of it? Then all may pass.
  PERFORM FROM (
      SELECT o.owner AS account, o.asset, sum(o.amount) AS demand
        FROM unnest(k, owner, asset, amount) o(k, owner, asset, amount)
        WHERE o.k = 1 GROUP BY o.owner, o.asset
      UNION ALL
      SELECT g.account, 4, sum(amount[g.n]) FROM unnest(guard_n, guard) g(n, account)
        GROUP BY g.account) d
    LEFT JOIN LATERAL (SELECT * FROM balance b WHERE b.account = d.account AND b.shard = p_shard
      LIMIT 1) b ON true
    WHERE b.account IS NULL OR b.asset <> d.asset OR b.balance - b.floor < d.demand
    LIMIT 1;
  IF FOUND THEN
    refused := refuse(p_shard, k, owner, id, amount, asset, guard_n, guard, instant);
  END IF;

  INSERT INTO journal SELECT x.*, sha256(record_send(ROW(x.*))) FROM (
    SELECT o.id, o.owner, base + row_number() OVER () AS seq, instant AS at,
      CASE WHEN o.k > 2 THEN 0 ELSE o.amount END AS amount,
      CASE o.k WHEN 1 THEN 0 WHEN 2 THEN h.amount - o.amount ELSE h.amount END AS rest,
      CASE o.k WHEN 2 THEN o.amount * h.bps / 10000 ELSE 0 END AS fee,
      coalesce(h.payee, o.payee) AS payee,
      CASE o.k WHEN 1 THEN instant + make_interval(secs => o.ttl) END AS expires_at,
      coalesce(h.endpoint, o.endpoint) AS endpoint,
      coalesce(h.price_version, o.price_version) AS price_version, coalesce(h.bps, o.bps) AS bps,
      coalesce(h.asset, o.asset) AS asset, p_shard AS shard, o.k AS kind,
      CASE o.k WHEN 1 THEN 1 ELSE 2 END::smallint AS phase,
      CASE WHEN o.k > 1 THEN h.guards WHEN cardinality(guard_n) > 0 THEN
        (SELECT array_agg(g.account) FROM unnest(guard_n, guard) g(n, account) WHERE g.n = o.n)
      END AS guards,
      NULL::bigint[] AS accounts, NULL::bigint[] AS amounts, NULL::timestamptz AS effective_at,
      NULL::jsonb AS meta
    FROM unnest(k, owner, id, amount, asset, payee, bps, ttl, endpoint, price_version)
      WITH ORDINALITY o(k, owner, id, amount, asset, payee, bps, ttl, endpoint, price_version, n)
    LEFT JOIN LATERAL (SELECT * FROM journal h WHERE o.k > 1 AND h.owner = o.owner AND h.id = o.id
      AND h.id BETWEEN first AND final AND h.phase = 1 LIMIT 1) h ON true
    WHERE CASE o.k WHEN 1 THEN refused IS NULL OR NOT refused[o.n] WHEN 2 THEN o.amount <= h.amount
        WHEN 3 THEN h.amount IS NOT NULL ELSE h.expires_at <= instant END
      AND (NOT exact OR NOT EXISTS (SELECT FROM journal r WHERE r.owner = o.owner AND r.id = o.id
        AND r.phase = least(o.k, 2)))) x;
  GET DIAGNOSTICS applied = ROW_COUNT;

  IF applied > 0 THEN
    SELECT array_agg(d.account), array_agg(d.delta) INTO touched, deltas FROM (
      SELECT l.account, sum(l.amount)::bigint AS delta FROM journal j, legs(j) l
        WHERE j.shard = p_shard AND j.seq BETWEEN base + 1 AND base + applied
          AND j.id BETWEEN first AND final GROUP BY l.account) d
      WHERE d.delta <> 0;
    UPDATE balance b SET balance = b.balance + d.delta
      FROM unnest(touched, deltas) d(account, delta)
      WHERE b.account = d.account AND b.shard = p_shard;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(touched) THEN RAISE EXCEPTION 'unknown account in batch'; END IF;
    PERFORM seal_batch(p_shard, base, applied, link, instant, first, final);
  END IF;

  IF applied = size THEN outcomes := array_fill(1::smallint, ARRAY[size]);
  ELSE outcomes := explain(k, owner, id, amount, payee, guard_n, guard, base, instant);
  END IF;
  SELECT array_agg(b.balance) INTO balances FROM unnest(k, owner) o(k, owner)
    LEFT JOIN LATERAL (SELECT b.balance FROM balance b
      WHERE o.k > 1 AND b.account = o.owner AND b.shard = p_shard LIMIT 1) b ON true;
END $$;

-- Which reserves of a batch must be refused for want of funds? Judged one by one in the order of
-- arrival, with what resolved holds give back on the way, so that a refused operation takes
-- nothing from a later one. Called only when some account cannot pay for its whole batch.
CREATE FUNCTION ledger.refuse(
  p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[],
  guard_n integer[], guard bigint[], instant timestamptz
) RETURNS boolean[] LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  refused boolean[] := array_fill(false, ARRAY[cardinality(k)]);
  account bigint[];
  available bigint[];
  op record;
  at_place integer;
BEGIN
  SELECT array_agg(a.account), array_agg(coalesce(b.balance - coalesce(b.floor, -4611686018427387904), 0))
    INTO account, available
    FROM (SELECT DISTINCT u.account, u.asset FROM (
      SELECT * FROM unnest(owner, asset, k) o(account, asset, k) WHERE o.k = 1
      UNION ALL SELECT g, 4, 1 FROM unnest(guard) g) u) a
    LEFT JOIN balance b ON b.account = a.account AND b.shard = p_shard AND b.asset = a.asset;
  FOR op IN
    SELECT o.n, o.k, o.amount, h.amount AS held, r.phase IS NOT NULL AS known, h.expires_at,
      (SELECT array_agg(p.n) FROM unnest(account) WITH ORDINALITY p(account, n)
        WHERE p.account = o.owner OR p.account = ANY (h.guards)
          OR p.account IN (SELECT g.account FROM unnest(guard_n, guard) g(n, account)
            WHERE g.n = o.n)) AS places
    FROM unnest(k, owner, id, amount) WITH ORDINALITY o(k, owner, id, amount, n)
    LEFT JOIN journal h ON o.k > 1 AND h.owner = o.owner AND h.id = o.id AND h.phase = 1
    LEFT JOIN journal r ON r.owner = o.owner AND r.id = o.id AND r.phase = least(o.k, 2)
    ORDER BY o.n
  LOOP
    CONTINUE WHEN op.known OR op.places IS NULL;
    IF op.k = 1 THEN
      refused[op.n] := (SELECT bool_or(available[p] < op.amount) FROM unnest(op.places) p);
      CONTINUE WHEN refused[op.n];
    ELSE
      CONTINUE WHEN op.held IS NULL OR op.k = 2 AND op.amount > op.held
        OR op.k = 4 AND op.expires_at > instant;
    END IF;
    FOREACH at_place IN ARRAY op.places LOOP
      available[at_place] := available[at_place] + CASE op.k
        WHEN 1 THEN -op.amount WHEN 2 THEN op.held - op.amount ELSE op.held END;
    END LOOP;
  END LOOP;
  RETURN refused;
END $$;

-- Why was what was not applied not applied? Called after a batch that did not pass as a whole.
CREATE FUNCTION ledger.explain(
  k smallint[], owner bigint[], id uuid[], amount bigint[], payee bigint[],
  guard_n integer[], guard bigint[], base bigint, instant timestamptz
) RETURNS smallint[] LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT array_agg(CASE
      WHEN r.seq > base THEN 1
      WHEN r.phase = 1 THEN CASE WHEN r.amount = o.amount AND r.payee = o.payee
        AND r.guards IS NOT DISTINCT FROM (SELECT array_agg(g.account)
          FROM unnest(guard_n, guard) g(n, account) WHERE g.n = o.n) THEN 2 ELSE 5 END
      WHEN r.phase = 2 THEN CASE WHEN r.kind = o.k AND (o.k > 2 OR r.amount = o.amount)
        THEN 2 ELSE 5 END
      WHEN o.k = 1 THEN 0
      WHEN h.amount IS NULL OR o.k = 4 AND h.expires_at > instant THEN 3
      ELSE 4 END::smallint ORDER BY o.n)
  FROM unnest(k, owner, id, amount, payee) WITH ORDINALITY o(k, owner, id, amount, payee, n)
  LEFT JOIN journal r ON r.owner = o.owner AND r.id = o.id AND r.phase = least(o.k, 2)
  LEFT JOIN journal h ON o.k > 1 AND h.owner = o.owner AND h.id = o.id AND h.phase = 1 $$;

-- Appends a link to the hash chain and moves the head; the caller holds the head's lock.
CREATE FUNCTION ledger.seal_batch(
  p_shard smallint, base bigint, size integer, link bytea, instant timestamptz,
  first uuid, final uuid
) RETURNS void LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  next bytea;
BEGIN
  SELECT sha256(link || string_agg(j.leaf, '' ORDER BY j.seq)) INTO next FROM journal j
    WHERE j.shard = p_shard AND j.seq BETWEEN base + 1 AND base + size
      AND j.id BETWEEN first AND final;
  INSERT INTO seal VALUES (p_shard, base + 1, base + size, instant, link, next);
  UPDATE head SET seq = base + size, hash = next WHERE shard = p_shard;
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
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $$;

-- ── Rights ──────────────────────────────────────────────────────────────────────────────────

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;
GRANT USAGE ON SCHEMA ledger TO hub_app;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO hub_app;
GRANT EXECUTE ON FUNCTION ledger.apply, ledger.post, ledger.open_account, ledger.ensure_partitions,
  ledger.legs, ledger.leaf, ledger.holds_account, ledger.first_id TO hub_app;
SELECT ledger.ensure_partitions();
