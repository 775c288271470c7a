-- upgrade: expand
-- Why: each batch of calls waited for snapshots, up to fifty chunks of them. A chunk refers to the head of
-- its shard and so locks its key, which a batch never changes.
CREATE OR REPLACE FUNCTION ledger.apply(
  p_shard smallint, k smallint[], owner bigint[], id uuid[], amount bigint[], asset smallint[],
  payee bigint[], bps smallint[], ttl integer[], endpoint integer[], price_version integer[],
  guard_n integer[], guard bigint[], exact boolean,
  OUT outcomes smallint[], OUT owners bigint[], OUT balances bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_material TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_bitmapscan TO 'off'
AS $$
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
    FROM head h WHERE h.shard = p_shard FOR NO KEY UPDATE;

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
