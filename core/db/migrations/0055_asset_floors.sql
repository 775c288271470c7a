-- Why: a correction could credit an asset that was not there, so that a wallet or the debts of providers fell
-- below zero. And the refund of a purchase from an external seller made a debtor of money in transit.

-- Returns true if an entry would take more out of an asset than all shards have of it together. Entries that
-- record what the chain did are posted in any case: a wallet from which more left than the ledger knew of has
-- received a deposit that reconciliation shows. The balances are locked in the order of the shards, because
-- no shard sees what the others post meanwhile.
CREATE FUNCTION ledger.overdraws_asset(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[])
RETURNS boolean LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  leg record;
BEGIN
  IF p_kind.event IN ('receipt.confirmed', 'receipt.vanished', 'external.confirmed', 'external.lost',
      'payout.confirmed', 'gas.paid', 'wallet.moved') THEN
    RETURN false;
  END IF;
  FOR leg IN SELECT u.account, sum(u.amount) AS credit FROM unnest(p_accounts, p_amounts) u(account, amount)
      JOIN account a ON a.id = u.account AND a.class = 'assets'
      GROUP BY u.account HAVING sum(u.amount) > 0 ORDER BY u.account LOOP
    PERFORM FROM balance b WHERE b.account = leg.account ORDER BY b.shard FOR UPDATE;
    IF leg.credit + (SELECT sum(b.balance) FROM balance b WHERE b.account = leg.account) > 0 THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END $$;

-- Returns the outcome of a reversal that is refused; null if it may be posted. A call is reversed once, and
-- by at most what was charged, in favor of who paid. What an external seller received is a loss of the
-- platform, and is known when the payment is final: until then the chain may still give the money back.
CREATE FUNCTION ledger.reversal_fault(p_owner bigint, p_id uuid, p_accounts bigint[], p_amounts bigint[])
RETURNS smallint LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  settled journal;
BEGIN
  SELECT * INTO settled FROM journal WHERE owner = p_owner AND id = p_id AND phase = 2 AND kind = 2;
  IF NOT FOUND THEN RETURN 3; END IF;
  IF (SELECT bool_or(u.account <> p_owner) OR sum(u.amount) > settled.amount
      FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.amount > 0) THEN
    RETURN 4;
  END IF;
  IF settled.payee = 6 AND NOT EXISTS (SELECT FROM journal
      WHERE owner = 6 AND id = p_id AND phase = 0 AND kind = 19) THEN
    RAISE EXCEPTION 'the payment to the seller is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF (CASE settled.payee WHEN 6 THEN 9 ELSE 15 END) = ANY (p_accounts) THEN
    RAISE EXCEPTION 'a refund is a loss of the platform if an external seller was paid, and only then'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.overdraws_asset, ledger.reversal_fault FROM PUBLIC;

ALTER TABLE ledger.kind DISABLE TRIGGER append_only;
UPDATE ledger.kind SET debits = debits || '{expenses:x402-loss}'::text[] WHERE event = 'call.reversed';
ALTER TABLE ledger.kind ENABLE TRIGGER append_only;

-- As in 0008_ledger_post.sql, with these two rules.
CREATE OR REPLACE FUNCTION ledger.post(
  p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[],
  p_amounts bigint[], p_effective_at timestamptz DEFAULT NULL, p_meta jsonb DEFAULT NULL
) RETURNS smallint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
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
  SELECT * INTO known FROM journal WHERE owner = p_owner AND id = p_id AND phase = posted.phase;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted.id AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  PERFORM check_entry(posted, p_accounts, p_amounts, p_meta);
  IF p_effective_at < open_since() THEN
    RAISE EXCEPTION 'the books of % are closed', to_char(p_effective_at AT TIME ZONE 'UTC', 'YYYY-MM')
      USING ERRCODE = 'AH001';
  END IF;
  IF posted.phase = 3 THEN
    refused := reversal_fault(p_owner, p_id, p_accounts, p_amounts);
    IF refused IS NOT NULL THEN RETURN refused; END IF;
  END IF;
  IF overdraws_asset(posted, p_accounts, p_amounts)
      OR EXISTS (SELECT FROM (SELECT u.account, sum(u.amount) AS delta
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
    FROM (SELECT l.account, sum(l.amount)::bigint AS delta FROM legs(entry) l GROUP BY l.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $$;
