-- Why: the books as of any instant. An entry belongs to its value date: `effective_at`, or `at` where there
-- is none. Everything here follows from the journal, and can be dropped and built again, byte for byte.

-- ── Snapshots ───────────────────────────────────────────────────────────────────────────────

-- The journal of a shard in pieces of one size. A piece is summed up once, when it is complete. Its ids
-- let a reader leave out the partitions of other months.
CREATE TABLE ledger.chunk (
  shard smallint NOT NULL REFERENCES ledger.head,
  seq_from bigint NOT NULL CHECK (seq_from > 0),
  seq_to bigint NOT NULL CHECK (seq_to >= seq_from),
  id_first uuid NOT NULL,
  id_last uuid NOT NULL CHECK (id_last >= id_first),
  PRIMARY KEY (shard, seq_to)
);

-- What an account came to at the end of a chunk that changed it, and which entries of the chunk did. The
-- totals are those of all entries since the shard was opened, in the order of booking. No foreign keys:
-- there are many rows, all from one statement, and `ledger.wrong_snapshots` proves them.
CREATE TABLE ledger.snapshot (
  account bigint NOT NULL,
  shard smallint NOT NULL,
  seq_to bigint NOT NULL,    -- the last entry of the chunk
  debits numeric NOT NULL,   -- a lifetime's may outgrow a bigint, unlike the balance: credits - debits
  credits numeric NOT NULL,
  entries smallint[] NOT NULL, -- seq - seq_to of each, ascending to at most 0 …
  amounts bigint[] NOT NULL,   -- … and by how much each of them changed the account
  PRIMARY KEY (account, shard, seq_to)
);
-- Compressing the long ones took a third of the job.
ALTER TABLE ledger.snapshot ALTER entries SET STORAGE EXTERNAL, ALTER amounts SET STORAGE EXTERNAL;
SELECT ledger.protect(name) FROM unnest(ARRAY['ledger.chunk', 'ledger.snapshot']::regclass[]) name;

-- From an instant to a place in the sequence.
CREATE INDEX seal_at ON ledger.seal (shard, at, seq_to);

-- Entries in one chunk; at most 32,767. The tail that is not summed up yet is read from the journal.
CREATE FUNCTION ledger.chunk_size() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 1024;

-- What the entries after `p_after`, up to `p_upto`, changed: one row for each entry and account. The legs
-- are those of `ledger.legs`, by set. With p_account of that one only.
CREATE FUNCTION ledger.movements(
  p_shard smallint, p_after bigint, p_upto bigint, p_account bigint DEFAULT NULL
) RETURNS TABLE (seq bigint, account bigint, amount bigint) LANGUAGE sql STABLE AS $$
  WITH entry AS MATERIALIZED (
    SELECT j.seq, j.phase, j.owner, j.payee, ledger.holds_account(j.asset) AS holds, j.guards, j.accounts,
      j.amounts, j.fee, j.amount - j.fee AS share,
      CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END AS back,
      CASE j.phase WHEN 1 THEN 0 ELSE j.amount END AS used
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
  ), leg(seq, account, amount) AS (
    SELECT e.seq, e.owner, e.back FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT e.seq, e.holds, -e.back - e.used FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT e.seq, e.payee, e.share FROM entry e WHERE e.phase = 2
    UNION ALL
    SELECT e.seq, 1, e.fee FROM entry e WHERE e.phase = 2
    UNION ALL
    SELECT e.seq, g.account, e.back FROM entry e, unnest(e.guards) g(account) WHERE e.guards IS NOT NULL
    UNION ALL
    SELECT e.seq, v.account, v.amount * cardinality(e.guards) FROM entry e
      CROSS JOIN LATERAL (VALUES (40, -e.back - e.used), (42, e.used)) v(account, amount)
      WHERE e.guards IS NOT NULL
    UNION ALL
    SELECT e.seq, u.account, u.amount FROM entry e, unnest(e.accounts, e.amounts) u(account, amount)
      WHERE e.accounts IS NOT NULL
  )
  SELECT l.seq, l.account, sum(l.amount)::bigint FROM leg l
  WHERE l.amount <> 0 AND (p_account IS NULL OR l.account = p_account)
  GROUP BY l.seq, l.account HAVING sum(l.amount) <> 0 $$;

-- The snapshots of one chunk: what it changed, on top of the snapshots before it.
CREATE FUNCTION ledger.sum_up(p_shard smallint, p_from bigint, p_to bigint) RETURNS SETOF ledger.snapshot
LANGUAGE sql STABLE AS $$
  SELECT c.account, p_shard, p_to, c.debits + coalesce(b.debits, 0), c.credits + coalesce(b.credits, 0),
    c.entries, c.amounts
  FROM (SELECT m.account, -sum(least(m.amount, 0)) AS debits, sum(greatest(m.amount, 0)) AS credits,
      array_agg((m.seq - p_to)::smallint ORDER BY m.seq) AS entries,
      array_agg(m.amount ORDER BY m.seq) AS amounts
    FROM ledger.movements(p_shard, p_from - 1, p_to) m GROUP BY m.account) c
  LEFT JOIN LATERAL (SELECT s.debits, s.credits FROM ledger.snapshot s
    WHERE s.account = c.account AND s.shard = p_shard AND s.seq_to < p_from
    ORDER BY s.seq_to DESC LIMIT 1) b ON true $$;

-- The smallest and the largest id among entries.
CREATE FUNCTION ledger.chunk_ids(p_shard smallint, p_from bigint, p_to bigint)
RETURNS TABLE (id_first uuid, id_last uuid) LANGUAGE sql STABLE AS $$
  SELECT x.ids[1], x.ids[cardinality(x.ids)] FROM (SELECT array_agg(j.id ORDER BY j.id)
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq BETWEEN p_from AND p_to) x(ids) $$;

-- Sums up the complete chunks of a shard that are not yet, at most p_limit. Returns how many it did; it
-- waits for no booking, and none for it.
CREATE FUNCTION ledger.take_snapshots(p_shard smallint, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp
  SET enable_seqscan = off SET enable_hashagg = off SET jit = off
  SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  size integer := chunk_size();
  done bigint;
  last bigint;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.take_snapshots'), p_shard);
  SELECT coalesce(max(c.seq_to), 0) INTO done FROM chunk c WHERE c.shard = p_shard;
  SELECT h.seq INTO last FROM head h WHERE h.shard = p_shard;
  WHILE made < p_limit AND done + size <= last LOOP
    INSERT INTO chunk SELECT p_shard, done + 1, done + size, i.id_first, i.id_last
      FROM chunk_ids(p_shard, done + 1, done + size) i;
    INSERT INTO snapshot SELECT * FROM sum_up(p_shard, done + 1, done + size);
    done := done + size;
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;

-- Drops all snapshots, so that the job builds them again. Only the owner of the tables can.
CREATE FUNCTION ledger.drop_snapshots() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  ALTER TABLE ledger.chunk DISABLE TRIGGER append_only_truncate;
  ALTER TABLE ledger.snapshot DISABLE TRIGGER append_only_truncate;
  TRUNCATE ledger.chunk, ledger.snapshot;
  ALTER TABLE ledger.chunk ENABLE TRIGGER append_only_truncate;
  ALTER TABLE ledger.snapshot ENABLE TRIGGER append_only_truncate;
END $$;

-- Chunks after p_after, up to p_upto, and their snapshots that are not what the journal says. Whoever has
-- checked everything up to p_after has to look no further back.
CREATE FUNCTION ledger.wrong_snapshots(p_shard smallint, p_after bigint, p_upto bigint)
RETURNS TABLE (seq bigint, example text) LANGUAGE sql STABLE AS $$
  SELECT c.seq_to, format('shard %s chunk of seq %s to %s: the one before it ends at %s', p_shard, c.seq_from,
    c.seq_to, c.before)
  FROM (SELECT k.*, coalesce(lag(k.seq_to) OVER (ORDER BY k.seq_to), 0) AS before
    FROM ledger.chunk k WHERE k.shard = p_shard) c
  WHERE c.seq_to > p_after AND c.seq_to <= p_upto AND c.seq_from <> c.before + 1
  UNION ALL
  SELECT c.seq_to, format('shard %s snapshot of account %s at seq %s', p_shard, w.account, c.seq_to)
  FROM ledger.chunk c
  CROSS JOIN LATERAL (
    SELECT coalesce(r.account, s.account) AS account FROM ledger.sum_up(p_shard, c.seq_from, c.seq_to) r
    FULL JOIN (SELECT * FROM ledger.snapshot k WHERE k.shard = p_shard AND k.seq_to = c.seq_to) s
      ON s.account = r.account
    WHERE (r.debits, r.credits, r.entries, r.amounts) IS DISTINCT FROM
      (s.debits, s.credits, s.entries, s.amounts)) w
  WHERE c.shard = p_shard AND c.seq_to > p_after AND c.seq_to <= p_upto
  UNION ALL
  SELECT c.seq_to, format('shard %s chunk of seq %s to %s: its ids are others', p_shard, c.seq_from, c.seq_to)
  FROM ledger.chunk c CROSS JOIN LATERAL ledger.chunk_ids(p_shard, c.seq_from, c.seq_to) i
  WHERE c.shard = p_shard AND c.seq_to > p_after AND c.seq_to <= p_upto
    AND (c.id_first, c.id_last) IS DISTINCT FROM (i.id_first, i.id_last)
  UNION ALL
  SELECT s.seq_to, format('shard %s snapshot of account %s at seq %s: there is no such chunk', p_shard,
    s.account, s.seq_to)
  FROM ledger.snapshot s WHERE s.shard = p_shard AND s.seq_to > p_after AND s.seq_to <= p_upto
    AND NOT EXISTS (SELECT FROM ledger.chunk c WHERE c.shard = p_shard AND c.seq_to = s.seq_to) $$;

-- ── As of ───────────────────────────────────────────────────────────────────────────────────

-- Entries are in the order of (value date, shard, seq); a point in it is what lies at or before such a
-- place. The point of an instant alone, with shard -1, is what has a value date before the instant.

-- How far a point goes in the sequence of each shard: at or before `seq`, everything belongs to it; after
-- `seq`, only what was booked after its value date. `chunk_to` ends the chunk that holds `seq`, or the last.
CREATE FUNCTION ledger.cut(p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0)
RETURNS TABLE (shard smallint, seq bigint, chunk_to bigint) LANGUAGE sql STABLE AS $$
  SELECT p.shard, p.seq, coalesce(
    (SELECT c.seq_to FROM ledger.chunk c WHERE c.shard = p.shard AND c.seq_to >= p.seq
      ORDER BY c.seq_to LIMIT 1),
    (SELECT max(c.seq_to) FROM ledger.chunk c WHERE c.shard = p.shard), 0)
  FROM (SELECT h.shard, least(CASE WHEN h.shard = p_shard THEN p_seq END, coalesce(
      (SELECT s.seq_to FROM ledger.seal s WHERE s.shard = h.shard
        AND s.at < p_at + CASE WHEN h.shard <= p_shard THEN interval '1 microsecond' ELSE '0' END
        ORDER BY s.at DESC, s.seq_to DESC LIMIT 1), 0)) AS seq
    FROM ledger.head h OFFSET 0) p $$;

-- What was booked after `seq` of its shard, but belongs to a point by its value date. With p_account what
-- changed that one only.
CREATE FUNCTION ledger.late(
  p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0, p_account bigint DEFAULT NULL
) RETURNS TABLE (shard smallint, seq bigint, booked_at timestamptz, value_at timestamptz, account bigint,
  amount bigint) LANGUAGE sql STABLE AS $$
  SELECT j.shard, j.seq, j.at, j.effective_at, u.account, sum(u.amount)::bigint
  FROM ledger.journal j
  JOIN ledger.cut(p_at, p_shard, p_seq) c ON c.shard = j.shard AND j.seq > c.seq
  CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
  WHERE (p_account IS NULL OR p_account = ANY (j.accounts) AND u.account = p_account)
    AND j.effective_at IS NOT NULL AND tstzrange(j.effective_at, j.at, '[]') @> p_at
    AND (j.effective_at, j.shard, j.seq) <= (p_at, p_shard, p_seq)
  GROUP BY 1, 2, 3, 4, 5 HAVING sum(u.amount) <> 0 $$;

-- The debits and credits of accounts, all up to a point: balance = credits - debits.
CREATE FUNCTION ledger.totals_at(
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
  WITH place AS MATERIALIZED (
    SELECT a.id AS account, c.* FROM unnest(p_accounts) w(id) JOIN account a ON a.id = w.id
      JOIN cut(p_at, p_shard, p_seq) c ON c.shard = a.home OR a.home IS NULL
  ), total(account, debits, credits) AS (
    SELECT p.account, s.debits - coalesce(o.debits, 0), s.credits - coalesce(o.credits, 0)
      FROM place p
      CROSS JOIN LATERAL (SELECT * FROM snapshot s WHERE s.account = p.account AND s.shard = p.shard
        AND s.seq_to <= p.chunk_to ORDER BY s.seq_to DESC LIMIT 1) s
      CROSS JOIN LATERAL (SELECT -sum(least(u.amount, 0)) AS debits, sum(greatest(u.amount, 0)) AS credits
        FROM unnest(s.amounts[width_bucket((p.seq - s.seq_to)::smallint, s.entries) + 1:]) u(amount)
        WHERE s.seq_to > p.seq) o
    UNION ALL
    SELECT m.account, greatest(-m.amount, 0), greatest(m.amount, 0)
      FROM unnest(tail_accounts, tail_amounts) m(account, amount)
    UNION ALL
    SELECT l.account, greatest(-l.amount, 0), greatest(l.amount, 0)
      FROM late(p_at, p_shard, p_seq, single) l
  )
  SELECT w.id, coalesce(sum(t.debits), 0), coalesce(sum(t.credits), 0)
    FROM unnest(p_accounts) w(id) LEFT JOIN total t ON t.account = w.id GROUP BY w.id;
END $$;

-- The next entries of an account on a shard after `p_after`, up to `p_upto`, in the order of booking, at
-- most p_limit. It reads no more chunks than that takes.
CREATE FUNCTION ledger.next_entries(
  p_account bigint, p_shard smallint, p_after bigint, p_upto bigint, p_limit integer
) RETURNS TABLE (seq bigint, amount bigint) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET enable_seqscan = off SET jit = off
  SET enable_bitmapscan = off SET enable_sort = off -- the first pieces are enough
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  piece snapshot;
  done bigint;
  missing integer := p_limit;
  first integer;
  found integer;
BEGIN
  FOR piece IN SELECT * FROM snapshot s WHERE s.account = p_account AND s.shard = p_shard
      AND s.seq_to > p_after ORDER BY s.seq_to LOOP
    first := width_bucket(greatest(p_after - piece.seq_to, -32768)::smallint, piece.entries) + 1;
    RETURN QUERY SELECT piece.seq_to + u.back, u.amount
      FROM unnest(piece.entries[first:first + missing - 1], piece.amounts[first:first + missing - 1])
        u(back, amount)
      WHERE piece.seq_to + u.back <= p_upto;
    GET DIAGNOSTICS found = ROW_COUNT;
    missing := missing - found;
    IF missing = 0 OR piece.seq_to >= p_upto THEN RETURN; END IF;
  END LOOP;
  SELECT max(c.seq_to) INTO done FROM chunk c WHERE c.shard = p_shard;
  done := greatest(p_after, done);
  IF done >= p_upto THEN RETURN; END IF;
  RETURN QUERY SELECT m.seq, m.amount FROM movements(p_shard, done, p_upto, p_account) m
    ORDER BY m.seq LIMIT missing;
END $$;

-- Between which ids the entries from p_from to p_to lie, as far as the chunks tell.
CREATE FUNCTION ledger.ids_between(p_shard smallint, p_from bigint, p_to bigint)
RETURNS TABLE (id_first uuid, id_last uuid) LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN l.seq_to IS NULL THEN '00000000-0000-0000-0000-000000000000' ELSE c.firsts[1] END,
    CASE WHEN l.seq_to IS NULL THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE c.lasts[1] END
  FROM (SELECT (SELECT c.seq_to FROM ledger.chunk c WHERE c.shard = p_shard AND c.seq_to >= p_to
      ORDER BY c.seq_to LIMIT 1) OFFSET 0) l(seq_to)
  CROSS JOIN LATERAL (SELECT array_agg(c.id_first ORDER BY c.id_first) AS firsts,
      array_agg(c.id_last ORDER BY c.id_last DESC) AS lasts
    FROM ledger.chunk c WHERE c.shard = p_shard AND c.seq_to BETWEEN p_from AND l.seq_to) c $$;

REVOKE EXECUTE ON FUNCTION ledger.chunk_size, ledger.movements, ledger.sum_up, ledger.take_snapshots,
  ledger.drop_snapshots, ledger.wrong_snapshots, ledger.cut, ledger.late, ledger.totals_at,
  ledger.next_entries, ledger.chunk_ids, ledger.ids_between FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.movements, ledger.sum_up, ledger.take_snapshots, ledger.wrong_snapshots,
  ledger.cut, ledger.late, ledger.totals_at, ledger.next_entries,
  ledger.chunk_ids, ledger.ids_between TO hub_app;
GRANT SELECT ON ledger.chunk, ledger.snapshot TO hub_app;
