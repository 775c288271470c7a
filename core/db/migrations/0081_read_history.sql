-- upgrade: expand
-- Why: a page of a statement took five round trips, each of which waits for its turn on a busy server, and
-- verifying snapshots a third of the time of a full verification, most of it to sort all postings of a shard.

-- Reads a page of a statement in one round trip, with plans that each session makes once.
CREATE FUNCTION ledger.statement(p_account text, p_first timestamptz, p_start timestamptz, p_shard smallint,
  p_seq bigint, p_end timestamptz, p_limit integer, OUT asset text, OUT opening numeric, OUT closing numeric,
  OUT balance numeric, OUT debits numeric, OUT credits numeric, OUT lines json)
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- Its own name: `lines` and the other results are names of columns, too.
  wanted account;
  passed integer; -- entries posted after the start with a value date before it
BEGIN
  SELECT * INTO wanted FROM account a WHERE a.code = p_account;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT s.code, f.credits - f.debits, e.credits - e.debits, e.debits - f.debits, e.credits - f.credits,
      (SELECT count(*) FROM late(p_start, p_shard, p_seq, wanted.id))
    INTO statement.asset, statement.opening, statement.closing, statement.debits, statement.credits, passed
    FROM ledger.asset s CROSS JOIN totals_at(ARRAY[wanted.id], p_first) f
    CROSS JOIN totals_at(ARRAY[wanted.id], p_end) e WHERE s.id = wanted.asset;
  statement.balance := statement.opening;
  IF p_shard >= 0 THEN -- not the first page
    SELECT t.credits - t.debits INTO statement.balance
      FROM totals_at(ARRAY[wanted.id], p_start, p_shard, p_seq) t;
  END IF;
  -- The journal is in the order of posting: up to the last entry read from it, only entries that were posted
  -- late are missing, and those are found by value date.
  WITH entry AS MATERIALIZED (
    SELECT r AS entry, r.at, r.shard, r.seq, p.amounts[array_position(p.seqs, r.seq)] AS amount
    FROM (SELECT c.shard, n.seqs, n.amounts, i.* FROM cut(p_start, p_shard, p_seq) c
      JOIN cut(p_end) e ON e.shard = c.shard
      CROSS JOIN LATERAL (SELECT array_agg(n.seq) AS seqs, array_agg(n.amount) AS amounts
        FROM next_entries(wanted.id, c.shard, c.seq, e.seq, p_limit + passed) n) n
      CROSS JOIN LATERAL ids_between(c.shard, n.seqs[1], n.seqs[cardinality(n.seqs)]) i
      WHERE c.shard = coalesce(wanted.home, c.shard) OFFSET 0) p -- first: it leaves partitions out
    JOIN journal r ON r.shard = p.shard AND r.seq = ANY (p.seqs) AND r.id BETWEEN p.id_first AND p.id_last
    ORDER BY r.at, r.shard, r.seq LIMIT p_limit + passed
  ), reach AS MATERIALIZED (
    SELECT coalesce(l.at, p_end) AS at, coalesce(l.shard, -1::smallint) AS shard, coalesce(l.seq, 0) AS seq
    FROM (VALUES (1)) one LEFT JOIN (SELECT e.at, e.shard, e.seq FROM entry e
      ORDER BY e.at, e.shard, e.seq OFFSET p_limit + passed - 1 LIMIT 1) l ON true
  ), line AS (
    SELECT x.entry AS j, x.amount, coalesce((x.entry).effective_at, (x.entry).at) AS value_at
    FROM (SELECT e.entry, e.amount FROM entry e
      UNION ALL
      SELECT j.entry, l.amount FROM reach r CROSS JOIN LATERAL late(r.at, r.shard, r.seq, wanted.id) l
      CROSS JOIN LATERAL (SELECT j AS entry FROM journal j WHERE j.shard = l.shard AND j.seq = l.seq
        LIMIT 1) j) x
  ), page AS (
    SELECT (l.j).shard, (l.j).seq, l.amount, l.value_at, l.j FROM line l
    WHERE (l.value_at, (l.j).shard, (l.j).seq) > (p_start, p_shard, p_seq)
    ORDER BY l.value_at, (l.j).shard, (l.j).seq LIMIT p_limit
  )
  SELECT coalesce(json_agg(json_build_object('shard', g.shard, 'seq', g.seq::text, 'id', (g.j).id,
      'event', k.event, 'amount', g.amount::text, 'meta', (g.j).meta,
      'bookedAt', to_char((g.j).at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'valueAt', to_char(g.value_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'contra', ARRAY(SELECT a.code FROM legs(g.j) l JOIN account a ON a.id = l.account
        WHERE l.account <> wanted.id GROUP BY a.code ORDER BY min(l.n)))
    ORDER BY g.value_at, g.shard, g.seq), '[]')
  INTO statement.lines FROM page g JOIN kind k ON k.id = (g.j).kind;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.statement FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.statement TO hub_app;

-- Compares chunk by chunk: the postings of one are sorted in memory, and those of the journal nowhere.
CREATE OR REPLACE FUNCTION ledger.wrong_snapshots(p_shard smallint, p_after bigint, p_upto bigint)
RETURNS TABLE (seq bigint, example text) LANGUAGE sql STABLE AS $$
  WITH part AS MATERIALIZED (
    SELECT k.seq_from, k.seq_to FROM ledger.chunk k
    WHERE k.shard = p_shard AND k.seq_to > p_after AND k.seq_to <= p_upto
  ), summed AS (
    SELECT p.seq_to, m.* FROM part p CROSS JOIN LATERAL (
      SELECT m.account, -sum(least(m.amount, 0)) AS debits, sum(greatest(m.amount, 0)) AS credits,
        array_agg(greatest(m.seq - p.seq_to, -32768)::smallint ORDER BY m.seq) AS entries,
        array_agg(m.amount ORDER BY m.seq) AS amounts
      FROM ledger.movements(p_shard, p.seq_from - 1, p.seq_to) m GROUP BY m.account) m
  ), kept AS (
    SELECT s.account, s.seq_to, s.debits - lag(s.debits, 1, 0::numeric) OVER w AS debits,
      s.credits - lag(s.credits, 1, 0::numeric) OVER w AS credits, s.entries, s.amounts
    FROM ledger.snapshot s WHERE s.shard = p_shard AND s.seq_to <= p_upto
    WINDOW w AS (PARTITION BY s.account ORDER BY s.seq_to)
  )
  SELECT c.seq_to, format('shard %s chunk of seq %s to %s: the one before it ends at %s', p_shard, c.seq_from,
    c.seq_to, c.before)
  FROM (SELECT k.*, coalesce(lag(k.seq_to) OVER (ORDER BY k.seq_to), 0) AS before
    FROM ledger.chunk k WHERE k.shard = p_shard) c
  WHERE c.seq_to > p_after AND c.seq_to <= p_upto AND c.seq_from <> c.before + 1
  UNION ALL
  SELECT w.seq_to, format('shard %s snapshot of account %s at seq %s%s', p_shard, w.account, w.seq_to,
    CASE WHEN NOT w.has_chunk THEN ': there is no such chunk' END)
  FROM (SELECT coalesce(r.account, k.account) AS account, coalesce(r.seq_to, k.seq_to) AS seq_to,
      coalesce(r.seq_to, k.seq_to) IN (SELECT p.seq_to FROM part p) AS has_chunk
    FROM summed r FULL JOIN (SELECT * FROM kept WHERE seq_to > p_after) k
      ON k.account = r.account AND k.seq_to = r.seq_to
    WHERE (r.debits, r.credits, r.entries, r.amounts) IS DISTINCT FROM
      (k.debits, k.credits, k.entries, k.amounts)) w
  UNION ALL
  SELECT c.seq_to, format('shard %s chunk of seq %s to %s: its ids are others', p_shard, c.seq_from, c.seq_to)
  FROM ledger.chunk c CROSS JOIN LATERAL ledger.chunk_ids(p_shard, c.seq_from, c.seq_to) i
  WHERE c.shard = p_shard AND c.seq_to > p_after AND c.seq_to <= p_upto
    AND (c.id_first, c.id_last) IS DISTINCT FROM (i.id_first, i.id_last) $$;
