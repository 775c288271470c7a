-- Functions of the ledger that read several shards, for a ledger that Citus distributes: each statement names
-- its shard, and the results are merged on the coordinator. They return what those of the migrations return.

CREATE OR REPLACE FUNCTION ledger.cut(p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0)
  RETURNS TABLE(shard smallint, seq bigint, chunk_to bigint) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  place smallint;
  reached bigint;
  chunk_end bigint;
BEGIN
  FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP
    SELECT s.seq_to INTO reached FROM seal s WHERE s.shard = place
      AND s.at < p_at + CASE WHEN place <= p_shard THEN interval '1 microsecond' ELSE '0' END
      ORDER BY s.at DESC, s.seq_to DESC LIMIT 1;
    reached := least(CASE WHEN place = p_shard THEN p_seq END, coalesce(reached, 0));
    SELECT coalesce(min(c.seq_to) FILTER (WHERE c.seq_to >= reached), max(c.seq_to), 0) INTO chunk_end
      FROM chunk c WHERE c.shard = place;
    RETURN QUERY SELECT place, reached, chunk_end;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ledger.late(
  p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0, p_account bigint DEFAULT NULL
) RETURNS TABLE(
  shard smallint, seq bigint, booked_at timestamptz, value_at timestamptz, account bigint, amount bigint
) LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  place record;
BEGIN
  FOR place IN SELECT * FROM cut(p_at, p_shard, p_seq) LOOP
    RETURN QUERY SELECT j.shard, j.seq, j.at, j.effective_at, u.account, sum(u.amount)::bigint
      FROM journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
      WHERE j.shard = place.shard AND j.seq > place.seq
        AND (p_account IS NULL OR p_account = ANY (j.accounts) AND u.account = p_account)
        AND j.effective_at IS NOT NULL AND tstzrange(j.effective_at, j.at, '[]') @> p_at
        AND (j.effective_at, j.shard, j.seq) <= (p_at, p_shard, p_seq)
      GROUP BY 1, 2, 3, 4, 5 HAVING sum(u.amount) <> 0;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ledger.totals_at(
  p_accounts bigint[], p_at timestamptz, p_shard smallint DEFAULT -1, p_seq bigint DEFAULT 0
) RETURNS TABLE(account bigint, debits numeric, credits numeric) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  single bigint := CASE cardinality(p_accounts) WHEN 1 THEN p_accounts[1] END;
  place record;
  accounts bigint[] := '{}';
  debits_of numeric[] := '{}';
  credits_of numeric[] := '{}';
  more_accounts bigint[];
  more_debits numeric[];
  more_credits numeric[];
BEGIN
  FOR place IN SELECT * FROM cut(p_at, p_shard, p_seq) LOOP
    SELECT array_agg(s.account), array_agg(s.debits - coalesce(o.debits, 0)),
        array_agg(s.credits - coalesce(o.credits, 0))
      INTO more_accounts, more_debits, more_credits
      FROM (SELECT DISTINCT ON (s.account) s.* FROM snapshot s WHERE s.shard = place.shard
          AND s.account = ANY (p_accounts) AND s.seq_to <= place.chunk_to
        ORDER BY s.account, s.seq_to DESC) s
      CROSS JOIN LATERAL (SELECT -sum(least(u.amount, 0)) AS debits, sum(greatest(u.amount, 0)) AS credits
        FROM unnest(s.amounts[width_bucket((place.seq - s.seq_to)::smallint, s.entries) + 1:]) u(amount)
        WHERE s.seq_to > place.seq) o;
    accounts := accounts || more_accounts;
    debits_of := debits_of || more_debits;
    credits_of := credits_of || more_credits;
    IF place.seq > place.chunk_to THEN
      SELECT array_agg(m.account), array_agg(greatest(-m.amount, 0)::numeric),
          array_agg(greatest(m.amount, 0)::numeric)
        INTO more_accounts, more_debits, more_credits
        FROM movements(place.shard, place.chunk_to, place.seq, single) m;
      accounts := accounts || more_accounts;
      debits_of := debits_of || more_debits;
      credits_of := credits_of || more_credits;
    END IF;
  END LOOP;
  SELECT array_agg(l.account), array_agg(greatest(-l.amount, 0)::numeric),
      array_agg(greatest(l.amount, 0)::numeric)
    INTO more_accounts, more_debits, more_credits FROM late(p_at, p_shard, p_seq, single) l;
  accounts := accounts || more_accounts;
  debits_of := debits_of || more_debits;
  credits_of := credits_of || more_credits;
  RETURN QUERY SELECT w.id, coalesce(sum(t.debits), 0), coalesce(sum(t.credits), 0)
    FROM unnest(p_accounts) w(id)
    LEFT JOIN unnest(accounts, debits_of, credits_of) t(account, debits, credits) ON t.account = w.id
    GROUP BY w.id;
END $$;

CREATE OR REPLACE FUNCTION ledger.held_at(p_accounts bigint[], p_at timestamptz)
  RETURNS TABLE(account bigint, balance numeric) LANGUAGE plpgsql STABLE
  SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  reached bigint[];
  posted bigint[];
  accounts bigint[];
  balances numeric[];
BEGIN
  SELECT array_agg(c.seq ORDER BY c.shard) INTO reached FROM cut(p_at) c;
  SELECT array_agg(h.seq ORDER BY h.shard) INTO posted FROM head h;
  IF reached IS DISTINCT FROM posted THEN
    RETURN QUERY SELECT t.account, t.credits - t.debits FROM totals_at(p_accounts, p_at) t;
    RETURN;
  END IF;
  SELECT array_agg(s.account), array_agg(s.balance) INTO accounts, balances
    FROM (SELECT b.account, sum(b.balance) AS balance FROM balance b
      WHERE b.account = ANY (p_accounts) GROUP BY b.account) s;
  RETURN QUERY SELECT w.id, coalesce(s.balance, 0) FROM unnest(p_accounts) w(id)
    LEFT JOIN unnest(accounts, balances) s(account, balance) ON s.account = w.id;
END $$;

-- Prepares the accounts of by_group separately: a query on accounts cannot call what reads the shards.
CREATE OR REPLACE FUNCTION ledger.groups_at(p_at timestamptz, p_prefix text DEFAULT '')
  RETURNS TABLE(code text, asset smallint, accounts bigint, debits numeric, credits numeric)
  LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
  kept day_end;
  reached bigint[] := ARRAY(SELECT c.seq FROM cut(p_at) c ORDER BY c.shard);
  wanted bigint[];
  touched bigint[]; -- accounts that were booked late, with what they held …
  held numeric[];
  late_amounts numeric[];
  before numeric[]; -- … and without
BEGIN
  IF p_prefix = '' THEN
    SELECT * INTO kept FROM day_end e
      WHERE e.day = (p_at AT TIME ZONE 'UTC')::date - 1
        AND (e.day + 1)::timestamp AT TIME ZONE 'UTC' = p_at AND e.seqs = reached;
  END IF;
  IF kept.day IS NULL THEN
    wanted := ARRAY(SELECT a.id FROM account a WHERE starts_with(a.code, p_prefix));
    SELECT array_agg(h.account), array_agg(h.balance) INTO touched, held FROM held_at(wanted, p_at) h;
    RETURN QUERY SELECT g.* FROM by_group(touched, held) g;
    RETURN;
  END IF;
  SELECT array_agg(m.account), array_agg(m.amount) INTO wanted, late_amounts
    FROM (SELECT l.account, sum(l.amount) AS amount FROM late(p_at) l GROUP BY 1) m;
  SELECT array_agg(h.account), array_agg(h.balance), array_agg(h.balance - m.amount)
    INTO touched, held, before
    FROM held_at(wanted, p_at) h JOIN unnest(wanted, late_amounts) m(account, amount)
      ON m.account = h.account;
  RETURN QUERY
  SELECT l.code, l.asset, sum(l.accounts)::bigint, sum(l.debits), sum(l.credits) FROM (
    SELECT * FROM unnest(kept.codes, kept.assets, kept.accounts, kept.debits, kept.credits)
    UNION ALL SELECT * FROM by_group(touched, held)
    UNION ALL SELECT b.code, b.asset, -b.accounts, -b.debits, -b.credits FROM by_group(touched, before) b
  ) l(code, asset, accounts, debits, credits) GROUP BY 1, 2 HAVING sum(l.accounts) > 0;
END $$;

CREATE OR REPLACE FUNCTION ledger.end_days(p_limit integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  today date := ((now() - interval '5 minutes') AT TIME ZONE 'UTC')::date;
  first date;
  next date;
  midnight timestamptz;
  made integer := 0;
  held_accounts bigint[];
  balances numeric[];
  seqs bigint[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.end_days'), 0);
  SELECT (min(s.at) AT TIME ZONE 'UTC')::date INTO first FROM seal s;
  FOR next IN SELECT today - n FROM generate_series(1, today - first) n
      WHERE NOT EXISTS (SELECT 1 FROM day_end e WHERE e.day = today - n) ORDER BY n LIMIT p_limit LOOP
    midnight := (next + 1)::timestamp AT TIME ZONE 'UTC';
    seqs := ARRAY(SELECT c.seq FROM cut(midnight) c ORDER BY c.shard);
    held_accounts := ARRAY(SELECT a.id FROM account a);
    SELECT array_agg(h.account), array_agg(h.balance - coalesce(l.amount, 0)) INTO held_accounts, balances
      FROM held_at(held_accounts, midnight) h
      LEFT JOIN (SELECT l.account, sum(l.amount) AS amount FROM late(midnight) l GROUP BY 1) l
        ON l.account = h.account;
    INSERT INTO day_end SELECT next, seqs, coalesce(array_agg(g.code), '{}'),
        coalesce(array_agg(g.asset), '{}'), coalesce(array_agg(g.accounts), '{}'),
        coalesce(array_agg(g.debits), '{}'), coalesce(array_agg(g.credits), '{}')
      FROM (SELECT * FROM by_group(held_accounts, balances) b ORDER BY b.code COLLATE "C", b.asset) g;
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;

CREATE OR REPLACE FUNCTION ledger.owners_of(p_id uuid) RETURNS TABLE(owner bigint, shard smallint, seq bigint)
  LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT j.owner, j.shard, j.seq FROM journal j WHERE j.id = p_id;
END $$;

CREATE OR REPLACE FUNCTION ledger.statement(
  p_account text, p_first timestamptz, p_start timestamptz, p_shard smallint, p_seq bigint, p_end timestamptz,
  p_limit integer, OUT asset text, OUT opening numeric, OUT closing numeric, OUT balance numeric,
  OUT debits numeric, OUT credits numeric, OUT lines json
) LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET jit = off AS $$
DECLARE
  wanted account;
  passed integer; -- entries posted after the start with a value date before it
  place record;
  seqs bigint[];
  more_amounts bigint[];
  more journal[];
  entries journal[] := '{}';
  amounts bigint[] := '{}';
  reach_at timestamptz := p_end;
  reach_shard smallint := -1;
  reach_seq bigint := 0;
BEGIN
  SELECT * INTO wanted FROM account a WHERE a.code = p_account;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT s.code INTO statement.asset FROM asset s WHERE s.id = wanted.asset;
  SELECT count(*) INTO passed FROM late(p_start, p_shard, p_seq, wanted.id);
  SELECT f.credits - f.debits, e.credits - e.debits, e.debits - f.debits, e.credits - f.credits
    INTO statement.opening, statement.closing, statement.debits, statement.credits
    FROM totals_at(ARRAY[wanted.id], p_first) f CROSS JOIN totals_at(ARRAY[wanted.id], p_end) e;
  statement.balance := statement.opening;
  IF p_shard >= 0 THEN -- not the first page
    SELECT t.credits - t.debits INTO statement.balance
      FROM totals_at(ARRAY[wanted.id], p_start, p_shard, p_seq) t;
  END IF;
  FOR place IN SELECT c.shard, c.seq AS after, e.seq AS upto FROM cut(p_start, p_shard, p_seq) c
      JOIN cut(p_end) e ON e.shard = c.shard WHERE c.shard = coalesce(wanted.home, c.shard) LOOP
    SELECT array_agg(n.seq), array_agg(n.amount ORDER BY n.seq) INTO seqs, more_amounts
      FROM next_entries(wanted.id, place.shard, place.after, place.upto, p_limit + passed) n;
    SELECT array_agg(ROW(r.*)::journal ORDER BY r.seq) INTO more FROM journal r
      WHERE r.shard = place.shard AND r.seq = ANY (seqs);
    entries := entries || more;
    amounts := amounts || more_amounts;
  END LOOP;
  SELECT array_agg(e.entry), array_agg(e.amount) INTO entries, amounts FROM (
    SELECT e.entry, e.amount FROM (SELECT entries[n] AS entry, amounts[n] AS amount
      FROM generate_subscripts(entries, 1) n) e
    ORDER BY (e.entry).at, (e.entry).shard, (e.entry).seq LIMIT p_limit + passed) e;
  IF cardinality(entries) = p_limit + passed THEN
    reach_at := (entries[p_limit + passed]).at;
    reach_shard := (entries[p_limit + passed]).shard;
    reach_seq := (entries[p_limit + passed]).seq;
  END IF;
  FOR place IN SELECT * FROM late(reach_at, reach_shard, reach_seq, wanted.id) LOOP
    SELECT array_agg(ROW(j.*)::journal) INTO more FROM journal j
      WHERE j.shard = place.shard AND j.seq = place.seq;
    entries := entries || more;
    amounts := amounts || place.amount;
  END LOOP;
  WITH page AS (
    SELECT (l.j).shard, (l.j).seq, l.amount, l.value_at, l.j
    FROM (SELECT entries[n] AS j, amounts[n] AS amount,
        coalesce((entries[n]).effective_at, (entries[n]).at) AS value_at
      FROM generate_subscripts(entries, 1) n) l
    WHERE (l.value_at, (l.j).shard, (l.j).seq) > (p_start, p_shard, p_seq)
    ORDER BY l.value_at, (l.j).shard, (l.j).seq LIMIT p_limit
  ), contra AS (
    SELECT o.shard, o.seq,
      array_agg((SELECT a.code FROM account a WHERE a.id = o.account) ORDER BY o.n) AS codes
    FROM (SELECT g.shard, g.seq, l.account, min(l.n) AS n FROM page g CROSS JOIN LATERAL legs(g.j) l
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
