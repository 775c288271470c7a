-- upgrade: expand
-- Why: to read a batch back, PostgreSQL 18 searched the primary key of the journal once for each account (a
-- skip scan in a bitmap), which doubled the cost of a call on a million entries of a few hundred accounts.
ALTER FUNCTION ledger.apply SET enable_bitmapscan = off;

-- As in 0096_statement_contra.sql, but with a scalar subquery for the code of an account: with few
-- accounts, the join read all of them for each line.
-- Reads a page of a statement in one round trip, with plans that each session makes once.
CREATE OR REPLACE FUNCTION ledger.statement(p_account text, p_first timestamptz, p_start timestamptz,
  p_shard smallint, p_seq bigint, p_end timestamptz, p_limit integer, OUT asset text,
  OUT opening numeric, OUT closing numeric, OUT balance numeric,
  OUT debits numeric, OUT credits numeric, OUT lines json)
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
  ), contra AS (
    SELECT o.shard, o.seq,
      array_agg((SELECT a.code FROM account a WHERE a.id = o.account) ORDER BY o.n) AS codes
    FROM (SELECT g.shard, g.seq, l.account, min(l.n) AS n
      FROM page g CROSS JOIN LATERAL legs(g.j) l
      WHERE l.account <> wanted.id GROUP BY g.shard, g.seq, l.account) o
    GROUP BY o.shard, o.seq
  )
  SELECT coalesce(json_agg(json_build_object('shard', g.shard, 'seq', g.seq::text, 'id', (g.j).id,
      'event', k.event, 'amount', g.amount::text, 'meta', (g.j).meta,
      'bookedAt', to_char((g.j).at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'valueAt', to_char(g.value_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'contra', coalesce(x.codes, '{}'))
    ORDER BY g.value_at, g.shard, g.seq), '[]')
  INTO statement.lines FROM page g JOIN kind k ON k.id = (g.j).kind
    LEFT JOIN contra x USING (shard, seq);
END $$;
