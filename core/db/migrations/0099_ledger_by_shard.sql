-- upgrade: expand
-- Forms of views and functions that PostgreSQL and Citus both take: entries of one call are joined by shard,
-- rows of several shards are locked one shard after the other, a row is passed as ROW(j.*), no list of
-- columns follows the name of a CTE, and an EXISTS selects a column. What they return does not change.
CREATE OR REPLACE VIEW ledger.open_hold AS
  SELECT r.* FROM ledger.journal r
  WHERE r.phase = 1 AND NOT EXISTS (SELECT 1 FROM ledger.journal s
    WHERE s.shard = r.shard AND s.owner = r.owner AND s.id = r.id AND s.phase = 2);

CREATE OR REPLACE VIEW ledger.posting AS
  SELECT j.shard, j.seq, l.n, j.id, j.owner, j.phase, k.event, j.at,
    coalesce(j.effective_at, j.at) AS effective_at, a.code AS account, s.code AS asset, l.amount,
    l.account AS account_id
  FROM ledger.journal j
  JOIN ledger.kind k ON k.id = j.kind
  CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
  JOIN ledger.account a ON a.id = l.account
  JOIN ledger.asset s ON s.id = a.asset;

CREATE OR REPLACE VIEW ledger.debt_change AS
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    (- u.amount) AS amount,
    split_part(a.code, ':'::text, 3) AS provider
   FROM (((ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
     JOIN ledger.journal s ON (((s.shard = r.shard) AND (s.owner = r.owner) AND (s.id = r.id)
       AND (s.phase = 2))))
     JOIN ledger.account a ON ((a.id = s.payee)))
  WHERE ((r.kind = 29) AND (u.account = 9))
UNION ALL
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    (- u.amount) AS amount,
    split_part(a.code, ':'::text, 3) AS provider
   FROM ((ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
     JOIN ledger.account a ON ((a.id = r.owner)))
  WHERE ((r.kind = 43) AND (u.account = 9))
UNION ALL
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    u.amount,
    split_part(a.code, ':'::text, 3) AS provider
   FROM ((ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
     JOIN ledger.account a ON ((a.id = u.account)))
  WHERE ((r.kind = 38) AND (u.account <> 9))
UNION ALL
 SELECT r.shard,
    r.seq,
    r.id,
    r.kind,
    r.at,
    (- u.amount) AS amount,
    COALESCE((r.meta ->> 'provider'::text), 'unattributed'::text) AS provider
   FROM (ledger.journal r
     CROSS JOIN LATERAL UNNEST(r.accounts, r.amounts) u(account, amount))
  WHERE ((r.kind = ANY (ARRAY[39, 40])) AND (u.account = 9));

CREATE OR REPLACE FUNCTION ledger.movements(
  p_shard smallint, p_after bigint, p_upto bigint, p_account bigint DEFAULT NULL::bigint
)
 RETURNS TABLE(seq bigint, account bigint, amount bigint)
 LANGUAGE sql
 STABLE
AS $$
  WITH entry AS MATERIALIZED (
    SELECT j.seq, j.phase, j.owner, j.payee, ledger.holds_account(j.asset) AS holds, j.guards, j.accounts,
      j.amounts, j.fee, j.amount - j.fee AS share,
      CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END AS back,
      CASE j.phase WHEN 1 THEN 0 ELSE j.amount END AS used
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
  ), leg AS (
    SELECT e.seq, e.owner AS account, e.back AS amount FROM entry e WHERE e.accounts IS NULL
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
  GROUP BY l.account, l.seq HAVING sum(l.amount) <> 0 $$;

CREATE OR REPLACE FUNCTION ledger.verified_at(p_shard smallint, p_after bigint, p_upto bigint)
 RETURNS TABLE(account bigint, balance numeric)
 LANGUAGE sql
 STABLE
AS $$
  SELECT s.account, sum(s.amount) FROM (
    SELECT v.account, v.balance AS amount FROM ledger.verified_balance v WHERE v.shard = p_shard
    UNION ALL
    SELECT l.account, l.amount
      FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
      WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto) s
  GROUP BY s.account $$;

CREATE OR REPLACE FUNCTION ledger.journal_balances_hash(p_shard smallint, p_upto bigint)
 RETURNS bytea
 LANGUAGE sql
 STABLE
AS $$
  SELECT sha256(convert_to(coalesce(string_agg(
    concat(v.account, ' ', a.code, ' ', s.code, ' ', v.balance, E'\n'), '' ORDER BY v.account), ''), 'UTF8'))
  FROM (SELECT l.account, sum(l.amount) AS balance
    FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
    WHERE j.shard = p_shard AND j.seq <= p_upto GROUP BY l.account) v
  LEFT JOIN ledger.account a ON a.id = v.account LEFT JOIN ledger.asset s ON s.id = a.asset $$;

CREATE OR REPLACE FUNCTION ledger.add_checkpoint(
  p_shard smallint, p_seq bigint, p_audit bigint, p_hash bytea, p_at timestamp with time zone, p_key text,
  p_note text
)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  newest checkpoint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.checkpoint'), p_shard);
  PERFORM 1 FROM seal s WHERE s.shard = p_shard AND s.seq_to = p_seq AND s.hash = p_hash;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % has no seal of seq % with this hash', p_shard, p_seq
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO newest FROM checkpoint c WHERE c.shard = p_shard ORDER BY c.seq DESC, c.audit DESC LIMIT 1;
  IF (p_seq, p_audit) <= (newest.seq, newest.audit) OR p_seq < newest.seq OR p_audit < newest.audit THEN
    RAISE EXCEPTION 'shard % has a checkpoint of seq % already', p_shard, newest.seq
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO verified_balance AS v SELECT p_shard, l.account, sum(l.amount)
    FROM journal j CROSS JOIN LATERAL legs(ROW(j.*)::journal) l
    WHERE j.shard = p_shard AND j.seq > coalesce(newest.seq, 0) AND j.seq <= p_seq GROUP BY l.account
    ON CONFLICT (shard, account) DO UPDATE SET balance = v.balance + excluded.balance;
  INSERT INTO checkpoint (shard, seq, hash, at, key, note, audit)
    VALUES (p_shard, p_seq, p_hash, p_at, p_key, p_note, p_audit);
END $$;

CREATE OR REPLACE FUNCTION ledger.open_since()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $$
BEGIN
  RETURN coalesce((SELECT max(h.open_since) FROM ledger.head h), '-infinity');
END $$;

CREATE OR REPLACE FUNCTION ledger.open_shard(p_shard smallint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  since timestamptz := open_since();
BEGIN
  INSERT INTO head (shard, open_since) VALUES (p_shard, since) ON CONFLICT DO NOTHING;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT id, p_shard, asset, CASE class WHEN 'liabilities' THEN 0 END FROM account WHERE home IS NULL
    ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION ledger.hold_still(p_shards smallint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  place smallint;
BEGIN
  FOR place IN SELECT DISTINCT s FROM unnest(p_shards) s ORDER BY s LOOP
    PERFORM 1 FROM head WHERE shard = place FOR UPDATE;
  END LOOP;
END $$;
