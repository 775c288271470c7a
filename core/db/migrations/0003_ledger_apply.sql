-- Why: the only ways into the ledger. The hub's role may execute these functions and read; it can
-- write no table of the ledger itself.

-- ── Calls: reserve and resolve, in batches ──────────────────────────────────────────────────

-- Outcomes, the same numbers as in core/ledger/events.ts: 0 insufficient_funds, 1 applied,
-- 2 replayed, 3 no_such_hold, 4 above_hold, 5 id_reused_with_other_terms.

-- Applies one batch of operations of one shard, in their order, and answers the outcome of each, and
-- what the owners of resolved holds have after the batch. The arrays are parallel:
--   k       1 reserve, 2 settle, 3 release, 4 expire (a hold whose time is up)
--   owner   account that pays; a hold is known by (owner, id)
--   amount  to reserve or to charge, > 0 for a reserve; ignored for 3 and 4
--   asset, payee, bps, ttl (seconds), endpoint, price_version: terms of a reserve, else ignored
-- guard_n (ascending) and guard hold further accounts that operation number guard_n debits by the
-- same amount, all or none. The ids of one batch are distinct (the batcher sees to it; the key enforces it).
-- A repeated id violates the key, and the caller then repeats the batch with exact = true, which
-- looks first: nobody pays for replays but those who replay.
-- Plans are pinned (index probes from the first row on): one cached while the journal was empty
-- must not become a scan later. Accounts are looked up by `= ANY`, one descent of the index for
-- neighbours, and `width_bucket` finds the place of each in an ascending array.
CREATE FUNCTION ledger.apply(
  p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[],
  payee bigint[], bps smallint[], ttl integer[], endpoint integer[], price_version integer[],
  guard_n integer[], guard bigint[], exact boolean,
  OUT outcomes smallint[], OUT owners bigint[], OUT balances bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET enable_material = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  size integer := cardinality(k);
  base bigint;
  link bytea;
  instant timestamptz;
  first uuid;
  final uuid;
  short bigint[];
  skipped boolean[]; -- operations that are not to be booked; null: none that is known before
  applied integer;
  touched bigint[];
  deltas bigint[];
  next bytea;
  updated integer;
BEGIN
  -- The bounds let PostgreSQL leave out all partitions but those of the batch before it starts.
  SELECT x.ids[1], x.ids[size] INTO first, final
    FROM (SELECT array_agg(u ORDER BY u) FROM unnest(id) u) x(ids);
  SELECT h.seq, h.hash, greatest(clock_timestamp(), h.at) INTO STRICT base, link, instant
    FROM head h WHERE h.shard = p_shard FOR UPDATE;

  -- Which accounts cannot pay for everything that this batch asks of them, or are not there at all?
  -- This is the journal's foreign key too: it costs a probe for each account, and not for each row.
  SELECT array_agg(d.account) INTO short FROM (
      SELECT o.owner AS account, o.asset, sum(o.amount)::bigint AS demand
        FROM unnest(k, owner, asset, amount) o(k, owner, asset, amount)
        WHERE o.k = 1 GROUP BY o.owner, o.asset
      UNION ALL
      SELECT g.account, 4, sum(amount[g.n])::bigint FROM unnest(guard_n, guard) g(n, account)
        GROUP BY g.account
      UNION ALL
      SELECT o.payee, o.asset, 0 FROM unnest(k, payee, asset) o(k, payee, asset)
        WHERE o.k = 1 GROUP BY o.payee, o.asset) d
    LEFT JOIN balance b ON b.account = d.account AND b.shard = p_shard
    WHERE b.account IS NULL OR b.asset <> d.asset OR b.balance - b.floor < d.demand;
  IF exact THEN
    SELECT array_agg(EXISTS (SELECT FROM journal r WHERE r.owner = o.owner AND r.id = o.id
        AND r.id BETWEEN first AND final AND r.phase = least(o.k, 2)) ORDER BY o.n) INTO skipped
      FROM unnest(k, owner, id) WITH ORDINALITY o(k, owner, id, n);
  END IF;
  IF short IS NOT NULL THEN
    skipped := refuse(p_shard, k, owner, id, amount, asset, payee, guard_n, guard, instant, first, final,
      short, skipped);
  END IF;

  INSERT INTO journal SELECT x.*, sha256(record_send(ROW(x.*))) FROM (
    SELECT o.id, o.owner, base + row_number() OVER () AS seq, instant AS at,
      CASE WHEN o.k > 2 THEN 0 ELSE o.amount END AS amount,
      CASE o.k WHEN 1 THEN 0 WHEN 2 THEN h.amount - o.amount ELSE h.amount END AS rest,
      CASE o.k WHEN 2 THEN o.amount / 10000 * h.bps + o.amount % 10000 * h.bps / 10000 ELSE 0 END AS fee,
      coalesce(h.payee, o.payee) AS payee,
      CASE o.k WHEN 1 THEN instant + make_interval(secs => o.ttl) END AS expires_at,
      coalesce(h.endpoint, o.endpoint) AS endpoint,
      coalesce(h.price_version, o.price_version) AS price_version, coalesce(h.bps, o.bps) AS bps,
      coalesce(h.asset, o.asset) AS asset, p_shard AS shard, o.k AS kind,
      CASE o.k WHEN 1 THEN 1 ELSE 2 END::smallint AS phase,
      CASE WHEN o.k > 1 THEN h.guards WHEN cardinality(guard_n) > 0
        THEN guards_of(o.n::integer, guard_n, guard) END AS guards,
      NULL::bigint[] AS accounts, NULL::bigint[] AS amounts, NULL::timestamptz AS effective_at,
      NULL::jsonb AS meta
    FROM unnest(k, owner, id, amount, asset, payee, bps, ttl, endpoint, price_version)
      WITH ORDINALITY o(k, owner, id, amount, asset, payee, bps, ttl, endpoint, price_version, n)
    LEFT JOIN LATERAL (SELECT * FROM journal h WHERE o.k > 1 AND h.owner = o.owner AND h.id = o.id
      AND h.id BETWEEN first AND final AND h.phase = 1 LIMIT 1) h ON true
    WHERE (skipped IS NULL OR NOT skipped[o.n]) AND CASE o.k WHEN 1 THEN true
      WHEN 2 THEN o.amount <= h.amount WHEN 3 THEN h.amount IS NOT NULL
      ELSE h.expires_at <= instant END) x;
  GET DIAGNOSTICS applied = ROW_COUNT;

  IF applied > 0 THEN
    -- What was written, read back once: the chain's next link, and the change of each account as
    -- ledger.legs has it, but by set. Verification and a property test hold the two equal.
    WITH written AS MATERIALIZED (
      SELECT j.seq, j.owner, j.payee, j.asset, j.phase, j.guards, j.leaf, j.fee,
        j.amount - j.fee AS share,
        CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END AS back,
        CASE j.phase WHEN 2 THEN j.amount ELSE 0 END AS used
      FROM journal j WHERE j.shard = p_shard AND j.seq BETWEEN base + 1 AND base + applied
        AND j.id BETWEEN first AND final
    ), change(account, amount) AS (
      SELECT w.owner, w.back FROM written w
      UNION ALL
      SELECT w.payee, w.share FROM written w WHERE w.phase = 2
      UNION ALL
      SELECT v.account, v.amount
        FROM (SELECT w.asset, -sum(w.back + w.used)::bigint AS held, sum(w.fee)::bigint AS fee
          FROM written w GROUP BY w.asset) w
        CROSS JOIN LATERAL (VALUES (holds_account(w.asset), w.held),
          (CASE w.asset WHEN 1 THEN 1 END, w.fee)) v(account, amount) -- no account: an error below
      UNION ALL
      SELECT v.account, v.amount FROM written w
        CROSS JOIN LATERAL (SELECT g, w.back FROM unnest(w.guards) g
          UNION ALL VALUES (40::bigint, cardinality(w.guards) * (-w.back - w.used)),
            (42, cardinality(w.guards) * w.used)) v(account, amount)
        WHERE w.guards IS NOT NULL
    )
    SELECT (SELECT sha256(link || string_agg(w.leaf, '' ORDER BY w.seq)) FROM written w),
        array_agg(d.account ORDER BY d.account), array_agg(d.delta ORDER BY d.account)
      INTO next, touched, deltas
      FROM (SELECT c.account, sum(c.amount)::bigint AS delta FROM change c GROUP BY 1) d
      WHERE d.delta <> 0;
    UPDATE balance b SET balance = b.balance + deltas[width_bucket(b.account, touched)]
      WHERE b.account = ANY (touched) AND b.shard = p_shard;
    GET DIAGNOSTICS updated = ROW_COUNT;
    IF updated <> cardinality(touched) THEN
      RAISE EXCEPTION 'an account in the batch has no balance on shard %', p_shard;
    END IF;
    INSERT INTO seal VALUES (p_shard, base + 1, base + applied, instant, link, next);
    UPDATE head SET seq = base + applied, hash = next, at = instant WHERE shard = p_shard;
    PERFORM pg_notify('ledger', p_shard::text);
  END IF;

  IF applied = size THEN outcomes := array_fill(1::smallint, ARRAY[size]);
  ELSE outcomes := explain(k, owner, id, amount, asset, payee, bps, endpoint, price_version, guard_n, guard,
    base, instant, first, final);
  END IF;
  SELECT array_agg(b.account), array_agg(b.balance) INTO owners, balances FROM balance b
    WHERE b.account = ANY (ARRAY(SELECT o.owner FROM unnest(k, owner) o(k, owner) WHERE o.k > 1))
      AND b.shard = p_shard;
END $$;

-- The guards of operation number n; null without any. A binary search: batches are long.
CREATE FUNCTION ledger.guards_of(n integer, guard_n integer[], guard bigint[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE RETURN
  nullif(guard[width_bucket(n - 1, guard_n) + 1 : width_bucket(n, guard_n)], '{}');

-- Which reserves of a batch must be refused for want of funds, besides those that are skipped already?
-- What touches an account that is short is judged one by one in the order of arrival, with what resolved
-- holds give back and pay on the way, so that a refused operation takes nothing from a later one. All
-- others can pay in any case.
CREATE FUNCTION ledger.refuse(
  p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[],
  payee bigint[], guard_n integer[], guard bigint[], instant timestamptz, first uuid, final uuid,
  short bigint[], skipped boolean[]
) RETURNS boolean[] LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  refused boolean[] := coalesce(skipped, array_fill(false, ARRAY[cardinality(k)]));
  account bigint[]; -- those that are short, ascending
  counts smallint[]; -- the asset of each
  available bigint[];
  op record;
  party bigint;
  place integer;
  back bigint;
BEGIN
  SELECT o.payee INTO party FROM unnest(k, payee, asset) o(k, payee, asset)
    LEFT JOIN balance b ON b.account = o.payee AND b.shard = p_shard
    WHERE o.k = 1 AND o.payee = ANY (short) AND o.asset IS DISTINCT FROM b.asset LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'account % cannot be paid: not on shard %, or of another asset', party, p_shard
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  SELECT array_agg(s.account ORDER BY s.account), array_agg(b.asset ORDER BY s.account),
      array_agg(b.balance - coalesce(b.floor, -4611686018427387904) ORDER BY s.account)
    INTO account, counts, available
    FROM (SELECT DISTINCT unnest(short)) s(account)
    LEFT JOIN balance b ON b.account = s.account AND b.shard = p_shard;
  FOR op IN
    SELECT o.n, o.k, o.owner, o.asset, o.amount, h.amount AS held,
      h.payee, o.amount - (o.amount / 10000 * h.bps + o.amount % 10000 * h.bps / 10000) AS share,
      h.expires_at, o.owner || g.guards AS parties
    FROM unnest(k, owner, id, amount, asset) WITH ORDINALITY o(k, owner, id, amount, asset, n)
    LEFT JOIN journal h ON o.k > 1 AND h.owner = o.owner AND h.id = o.id AND h.phase = 1
      AND h.id BETWEEN first AND final
    CROSS JOIN LATERAL (SELECT CASE o.k WHEN 1 THEN guards_of(o.n::integer, guard_n, guard)
      ELSE h.guards END) g(guards)
    WHERE o.owner = ANY (short) OR g.guards && short OR o.k = 2 AND h.payee = ANY (short)
    ORDER BY o.n
  LOOP
    CONTINUE WHEN refused[op.n];
    IF op.k = 1 THEN
      back := -op.amount;
      FOREACH party IN ARRAY op.parties LOOP
        place := width_bucket(party, account);
        CONTINUE WHEN account[place] IS DISTINCT FROM party;
        refused[op.n] := available[place] IS NULL OR available[place] < op.amount
          OR counts[place] <> CASE party WHEN op.owner THEN op.asset ELSE 4 END;
        EXIT WHEN refused[op.n];
      END LOOP;
      CONTINUE WHEN refused[op.n];
    ELSE
      CONTINUE WHEN op.held IS NULL OR op.k = 2 AND op.amount > op.held
        OR op.k = 4 AND op.expires_at > instant;
      back := CASE op.k WHEN 2 THEN op.held - op.amount ELSE op.held END;
      place := width_bucket(op.payee, account);
      IF op.k = 2 AND account[place] = op.payee THEN
        available[place] := available[place] + op.share;
      END IF;
    END IF;
    FOREACH party IN ARRAY op.parties LOOP
      place := width_bucket(party, account);
      IF account[place] = party THEN available[place] := available[place] + back; END IF;
    END LOOP;
  END LOOP;
  RETURN refused;
END $$;

-- Why was what was not applied not applied? Called after a batch that did not pass as a whole.
CREATE FUNCTION ledger.explain(
  k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[], payee bigint[],
  bps smallint[], endpoint integer[], price_version integer[], guard_n integer[], guard bigint[],
  base bigint, instant timestamptz, first uuid, final uuid
) RETURNS smallint[] LANGUAGE sql STABLE SET search_path = ledger, pg_temp AS $$
  SELECT array_agg(CASE
      WHEN r.seq > base THEN 1
      WHEN r.phase = 1 THEN CASE WHEN (r.amount, r.asset, r.payee, r.bps, r.endpoint, r.price_version)
          = (o.amount, o.asset, o.payee, o.bps, o.endpoint, o.price_version)
        AND r.guards IS NOT DISTINCT FROM guards_of(o.n::integer, guard_n, guard) THEN 2 ELSE 5 END
      WHEN r.phase = 2 THEN CASE WHEN r.kind = o.k AND (o.k > 2 OR r.amount = o.amount)
        THEN 2 ELSE 5 END
      WHEN o.k = 1 THEN 0
      WHEN h.amount IS NULL OR o.k = 4 AND h.expires_at > instant THEN 3
      ELSE 4 END::smallint ORDER BY o.n)
  FROM unnest(k, owner, id, amount, asset, payee, bps, endpoint, price_version)
    WITH ORDINALITY o(k, owner, id, amount, asset, payee, bps, endpoint, price_version, n)
  LEFT JOIN journal r ON r.owner = o.owner AND r.id = o.id AND r.phase = least(o.k, 2)
    AND r.id BETWEEN first AND final
  LEFT JOIN journal h ON r.seq IS NULL AND o.k > 1 AND h.owner = o.owner AND h.id = o.id AND h.phase = 1
    AND h.id BETWEEN first AND final $$;

-- Appends a link to the hash chain, moves the head and wakes who listens; the caller holds the head's
-- lock.
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
  UPDATE head SET seq = base + size, hash = next, at = instant WHERE shard = p_shard;
  PERFORM pg_notify('ledger', p_shard::text);
END $$;

-- ── Rights ──────────────────────────────────────────────────────────────────────────────────

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;
GRANT USAGE ON SCHEMA ledger TO hub_app;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO hub_app;
GRANT EXECUTE ON FUNCTION ledger.open_shard,
  ledger.apply, ledger.open_account, ledger.ensure_partitions, ledger.legs,
  ledger.leaf, ledger.holds_account, ledger.first_id TO hub_app;
SELECT ledger.ensure_partitions();
