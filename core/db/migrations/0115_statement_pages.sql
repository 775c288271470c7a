-- upgrade: expand
-- Pages of statements of accounts with entries on all shards read what they show, not as much per shard.

CREATE OR REPLACE FUNCTION ledger.statement(p_account text, p_first timestamptz, p_start timestamptz,
  p_shard smallint, p_seq bigint, p_end timestamptz, p_limit integer, OUT asset text, OUT opening numeric,
  OUT closing numeric, OUT balance numeric, OUT debits numeric, OUT credits numeric, OUT lines json)
LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- Its own name: `lines` and the other results are names of columns, too.
  wanted account;
  late late_entry[]; -- at the points of the period
  passed integer; -- entries posted after the start with a value date before it
BEGIN
  SELECT * INTO wanted FROM account a WHERE a.code = p_account;
  IF NOT FOUND THEN RETURN; END IF;
  late := ARRAY(SELECT l FROM late_entries(wanted.id, p_first, p_start, p_end) l);
  SELECT s.code, f.credits - f.debits, e.credits - e.debits, e.debits - f.debits, e.credits - f.credits
    INTO statement.asset, statement.opening, statement.closing, statement.debits, statement.credits
    FROM ledger.asset s CROSS JOIN sums_at(wanted.id, late, p_first) f
    CROSS JOIN sums_at(wanted.id, late, p_end) e WHERE s.id = wanted.asset;
  statement.balance := statement.opening;
  IF p_shard >= 0 THEN -- not the first page
    SELECT t.credits - t.debits INTO statement.balance
      FROM sums_at(wanted.id, late, p_start, p_shard, p_seq) t;
  END IF;
  SELECT count(*) INTO passed FROM late_at(late, p_start, p_shard, p_seq);
  -- The journal is in the order of posting: up to the last entry read from it, only entries that were posted
  -- late are missing, and those are found by value date.
  WITH next AS MATERIALIZED ( -- from each shard as many as the whole page holds
    SELECT c.shard, n.*, count(*) OVER () AS shards FROM cut(p_start, p_shard, p_seq) c
      JOIN cut(p_end) e ON e.shard = c.shard
      CROSS JOIN LATERAL (SELECT array_agg(n.seq) AS seqs, array_agg(n.amount) AS moves
        FROM next_entries(wanted.id, c.shard, c.seq, e.seq, p_limit + passed) n) n
    WHERE c.shard = coalesce(wanted.home, c.shard) AND n.seqs IS NOT NULL
  ), enough AS MATERIALIZED ( -- time at which all shards together have posted as many
    SELECT CASE WHEN count(s.at) = count(*) THEN max(s.at) ELSE p_end END AS at
    FROM next n LEFT JOIN LATERAL (SELECT s.at FROM seal s WHERE s.shard = n.shard
      AND s.seq_to >= n.seqs[(p_limit + passed + n.shards - 1) / n.shards]
      ORDER BY s.seq_to LIMIT 1) s ON true
  ), entry AS MATERIALIZED (
    SELECT r.*, p.moves[array_position(p.seqs, r.seq)] AS moved
    FROM (SELECT t.*, i.* FROM (SELECT n.shard, n.seqs[:width_bucket(u.seq, n.seqs)] AS seqs, n.moves
        FROM enough o CROSS JOIN LATERAL cut(o.at, 32767::smallint) u JOIN next n ON n.shard = u.shard) t
      CROSS JOIN LATERAL ids_between(t.shard, t.seqs[1], t.seqs[cardinality(t.seqs)]) i
      OFFSET 0) p -- first: it leaves partitions out
    JOIN journal r ON r.shard = p.shard AND r.seq = ANY (p.seqs) AND r.id BETWEEN p.id_first AND p.id_last
    ORDER BY r.at, r.shard, r.seq LIMIT p_limit + passed
  ), reach AS MATERIALIZED (
    SELECT coalesce(l.at, p_end) AS at, coalesce(l.shard, -1::smallint) AS shard, coalesce(l.seq, 0) AS seq
    FROM (VALUES (1)) one LEFT JOIN (SELECT e.at, e.shard, e.seq FROM entry e
      ORDER BY e.at, e.shard, e.seq OFFSET p_limit + passed - 1 LIMIT 1) l ON true
  ), page AS MATERIALIZED (
    SELECT l.*, coalesce(l.effective_at, l.at) AS value_at FROM (
      SELECT * FROM entry
      UNION ALL
      SELECT j.*, m.moved FROM reach o JOIN journal j ON j.effective_at IS NOT NULL
          AND tstzrange(j.effective_at, j.at, '[]') @> o.at AND wanted.id = ANY (j.accounts)
          AND (j.effective_at, j.shard, j.seq) <= (o.at, o.shard, o.seq)
          AND (j.at, j.shard, j.seq) > (o.at, o.shard, o.seq)
        CROSS JOIN LATERAL (SELECT sum(u.amount)::bigint AS moved
          FROM unnest(j.accounts, j.amounts) u(account, amount) WHERE u.account = wanted.id) m
        WHERE m.moved <> 0) l
    WHERE (coalesce(l.effective_at, l.at), l.shard, l.seq) > (p_start, p_shard, p_seq)
    ORDER BY coalesce(l.effective_at, l.at), l.shard, l.seq LIMIT p_limit
  ), contra AS (
    SELECT o.shard, o.seq,
      array_agg((SELECT a.code FROM account a WHERE a.id = o.account) ORDER BY o.n) AS codes
    FROM (SELECT g.shard, g.seq, l.account, min(l.n) AS n
      FROM page g CROSS JOIN LATERAL legs(ROW(g.id, g.owner, g.seq, g.at, g.amount, g.rest, g.fee, g.payee,
        g.expires_at, g.endpoint, g.price_version, g.bps, g.asset, g.shard, g.kind, g.phase, g.guards,
        g.accounts, g.amounts, g.effective_at, g.meta, g.leaf)::journal) l
      WHERE l.account <> wanted.id GROUP BY g.shard, g.seq, l.account) o
    GROUP BY o.shard, o.seq
  )
  SELECT coalesce(json_agg(json_build_object('shard', g.shard, 'seq', g.seq::text, 'id', g.id,
      'event', k.event, 'amount', g.moved::text, 'meta', g.meta,
      'bookedAt', to_char(g.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'valueAt', to_char(g.value_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'contra', coalesce(x.codes, '{}'))
    ORDER BY g.value_at, g.shard, g.seq), '[]')
  INTO statement.lines FROM page g JOIN kind k ON k.id = g.kind
    LEFT JOIN contra x USING (shard, seq);
END $$;
