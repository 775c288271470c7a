-- Why: who can change a table can also recompute every leaf and seal that follows. What was signed before,
-- with a key that is not in the database, and is known outside of it, cannot be taken back.

-- Which ledger this is; its checkpoints name it, so that those of another one never fit.
CREATE TABLE ledger.identity (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO ledger.identity DEFAULT VALUES;

-- Every key that ever signed. Whoever does not trust this table brings the keys along.
CREATE TABLE ledger.signing_key (
  id text PRIMARY KEY, -- its JWK thumbprint (RFC 7638)
  public_key bytea NOT NULL UNIQUE CHECK (length(public_key) = 32), -- Ed25519
  since timestamptz NOT NULL DEFAULT now()
);

-- What a shard had come to when it had been verified. `note` is the signed statement, and the columns
-- beside it say the same; core/ledger/checkpoint.ts explains it.
CREATE TABLE ledger.checkpoint (
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  hash bytea NOT NULL,
  at timestamptz NOT NULL,
  key text NOT NULL REFERENCES ledger.signing_key,
  note text NOT NULL,
  PRIMARY KEY (shard, seq),
  FOREIGN KEY (shard, seq) REFERENCES ledger.seal (shard, seq_to)
);
SELECT ledger.protect(name) FROM unnest(ARRAY['ledger.identity', 'ledger.signing_key',
  'ledger.checkpoint']::regclass[]) name;

-- The sums of all postings up to the newest checkpoint of a shard, for every account that has any: where
-- the next verification goes on. The checkpoint signs them.
CREATE TABLE ledger.verified_balance (
  shard smallint NOT NULL,
  account bigint NOT NULL REFERENCES ledger.account,
  balance numeric NOT NULL,
  PRIMARY KEY (shard, account)
);

-- The same at `p_upto`, given that `p_after` is the newest checkpoint.
CREATE FUNCTION ledger.verified_at(p_shard smallint, p_after bigint, p_upto bigint)
RETURNS TABLE (account bigint, balance numeric) LANGUAGE sql STABLE AS $$
  SELECT s.account, sum(s.amount) FROM (
    SELECT v.account, v.balance AS amount FROM ledger.verified_balance v WHERE v.shard = p_shard
    UNION ALL
    SELECT l.account, l.amount FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(j) l
      WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto) s
  GROUP BY s.account $$;

-- sha256 over a line `id code asset balance` for each of them, in the order of the ids: the codes are in
-- it, since the journal knows accounts by number and a name could be given to another one.
CREATE FUNCTION ledger.balances_hash(p_shard smallint, p_after bigint, p_upto bigint) RETURNS bytea
LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(coalesce(string_agg(
    concat(v.account, ' ', a.code, ' ', s.code, ' ', v.balance, E'\n'), '' ORDER BY v.account), ''), 'UTF8'))
  FROM ledger.verified_at(p_shard, p_after, p_upto) v
  LEFT JOIN ledger.account a ON a.id = v.account LEFT JOIN ledger.asset s ON s.id = a.asset $$;

-- Makes a public key known; the same again changes nothing.
CREATE FUNCTION ledger.add_signing_key(p_id text, p_public_key bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO signing_key (id, public_key) VALUES (p_id, p_public_key) ON CONFLICT (id) DO NOTHING $$;

-- Keeps a checkpoint, and moves the verified balances there. It must be of a seal, and newer than those
-- that are kept.
CREATE FUNCTION ledger.add_checkpoint(
  p_shard smallint, p_seq bigint, p_hash bytea, p_at timestamptz, p_key text, p_note text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  after bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.checkpoint'), p_shard);
  PERFORM FROM seal s WHERE s.shard = p_shard AND s.seq_to = p_seq AND s.hash = p_hash;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'shard % has no seal of seq % with this hash', p_shard, p_seq
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT coalesce(max(c.seq), 0) INTO after FROM checkpoint c WHERE c.shard = p_shard;
  IF p_seq <= after THEN
    RAISE EXCEPTION 'shard % has a checkpoint of seq % already', p_shard, after
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO verified_balance AS v SELECT p_shard, l.account, sum(l.amount)
    FROM journal j CROSS JOIN LATERAL legs(j) l
    WHERE j.shard = p_shard AND j.seq > after AND j.seq <= p_seq GROUP BY l.account
    ON CONFLICT (shard, account) DO UPDATE SET balance = v.balance + excluded.balance;
  INSERT INTO checkpoint VALUES (p_shard, p_seq, p_hash, p_at, p_key, p_note);
END $$;

REVOKE EXECUTE ON FUNCTION ledger.verified_at, ledger.balances_hash, ledger.add_signing_key,
  ledger.add_checkpoint FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.verified_at, ledger.balances_hash, ledger.add_signing_key,
  ledger.add_checkpoint TO hub_app;
GRANT SELECT ON ledger.identity, ledger.signing_key, ledger.checkpoint, ledger.verified_balance TO hub_app;
