-- As functions.sql, for functions that verification and snapshots use.

CREATE OR REPLACE FUNCTION ledger.wrong_day_ends() RETURNS TABLE(day date, example text)
  LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  place smallint;
  n integer := 0;
  piece record;
  days date[] := '{}';
  ids bigint[] := '{}';
  amounts numeric[] := '{}';
  more_ids bigint[];
  more_amounts numeric[];
BEGIN
  FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP
    n := n + 1;
    FOR piece IN SELECT e.day, e.seqs[n] AS seq,
          lag(e.seqs[n], 1, 0::bigint) OVER (ORDER BY e.day) AS after
        FROM day_end e WHERE e.seqs[n] IS NOT NULL LOOP
      SELECT array_agg(m.account), array_agg(m.amount) INTO more_ids, more_amounts
        FROM (SELECT m.account, sum(m.amount) AS amount
          FROM movements(place, piece.after, piece.seq) m GROUP BY 1) m;
      ids := ids || more_ids;
      amounts := amounts || more_amounts;
      days := days || array_fill(piece.day, ARRAY[coalesce(cardinality(more_ids), 0)]);
    END LOOP;
  END LOOP;
  RETURN QUERY
  WITH change AS (
    SELECT c.day, c.account, sum(c.amount) AS amount
    FROM unnest(days, ids, amounts) c(day, account, amount) GROUP BY 1, 2
  ), held AS (
    SELECT c.day, c.account, sum(c.amount) OVER w AS balance, sum(c.amount) OVER w - c.amount AS before
    FROM change c WINDOW w AS (PARTITION BY c.account ORDER BY c.day)
  ), step AS (
    SELECT h.day, account_group(a.code) AS code, a.asset,
      sum((h.balance <> 0)::integer - (h.before <> 0)::integer) AS accounts,
      sum(greatest(-h.balance, 0) - greatest(-h.before, 0)) AS debits,
      sum(greatest(h.balance, 0) - greatest(h.before, 0)) AS credits
    FROM held h JOIN account a ON a.id = h.account GROUP BY 1, 2, 3
  ), line AS (
    SELECT e.day, g.code, g.asset, coalesce(sum(s.accounts) OVER w, 0) AS accounts,
      coalesce(sum(s.debits) OVER w, 0) AS debits, coalesce(sum(s.credits) OVER w, 0) AS credits
    FROM day_end e CROSS JOIN (SELECT DISTINCT code, asset FROM step) g
    LEFT JOIN step s ON s.day = e.day AND s.code = g.code AND s.asset = g.asset
    WINDOW w AS (PARTITION BY g.code, g.asset ORDER BY e.day)
  )
  SELECT coalesce(l.day, k.day), format('day %s: %s', coalesce(l.day, k.day), coalesce(l.code, k.code))
  FROM (SELECT * FROM line WHERE accounts <> 0) l
  FULL JOIN (SELECT e.day, u.* FROM day_end e
      CROSS JOIN LATERAL unnest(e.codes, e.assets, e.accounts, e.debits, e.credits)
        u(code, asset, accounts, debits, credits)) k
    ON k.day = l.day AND k.code = l.code AND k.asset = l.asset
  WHERE (l.accounts, l.debits, l.credits) IS DISTINCT FROM (k.accounts::numeric, k.debits, k.credits);
END $$;

CREATE OR REPLACE FUNCTION ledger.sum_up(p_shard smallint, p_from bigint, p_to bigint)
  RETURNS SETOF ledger.snapshot LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  sums snapshot[];
  before snapshot[];
BEGIN
  SELECT array_agg(ROW(c.account, p_shard, p_to, c.debits, c.credits, c.entries, c.amounts)::snapshot)
    INTO sums
    FROM (SELECT m.account, -sum(least(m.amount, 0)) AS debits, sum(greatest(m.amount, 0)) AS credits,
        array_agg((m.seq - p_to)::smallint ORDER BY m.seq) AS entries,
        array_agg(m.amount ORDER BY m.seq) AS amounts
      FROM movements(p_shard, p_from - 1, p_to) m GROUP BY m.account) c;
  SELECT array_agg(ROW(s.*)::snapshot) INTO before FROM (
    SELECT DISTINCT ON (s.account) s.* FROM snapshot s
    WHERE s.shard = p_shard AND s.seq_to < p_from
      AND s.account = ANY (ARRAY(SELECT c.account FROM unnest(sums) c))
    ORDER BY s.account, s.seq_to DESC) s;
  RETURN QUERY SELECT c.account, p_shard, p_to, c.debits + coalesce(b.debits, 0),
      c.credits + coalesce(b.credits, 0), c.entries, c.amounts
    FROM unnest(sums) c LEFT JOIN unnest(before) b ON b.account = c.account;
END $$;

CREATE OR REPLACE FUNCTION ledger.balances_hash(p_shard smallint, p_after bigint, p_upto bigint)
  RETURNS bytea LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  ids bigint[];
  amounts numeric[];
BEGIN
  SELECT array_agg(v.account), array_agg(v.balance) INTO ids, amounts
    FROM verified_at(p_shard, p_after, p_upto) v;
  RETURN (SELECT sha256(convert_to(coalesce(string_agg(
      concat(v.account, ' ', a.code, ' ', s.code, ' ', v.balance, E'\n'), '' ORDER BY v.account), ''),
      'UTF8'))
    FROM unnest(ids, amounts) v(account, balance)
    LEFT JOIN account a ON a.id = v.account LEFT JOIN asset s ON s.id = a.asset);
END $$;

-- Compares one chunk after the other, so that its memory does not depend on the length of the journal.
CREATE OR REPLACE FUNCTION ledger.wrong_snapshots(p_shard smallint, p_after bigint, p_upto bigint)
  RETURNS TABLE(seq bigint, example text) LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  part record;
  ids record;
  kept snapshot[];
  stray bigint;
BEGIN
  FOR part IN SELECT c.* FROM (SELECT k.*, coalesce(lag(k.seq_to) OVER (ORDER BY k.seq_to), 0) AS before
      FROM chunk k WHERE k.shard = p_shard) c
      WHERE c.seq_to > p_after AND c.seq_to <= p_upto ORDER BY c.seq_to LOOP
    IF part.seq_from <> part.before + 1 THEN
      seq := part.seq_to;
      example := format('shard %s chunk of seq %s to %s: the one before it ends at %s', p_shard,
        part.seq_from, part.seq_to, part.before);
      RETURN NEXT;
    END IF;
    SELECT array_agg(ROW(s.*)::snapshot) INTO kept FROM snapshot s
      WHERE s.shard = p_shard AND s.seq_to = part.seq_to;
    RETURN QUERY SELECT part.seq_to, format('shard %s snapshot of account %s at seq %s', p_shard,
        coalesce(r.account, k.account), part.seq_to)
      FROM sum_up(p_shard, part.seq_from, part.seq_to) r FULL JOIN unnest(kept) k ON k.account = r.account
      WHERE (r.debits, r.credits, r.entries, r.amounts) IS DISTINCT FROM
        (k.debits, k.credits, k.entries, k.amounts);
    SELECT * INTO ids FROM chunk_ids(p_shard, part.seq_from, part.seq_to);
    IF (part.id_first, part.id_last) IS DISTINCT FROM (ids.id_first, ids.id_last) THEN
      seq := part.seq_to;
      example := format('shard %s chunk of seq %s to %s: its ids are others', p_shard, part.seq_from,
        part.seq_to);
      RETURN NEXT;
    END IF;
  END LOOP;
  FOR stray IN SELECT DISTINCT s.seq_to FROM snapshot s WHERE s.shard = p_shard AND s.seq_to > p_after
      AND s.seq_to <= p_upto AND NOT EXISTS (SELECT 1 FROM chunk c
        WHERE c.shard = p_shard AND c.seq_to = s.seq_to) LOOP
    seq := stray;
    example := format('shard %s snapshots at seq %s: there is no such chunk', p_shard, stray);
    RETURN NEXT;
  END LOOP;
END $$;
