-- upgrade: expand
-- Sum the steps of calls, which are nearly all entries, by their columns; `ledger.legs`, which builds two
-- arrays for each row, only for others. The sums are those of `ledger.legs`, and an account counts if one of
-- its legs is not zero.
CREATE OR REPLACE FUNCTION ledger.verified_at(p_shard smallint, p_after bigint, p_upto bigint)
 RETURNS TABLE(account bigint, balance numeric)
 LANGUAGE sql
 STABLE
AS $$
  WITH step AS MATERIALIZED (
    SELECT j.owner, j.payee, j.asset,
      sum(CASE WHEN j.phase = 1 THEN -j.amount ELSE j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.rest END <> 0) AS back,
      sum(CASE WHEN j.phase = 1 THEN j.amount ELSE -j.amount - j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.amount + j.rest END <> 0) AS held,
      sum(j.amount - j.fee) FILTER (WHERE j.phase <> 1 AND j.amount <> j.fee) AS share,
      sum(j.fee) FILTER (WHERE j.phase <> 1 AND j.fee <> 0) AS fee
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
      AND num_nonnulls(j.accounts, j.amounts, j.guards) = 0
    GROUP BY j.owner, j.payee, j.asset
  )
  SELECT l.account, sum(l.amount) FROM (
    SELECT v.account, v.balance AS amount FROM ledger.verified_balance v WHERE v.shard = p_shard
    UNION ALL
    SELECT s.owner, s.back FROM step s
    UNION ALL
    SELECT ledger.holds_account(s.asset), s.held FROM step s
    UNION ALL
    SELECT s.payee, s.share FROM step s
    UNION ALL
    SELECT 1, s.fee FROM step s
    UNION ALL
    SELECT l.account, l.amount FROM ledger.journal j
      CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
      WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
        AND num_nonnulls(j.accounts, j.amounts, j.guards) > 0
  ) l WHERE l.amount IS NOT NULL GROUP BY l.account $$;

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
  after bigint;
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
  after := coalesce(newest.seq, 0);
  WITH step AS MATERIALIZED (
    SELECT j.owner, j.payee, j.asset,
      sum(CASE WHEN j.phase = 1 THEN -j.amount ELSE j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.rest END <> 0) AS back,
      sum(CASE WHEN j.phase = 1 THEN j.amount ELSE -j.amount - j.rest END)
        FILTER (WHERE CASE WHEN j.phase = 1 THEN j.amount ELSE j.amount + j.rest END <> 0) AS held,
      sum(j.amount - j.fee) FILTER (WHERE j.phase <> 1 AND j.amount <> j.fee) AS share,
      sum(j.fee) FILTER (WHERE j.phase <> 1 AND j.fee <> 0) AS fee
    FROM journal j WHERE j.shard = p_shard AND j.seq > after AND j.seq <= p_seq
      AND num_nonnulls(j.accounts, j.amounts, j.guards) = 0
    GROUP BY j.owner, j.payee, j.asset
  )
  INSERT INTO verified_balance AS v SELECT p_shard, l.account, sum(l.amount) FROM (
    SELECT s.owner AS account, s.back AS amount FROM step s
    UNION ALL
    SELECT holds_account(s.asset), s.held FROM step s
    UNION ALL
    SELECT s.payee, s.share FROM step s
    UNION ALL
    SELECT 1, s.fee FROM step s
    UNION ALL
    SELECT l.account, l.amount FROM journal j
      CROSS JOIN LATERAL legs(ROW(j.*)::journal) l
      WHERE j.shard = p_shard AND j.seq > after AND j.seq <= p_seq
        AND num_nonnulls(j.accounts, j.amounts, j.guards) > 0
  ) l WHERE l.amount IS NOT NULL GROUP BY l.account
    ON CONFLICT (shard, account) DO UPDATE SET balance = v.balance + excluded.balance;
  INSERT INTO checkpoint (shard, seq, hash, at, key, note, audit)
    VALUES (p_shard, p_seq, p_hash, p_at, p_key, p_note, p_audit);
END $$;
