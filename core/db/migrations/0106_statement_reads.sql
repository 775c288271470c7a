-- upgrade: expand
-- Pages of statements read less: the next entries of an account in one query instead of one for each chunk,
-- late entries of all known points in one look, and legs from columns instead of from whole rows.

-- As in 0009, in one query. No more entries of a chunk are unpacked than are missing.
CREATE OR REPLACE FUNCTION ledger.next_entries(
  p_account bigint, p_shard smallint, p_after bigint, p_upto bigint, p_limit integer
) RETURNS TABLE (seq bigint, amount bigint) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off
  SET enable_bitmapscan = off SET enable_sort = off -- the first pieces are enough
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  done bigint;
  upto_chunk bigint;
  found integer;
BEGIN
  SELECT max(c.seq_to) INTO done FROM chunk c WHERE c.shard = p_shard;
  SELECT c.seq_to INTO upto_chunk FROM chunk c WHERE c.shard = p_shard AND c.seq_to >= p_upto
    ORDER BY c.seq_to LIMIT 1;
  RETURN QUERY SELECT q.seq, q.amount FROM (
    SELECT s.seq_to + unnest(s.entries[s.first:s.first + p_limit - 1]) AS seq,
      unnest(s.amounts[s.first:s.first + p_limit - 1]) AS amount
    FROM (SELECT k.seq_to, k.entries, k.amounts,
        width_bucket(greatest(p_after - k.seq_to, -32768)::smallint, k.entries) + 1 AS first
      FROM snapshot k WHERE k.account = p_account AND k.shard = p_shard
        AND k.seq_to > p_after AND k.seq_to <= coalesce(upto_chunk, done) ORDER BY k.seq_to) s) q
  WHERE q.seq <= p_upto LIMIT p_limit;
  GET DIAGNOSTICS found = ROW_COUNT;
  done := greatest(p_after, done);
  IF found = p_limit OR done >= p_upto THEN RETURN; END IF;
  RETURN QUERY SELECT m.seq, m.amount FROM movements(p_shard, done, p_upto, p_account) m
    ORDER BY m.seq LIMIT p_limit - found;
END $$;

-- Entry with an earlier value date than its time of booking, and what it changed in one account.
CREATE TYPE ledger.late_entry AS (
  shard smallint, seq bigint, booked_at timestamptz, value_at timestamptz, amount bigint
);

-- Late entries of an account that were booked at or after one of the instants, and have a value date at or
-- before it. One look for all instants: each look reads the index of every month.
CREATE FUNCTION ledger.late_entries(p_account bigint, VARIADIC p_at timestamptz[])
RETURNS SETOF ledger.late_entry LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT j.shard, j.seq, j.at, j.effective_at, sum(u.amount)::bigint
    FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
    WHERE p_account = ANY (j.accounts) AND u.account = p_account AND j.effective_at IS NOT NULL
      AND tstzrange(j.effective_at, j.at, '[]')
        && (SELECT range_agg(tstzrange(t, t, '[]')) FROM unnest(p_at) t)
    GROUP BY 1, 2, 3, 4 HAVING sum(u.amount) <> 0;
END $$;

-- Those of late entries that belong to a point by their value date, but were booked after it.
CREATE FUNCTION ledger.late_at(
  p_late ledger.late_entry[], p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0
) RETURNS SETOF ledger.late_entry LANGUAGE sql IMMUTABLE AS $$
  SELECT l.* FROM unnest(p_late) l WHERE (l.value_at, l.shard, l.seq) <= (p_at, p_shard, p_seq)
    AND (l.booked_at, l.shard, l.seq) > (p_at, p_shard, p_seq) $$;

-- The debits and credits of accounts that were booked up to a point.
CREATE FUNCTION ledger.booked_at(
  p_accounts bigint[], p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0
) RETURNS TABLE (account bigint, debits numeric, credits numeric) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  single bigint := CASE cardinality(p_accounts) WHEN 1 THEN p_accounts[1] END;
  tail_accounts bigint[];
  tail_amounts bigint[];
BEGIN
  -- A statement of its own, since most points have no tail: only to prepare to read it takes a while.
  IF EXISTS (SELECT FROM cut(p_at, p_shard, p_seq) c WHERE c.seq > c.chunk_to) THEN
    SELECT array_agg(m.account), array_agg(m.amount) INTO tail_accounts, tail_amounts
      FROM cut(p_at, p_shard, p_seq) c
      CROSS JOIN LATERAL movements(c.shard, c.chunk_to, c.seq, single) m
      WHERE c.seq > c.chunk_to
        AND c.shard = coalesce((SELECT a.home FROM account a WHERE a.id = single), c.shard);
  END IF;
  RETURN QUERY
  WITH once AS MATERIALIZED (
    SELECT * FROM cut(p_at, p_shard, p_seq)
  ), place AS MATERIALIZED (
    SELECT a.id AS account, c.* FROM unnest(p_accounts) w(id) JOIN account a ON a.id = w.id
      JOIN once c ON c.shard = a.home OR a.home IS NULL
  )
  SELECT p.account, s.debits - coalesce(o.debits, 0), s.credits - coalesce(o.credits, 0)
    FROM place p
    CROSS JOIN LATERAL (SELECT * FROM snapshot s WHERE s.account = p.account AND s.shard = p.shard
      AND s.seq_to <= p.chunk_to ORDER BY s.seq_to DESC LIMIT 1) s
    CROSS JOIN LATERAL (SELECT -sum(least(u.amount, 0)) AS debits, sum(greatest(u.amount, 0)) AS credits
      FROM unnest(s.amounts[width_bucket((p.seq - s.seq_to)::smallint, s.entries) + 1:]) u(amount)
      WHERE s.seq_to > p.seq) o
  UNION ALL
  SELECT m.account, greatest(-m.amount, 0), greatest(m.amount, 0)
    FROM unnest(tail_accounts, tail_amounts) m(account, amount);
END $$;

CREATE OR REPLACE FUNCTION ledger.totals_at(
  p_accounts bigint[], p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0
) RETURNS TABLE (account bigint, debits numeric, credits numeric) LANGUAGE sql STABLE
  SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off AS $$
  SELECT w.id, coalesce(sum(t.debits), 0), coalesce(sum(t.credits), 0)
  FROM unnest(p_accounts) w(id) LEFT JOIN (
    SELECT * FROM booked_at(p_accounts, p_at, p_shard, p_seq)
    UNION ALL
    SELECT l.account, greatest(-l.amount, 0), greatest(l.amount, 0)
      FROM late(p_at, p_shard, p_seq, CASE cardinality(p_accounts) WHEN 1 THEN p_accounts[1] END) l
  ) t ON t.account = w.id
  GROUP BY w.id $$;

-- The debits and credits of an account up to a point, whose late entries are known.
CREATE FUNCTION ledger.sums_at(
  p_account bigint, p_late ledger.late_entry[], p_at timestamptz, p_shard smallint DEFAULT -1,
  p_seq bigint DEFAULT 0, OUT debits numeric, OUT credits numeric
) LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT coalesce(sum(t.debits), 0), coalesce(sum(t.credits), 0) INTO sums_at.debits, sums_at.credits FROM (
    SELECT b.debits, b.credits FROM ledger.booked_at(ARRAY[p_account], p_at, p_shard, p_seq) b
    UNION ALL
    SELECT greatest(-l.amount, 0), greatest(l.amount, 0)
      FROM ledger.late_at(p_late, p_at, p_shard, p_seq) l) t;
END $$;

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
  WITH entry AS MATERIALIZED (
    SELECT r.*, p.moves[array_position(p.seqs, r.seq)] AS moved
    FROM (SELECT c.shard, n.seqs, n.moves, i.* FROM cut(p_start, p_shard, p_seq) c
      JOIN cut(p_end) e ON e.shard = c.shard
      CROSS JOIN LATERAL (SELECT array_agg(n.seq) AS seqs, array_agg(n.amount) AS moves
        FROM next_entries(wanted.id, c.shard, c.seq, e.seq, p_limit + passed) n) n
      CROSS JOIN LATERAL ids_between(c.shard, n.seqs[1], n.seqs[cardinality(n.seqs)]) i
      WHERE c.shard = coalesce(wanted.home, c.shard) OFFSET 0) p -- first: it leaves partitions out
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

REVOKE EXECUTE ON FUNCTION ledger.late_entries, ledger.late_at, ledger.booked_at, ledger.sums_at FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.late_entries, ledger.late_at, ledger.booked_at, ledger.sums_at TO hub_app;
