-- Why: the trial balance of a past day without adding up every account. What all accounts held at the end of
-- a day is summed up once, when the day is over. Like a snapshot it follows from the journal, and can be
-- dropped and built again.

-- Accounts of which there is one for each key, provider or service are one line of a trial balance.
CREATE FUNCTION ledger.account_group(code text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN split_part(code, ':', 3) <> '' AND (split_part(code, ':', 1), split_part(code, ':', 2)) IN
    (('liabilities', 'agents'), ('liabilities', 'providers'), ('liabilities', 'free-calls'),
    ('liabilities', 'allowances'), ('income', 'services'))
  THEN split_part(code, ':', 1) || ':' || split_part(code, ':', 2) || ':' ELSE code END;

-- A page of accounts in their order, whatever the language of the database.
CREATE INDEX account_in_order ON ledger.account (code COLLATE "C");

-- The trial balance at a place in the sequence of each shard, a line for each group and asset. The place is
-- where the day ended in the order of booking, so that it never changes; what was booked later with a value
-- date of the day, or before, is added by whoever reads it.
CREATE TABLE ledger.day_end (
  day date PRIMARY KEY,       -- UTC
  seqs bigint[] NOT NULL,     -- the last entry of each shard, by number
  codes text[] NOT NULL,
  assets smallint[] NOT NULL,
  accounts bigint[] NOT NULL, -- that held anything
  debits numeric[] NOT NULL,  -- of accounts on this side …
  credits numeric[] NOT NULL, -- … and on that
  CHECK (cardinality(codes) = ALL (ARRAY[cardinality(assets), cardinality(accounts), cardinality(debits),
    cardinality(credits)]))
);
SELECT ledger.protect('ledger.day_end');

-- What accounts hold, credit-positive, as lines of a trial balance.
CREATE FUNCTION ledger.by_group(p_accounts bigint[], p_balances numeric[])
RETURNS TABLE (code text, asset smallint, accounts bigint, debits numeric, credits numeric)
LANGUAGE sql STABLE AS $$
  SELECT ledger.account_group(a.code), a.asset, count(*), sum(greatest(-b.balance, 0)),
    sum(greatest(b.balance, 0))
  FROM unnest(p_accounts, p_balances) b(account, balance) JOIN ledger.account a ON a.id = b.account
  WHERE b.balance <> 0 GROUP BY 1, 2 $$;

-- As it was, but for the cut, which was made for each account anew.
CREATE OR REPLACE FUNCTION ledger.totals_at(
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

-- What accounts held at an instant, credit-positive, those that held nothing too.
CREATE FUNCTION ledger.held_at(p_accounts bigint[], p_at timestamptz)
RETURNS TABLE (account bigint, balance numeric) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM cut(p_at) c JOIN head h ON h.shard = c.shard WHERE c.seq < h.seq) THEN
    RETURN QUERY SELECT t.account, t.credits - t.debits FROM totals_at(p_accounts, p_at) t;
  ELSE -- nothing was booked since
    RETURN QUERY SELECT w.id, coalesce(sum(b.balance), 0)
      FROM unnest(p_accounts) w(id) LEFT JOIN balance b ON b.account = w.id GROUP BY w.id;
  END IF;
END $$;

-- The lines of the trial balance of an instant, of accounts that begin with p_prefix and held anything.
CREATE FUNCTION ledger.groups_at(p_at timestamptz, p_prefix text DEFAULT '')
RETURNS TABLE (code text, asset smallint, accounts bigint, debits numeric, credits numeric)
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  kept day_end;
  touched bigint[]; -- accounts that were booked late, with what they held …
  held numeric[];
  before numeric[]; -- … and without
BEGIN
  IF p_prefix = '' THEN
    SELECT * INTO kept FROM day_end e
      WHERE e.day = (p_at AT TIME ZONE 'UTC')::date - 1 AND (e.day + 1)::timestamp AT TIME ZONE 'UTC' = p_at
        AND e.seqs = ARRAY(SELECT c.seq FROM cut(p_at) c ORDER BY c.shard);
  END IF;
  IF kept.day IS NULL THEN
    RETURN QUERY SELECT g.* FROM (SELECT array_agg(h.account) AS accounts, array_agg(h.balance) AS balances
        FROM held_at(ARRAY(SELECT a.id FROM account a WHERE starts_with(a.code, p_prefix)), p_at) h) h
      CROSS JOIN LATERAL by_group(h.accounts, h.balances) g;
    RETURN;
  END IF;
  WITH moved AS MATERIALIZED (
    SELECT l.account, sum(l.amount) AS amount FROM late(p_at) l GROUP BY 1
  )
  SELECT array_agg(h.account), array_agg(h.balance), array_agg(h.balance - m.amount)
    INTO touched, held, before
    FROM held_at(ARRAY(SELECT account FROM moved), p_at) h JOIN moved m ON m.account = h.account;
  RETURN QUERY
  SELECT l.code, l.asset, sum(l.accounts)::bigint, sum(l.debits), sum(l.credits) FROM (
    SELECT * FROM unnest(kept.codes, kept.assets, kept.accounts, kept.debits, kept.credits)
    UNION ALL SELECT * FROM by_group(touched, held)
    UNION ALL SELECT b.code, b.asset, -b.accounts, -b.debits, -b.credits FROM by_group(touched, before) b
  ) l(code, asset, accounts, debits, credits) GROUP BY 1, 2 HAVING sum(l.accounts) > 0;
END $$;

-- Sums up days that are over and are not yet, the latest first, at most p_limit. Returns how many it did. It
-- begins some minutes after midnight: by then all is committed that was booked before.
CREATE FUNCTION ledger.end_days(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  today date := ((now() - interval '5 minutes') AT TIME ZONE 'UTC')::date;
  first date := (SELECT (min((SELECT s.at FROM seal s WHERE s.shard = h.shard ORDER BY s.at LIMIT 1))
    AT TIME ZONE 'UTC')::date FROM head h);
  next date;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.end_days'), 0);
  FOR next IN SELECT today - n FROM generate_series(1, today - first) n
      WHERE NOT EXISTS (SELECT FROM day_end e WHERE e.day = today - n) ORDER BY n LIMIT p_limit LOOP
    INSERT INTO day_end SELECT next, ARRAY(SELECT c.seq FROM cut(o.midnight) c ORDER BY c.shard), g.*
      FROM (SELECT (next + 1)::timestamp AT TIME ZONE 'UTC' AS midnight) o
      CROSS JOIN LATERAL (SELECT array_agg(h.account) AS accounts,
          array_agg(h.balance - coalesce(l.amount, 0)) AS balances
        FROM held_at(ARRAY(SELECT id FROM account), o.midnight) h
        LEFT JOIN (SELECT l.account, sum(l.amount) AS amount FROM late(o.midnight) l GROUP BY 1) l
          ON l.account = h.account) h
      CROSS JOIN LATERAL (SELECT coalesce(array_agg(g.code), '{}'), coalesce(array_agg(g.asset), '{}'),
          coalesce(array_agg(g.accounts), '{}'), coalesce(array_agg(g.debits), '{}'),
          coalesce(array_agg(g.credits), '{}')
        FROM (SELECT * FROM by_group(h.accounts, h.balances) b ORDER BY b.code COLLATE "C", b.asset) g) g;
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;

-- Ends of days that are not what the journal says. It adds up the whole journal, and reads no snapshot.
CREATE FUNCTION ledger.wrong_day_ends() RETURNS TABLE (day date, example text) LANGUAGE sql STABLE AS $$
  WITH place AS (
    SELECT e.day, h.shard, s.seq, lag(s.seq, 1, 0::bigint) OVER (PARTITION BY s.n ORDER BY e.day) AS after
    FROM ledger.day_end e CROSS JOIN LATERAL unnest(e.seqs) WITH ORDINALITY s(seq, n)
    JOIN (SELECT h.shard, row_number() OVER (ORDER BY h.shard) AS n FROM ledger.head h) h ON h.n = s.n
  ), change AS (
    SELECT p.day, m.account, sum(m.amount) AS amount
    FROM place p CROSS JOIN LATERAL ledger.movements(p.shard, p.after, p.seq) m GROUP BY 1, 2
  ), held AS (
    SELECT c.day, c.account, sum(c.amount) OVER w AS balance, sum(c.amount) OVER w - c.amount AS before
    FROM change c WINDOW w AS (PARTITION BY c.account ORDER BY c.day)
  ), step AS (
    SELECT h.day, ledger.account_group(a.code) AS code, a.asset,
      sum((h.balance <> 0)::integer - (h.before <> 0)::integer) AS accounts,
      sum(greatest(-h.balance, 0) - greatest(-h.before, 0)) AS debits,
      sum(greatest(h.balance, 0) - greatest(h.before, 0)) AS credits
    FROM held h JOIN ledger.account a ON a.id = h.account GROUP BY 1, 2, 3
  ), line AS (
    SELECT e.day, g.code, g.asset, coalesce(sum(s.accounts) OVER w, 0) AS accounts,
      coalesce(sum(s.debits) OVER w, 0) AS debits, coalesce(sum(s.credits) OVER w, 0) AS credits
    FROM ledger.day_end e CROSS JOIN (SELECT DISTINCT code, asset FROM step) g
    LEFT JOIN step s ON s.day = e.day AND s.code = g.code AND s.asset = g.asset
    WINDOW w AS (PARTITION BY g.code, g.asset ORDER BY e.day)
  )
  SELECT coalesce(l.day, k.day), format('day %s: %s', coalesce(l.day, k.day), coalesce(l.code, k.code))
  FROM (SELECT * FROM line WHERE accounts <> 0) l
  FULL JOIN (SELECT e.day, u.* FROM ledger.day_end e
      CROSS JOIN LATERAL unnest(e.codes, e.assets, e.accounts, e.debits, e.credits)
        u(code, asset, accounts, debits, credits)) k
    ON k.day = l.day AND k.code = l.code AND k.asset = l.asset
  WHERE (l.accounts, l.debits, l.credits) IS DISTINCT FROM (k.accounts::numeric, k.debits, k.credits) $$;

CREATE OR REPLACE FUNCTION ledger.drop_snapshots() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name regclass;
BEGIN
  FOREACH name IN ARRAY ARRAY['ledger.chunk', 'ledger.snapshot', 'ledger.day_end']::regclass[] LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER append_only_truncate', name);
    EXECUTE format('TRUNCATE %s', name);
    EXECUTE format('ALTER TABLE %s ENABLE TRIGGER append_only_truncate', name);
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION ledger.account_group, ledger.by_group, ledger.held_at, ledger.groups_at,
  ledger.end_days, ledger.wrong_day_ends FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.account_group, ledger.by_group, ledger.held_at, ledger.groups_at,
  ledger.end_days, ledger.wrong_day_ends TO hub_app;
GRANT SELECT ON ledger.day_end TO hub_app;
