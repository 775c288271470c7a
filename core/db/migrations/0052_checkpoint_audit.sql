-- Why: a checkpoint also signs the audit log, so that a line which was rewritten together with its hash is
-- found. And all processes know the result of the last verification, for the status page and the metrics.

-- Lines of the audit log that the checkpoint covers. If only the log has grown, the same entries are signed
-- again.
ALTER TABLE ledger.checkpoint ADD COLUMN audit bigint NOT NULL DEFAULT 0 CHECK (audit >= 0);
ALTER TABLE ledger.checkpoint DROP CONSTRAINT checkpoint_pkey, ADD PRIMARY KEY (shard, seq, audit);

-- Stores a checkpoint, and moves the verified balances to it. It must be of a seal, and newer than those
-- that are stored.
DROP FUNCTION ledger.add_checkpoint(smallint, bigint, bytea, timestamptz, text, text);
CREATE FUNCTION ledger.add_checkpoint(p_shard smallint, p_seq bigint, p_audit bigint, p_hash bytea,
  p_at timestamptz, p_key text, p_note text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  newest checkpoint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.checkpoint'), p_shard);
  PERFORM FROM seal s WHERE s.shard = p_shard AND s.seq_to = p_seq AND s.hash = p_hash;
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
    FROM journal j CROSS JOIN LATERAL legs(j) l
    WHERE j.shard = p_shard AND j.seq > coalesce(newest.seq, 0) AND j.seq <= p_seq GROUP BY l.account
    ON CONFLICT (shard, account) DO UPDATE SET balance = v.balance + excluded.balance;
  INSERT INTO checkpoint (shard, seq, hash, at, key, note, audit)
    VALUES (p_shard, p_seq, p_hash, p_at, p_key, p_note, p_audit);
END $$;
REVOKE EXECUTE ON FUNCTION ledger.add_checkpoint FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.add_checkpoint TO hub_app;

-- ── Result of the last verification ─────────────────────────────────────────────────────────

CREATE TABLE ledger.verification (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  at timestamptz NOT NULL,
  sound_at timestamptz,       -- of the last run that found nothing
  failures text[] NOT NULL    -- names of the checks that failed, each with its first violation
);
GRANT SELECT ON ledger.verification TO hub_app;

CREATE FUNCTION ledger.record_verification(p_failures text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO verification AS v (at, sound_at, failures)
    VALUES (clock_timestamp(), CASE WHEN p_failures = '{}' THEN clock_timestamp() END, p_failures)
    ON CONFLICT (single) DO UPDATE SET at = excluded.at, failures = excluded.failures,
      sound_at = coalesce(excluded.sound_at, v.sound_at) $$;
REVOKE EXECUTE ON FUNCTION ledger.record_verification FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.record_verification TO hub_app;

-- The hash of the balances at `p_upto`, as `ledger.balances_hash`, computed from the whole journal before it.
CREATE FUNCTION ledger.journal_balances_hash(p_shard smallint, p_upto bigint) RETURNS bytea
LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(coalesce(string_agg(
    concat(v.account, ' ', a.code, ' ', s.code, ' ', v.balance, E'\n'), '' ORDER BY v.account), ''), 'UTF8'))
  FROM (SELECT l.account, sum(l.amount) AS balance FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(j) l
    WHERE j.shard = p_shard AND j.seq <= p_upto GROUP BY l.account) v
  LEFT JOIN ledger.account a ON a.id = v.account LEFT JOIN ledger.asset s ON s.id = a.asset $$;
REVOKE EXECUTE ON FUNCTION ledger.journal_balances_hash FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.journal_balances_hash TO hub_app;
