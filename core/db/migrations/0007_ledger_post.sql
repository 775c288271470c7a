-- Why: everything but calls, entries of a single step.

-- Posts one balanced entry (purchase, grant, payout, correction …), known by (owner, id). Answers
-- the number of an outcome in core/ledger/events.ts. Amounts are credit-positive and sum to zero for
-- each asset.
CREATE FUNCTION ledger.post(
  p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[],
  p_amounts bigint[], p_effective_at timestamptz DEFAULT NULL, p_meta jsonb DEFAULT NULL
) RETURNS smallint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  known journal;
  entry journal;
  posted_kind smallint;
  updated integer;
BEGIN
  SELECT seq, hash INTO STRICT base, link FROM head WHERE shard = p_shard FOR UPDATE;
  instant := clock_timestamp();
  SELECT k.id INTO STRICT posted_kind FROM kind k WHERE k.event = p_event AND k.phase = 0;
  SELECT * INTO known FROM journal WHERE owner = p_owner AND id = p_id AND phase = 0;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted_kind AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  IF EXISTS (SELECT FROM unnest(p_accounts, p_amounts) u(account, amount)
      LEFT JOIN account a ON a.id = u.account GROUP BY a.asset HAVING sum(u.amount) <> 0
        OR a.asset IS NULL) THEN
    RAISE EXCEPTION 'not balanced, or an unknown account: % %', p_accounts, p_amounts
      USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT FROM (SELECT u.account, sum(u.amount) AS delta
        FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
      JOIN balance b ON b.account = d.account AND b.shard = p_shard
      WHERE b.balance + d.delta < b.floor) THEN
    RETURN 0;
  END IF;
  SELECT p_id, p_owner, base + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, a.asset, p_shard, posted_kind,
      0, NULL, p_accounts, p_amounts, p_effective_at, p_meta, NULL
    INTO entry FROM account a WHERE a.id = p_accounts[1];
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  UPDATE balance b SET balance = b.balance + d.delta
    FROM (SELECT l.account, sum(l.amount)::bigint AS delta FROM legs(entry) l GROUP BY l.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts;
  END IF;
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $$;

REVOKE EXECUTE ON FUNCTION ledger.post FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post TO hub_app;
