-- upgrade: expand
-- Why: a process of an older release knows no network besides Base. It looks for each open payment there, and
-- reversed those of other networks on the accounts of Base.

-- Checks that a payment which vanished from the chain is credited to the account that its sale debited, by
-- the same amount and on the same shard, and that nothing is recovered but credits that it bought. A payment
-- that was confirmed is final.
CREATE FUNCTION ledger.check_vanished(
  p_kind ledger.kind, p_shard smallint, p_id uuid, p_accounts bigint[], p_amounts bigint[]
) RETURNS void LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  place record;
  sale journal;
  received bigint; -- account of what is received on the network of the sale and not final yet
BEGIN
  IF p_kind.event <> 'receipt.vanished' THEN RETURN; END IF;
  FOR place IN SELECT * FROM owners_of(p_id) LOOP
    SELECT * INTO sale FROM journal WHERE shard = p_shard AND owner = place.owner AND id = p_id
      AND phase = 0 AND kind IN (16, 18);
    EXIT WHEN FOUND;
  END LOOP;
  IF sale.id IS NULL THEN
    RAISE EXCEPTION 'no sale % to reverse on shard %', p_id, p_shard USING ERRCODE = 'check_violation';
  END IF;
  SELECT u.account INTO received FROM unnest(sale.accounts, sale.amounts) u(account, amount)
    WHERE u.amount < 0 LIMIT 1;
  IF EXISTS (SELECT 1 FROM unnest(p_accounts, p_amounts) u(account, amount)
      WHERE NOT CASE WHEN u.amount > 0 THEN u.account = received
        ELSE u.account = 15 OR u.account = ANY (sale.accounts) END)
      OR (SELECT sum(u) FROM unnest(p_amounts) u WHERE u > 0)
        <> (SELECT -sum(u) FROM unnest(sale.amounts) u WHERE u < 0) THEN
    RAISE EXCEPTION 'the sale % is reversed on the accounts that it changed, in full', p_id
      USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM journal WHERE owner = received AND id = p_id AND phase = 0 AND kind = 17) THEN
    RAISE EXCEPTION 'the payment % is final', p_id USING ERRCODE = 'check_violation';
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.check_vanished FROM PUBLIC;

-- As in 0100_post_by_shard.sql, with this check.
CREATE OR REPLACE FUNCTION ledger.post(
  p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[], p_amounts bigint[],
  p_effective_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_meta jsonb DEFAULT
  NULL::jsonb
)
 RETURNS smallint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  known journal;
  refused smallint;
  entry journal;
  posted kind;
  updated integer;
BEGIN
  SELECT h.seq, h.hash, greatest(clock_timestamp(), h.at) INTO STRICT base, link, instant
    FROM head h WHERE h.shard = p_shard FOR UPDATE;
  SELECT * INTO posted FROM kind k WHERE k.event = p_event AND k.phase IN (0, 3);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such event: %', p_event USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO known FROM journal
    WHERE shard = p_shard AND owner = p_owner AND id = p_id AND phase = posted.phase;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted.id AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  PERFORM check_entry(posted, p_accounts, p_amounts, p_meta);
  PERFORM check_vanished(posted, p_shard, p_id, p_accounts, p_amounts);
  IF p_effective_at < open_since() THEN
    RAISE EXCEPTION 'the books of % are closed', to_char(p_effective_at AT TIME ZONE 'UTC', 'YYYY-MM')
      USING ERRCODE = 'AH001';
  END IF;
  IF posted.phase = 3 THEN
    refused := reversal_fault(p_shard, p_owner, p_id, p_accounts, p_amounts);
    IF refused IS NOT NULL THEN RETURN refused; END IF;
  END IF;
  IF overdraws_asset(posted, p_accounts, p_amounts) THEN RETURN 0; END IF;
  IF EXISTS (SELECT 1 FROM (SELECT u.account, sum(u.amount) AS delta
        FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
      JOIN balance b ON b.account = d.account AND b.shard = p_shard
      WHERE b.balance + d.delta < b.floor) THEN
    RETURN 0;
  END IF;
  -- Clocks of the outside may be a little ahead of ours: then its value date is when it is booked.
  SELECT p_id, p_owner, base + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, a.asset, p_shard, posted.id,
      posted.phase, NULL, p_accounts, p_amounts,
      CASE WHEN p_effective_at < instant THEN p_effective_at END, p_meta, NULL
    INTO entry FROM account a WHERE a.id = p_accounts[1];
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  UPDATE balance b SET balance = b.balance + d.delta
    FROM (SELECT u.account, sum(u.amount)::bigint AS delta
      FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $$;
