-- upgrade: expand
-- Why: callers may pay with USDC on further networks. Each has accounts of its own, and a treasury that is
-- reconciled with its own chain. No entry moves money from the accounts of one network to those of another.
ALTER TABLE ledger.kind DISABLE TRIGGER append_only;
UPDATE ledger.kind SET
  debits = array_replace(array_replace(debits, 'assets:usdc:base:in-transit', 'assets:usdc:%:in-transit'),
    'assets:usdc:base:treasury', 'assets:usdc:%:treasury'),
  credits = array_replace(credits, 'assets:usdc:base:in-transit', 'assets:usdc:%:in-transit')
  WHERE event IN ('credits.purchased', 'receipt.confirmed', 'call.sold', 'receipt.vanished');
UPDATE ledger.kind SET debits = array_replace(debits, 'assets:usdc:base:%', 'assets:usdc:%'),
  credits = array_replace(credits, 'assets:usdc:base:%', 'assets:usdc:%')
  WHERE event IN ('surplus.found', 'shortfall.found');
ALTER TABLE ledger.kind ENABLE TRIGGER append_only;

CREATE OR REPLACE FUNCTION ledger.check_entry(
  p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb
) RETURNS void LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  offender text;
BEGIN
  IF EXISTS (SELECT FROM unnest(p_accounts, p_amounts) u(account, amount)
      LEFT JOIN account a ON a.id = u.account GROUP BY a.asset HAVING sum(u.amount) <> 0
        OR a.asset IS NULL) THEN
    RAISE EXCEPTION 'not balanced, or an unknown account: % %', p_accounts, p_amounts
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT a.code INTO offender FROM unnest(p_accounts, p_amounts) u(account, amount)
    JOIN account a ON a.id = u.account
    WHERE u.amount = 0 OR a.id IN (2, 30, 40) -- what is held, only the steps of calls may change
      OR a.id = 7 AND p_kind.event = 'balance.adjusted' -- in transit, only payouts
      OR NOT a.code LIKE ANY (CASE WHEN u.amount < 0 THEN p_kind.debits ELSE p_kind.credits END)
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% may not be booked on % so', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
  IF (SELECT count(DISTINCT split_part(a.code, ':', 3)) FROM unnest(p_accounts) u(account)
      JOIN account a ON a.id = u.account WHERE a.code LIKE 'assets:usdc:%') > 1 THEN
    RAISE EXCEPTION '% may not be booked on the accounts of two networks', p_kind.event
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT n INTO offender FROM unnest(p_kind.needs) n
    WHERE coalesce(length(trim(p_meta ->> n)), 0) = 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% needs a % in its meta', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
  PERFORM check_debt(p_kind, p_accounts, p_amounts, p_meta);
  PERFORM check_lapse(p_kind, p_accounts, p_amounts, p_meta);
END $$;

-- As before, but the payment may have been confirmed on any network.
CREATE OR REPLACE FUNCTION ledger.reversal_fault(
  p_shard smallint, p_owner bigint, p_id uuid, p_accounts bigint[], p_amounts bigint[]
) RETURNS smallint LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  settled journal;
  is_sale boolean;
  paid bigint;
  received bigint; -- account of what is received on the network of the sale and not final yet
BEGIN
  SELECT * INTO settled FROM journal WHERE shard = p_shard AND owner = p_owner AND id = p_id
    AND (phase = 2 AND kind = 2 OR phase = 0 AND kind = 18);
  IF NOT FOUND THEN RETURN 3; END IF;
  is_sale := settled.kind = 18;
  paid := CASE WHEN is_sale THEN (SELECT sum(u) FROM unnest(settled.amounts) u WHERE u > 0)
    ELSE settled.amount END;
  IF (SELECT bool_or(NOT (CASE WHEN is_sale THEN u.account IN (8, 23) ELSE u.account = p_owner END))
      OR sum(u.amount) > paid FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.amount > 0) THEN
    RETURN 4;
  END IF;
  SELECT u.account INTO received FROM unnest(settled.accounts, settled.amounts) u(account, amount)
    WHERE u.amount < 0 LIMIT 1;
  IF is_sale AND NOT EXISTS (SELECT 1 FROM journal
      WHERE owner = received AND id = p_id AND phase = 0 AND kind = 17) THEN
    RAISE EXCEPTION 'the payment of the call is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF settled.payee = 6 AND NOT EXISTS (SELECT 1 FROM journal
      WHERE owner = 6 AND id = p_id AND phase = 0 AND kind = 19) THEN
    RAISE EXCEPTION 'the payment to the seller is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF (CASE settled.payee WHEN 6 THEN 9 ELSE 15 END) = ANY (p_accounts) THEN
    RAISE EXCEPTION 'a refund is a loss of the platform if an external seller was paid, and only then'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

-- The treasury of a further network is `treasury:<network>`, named as in its accounts.
ALTER DOMAIN hub.wallet DROP CONSTRAINT wallet_check;
ALTER DOMAIN hub.wallet ADD CONSTRAINT wallet_check
  CHECK (VALUE IN ('treasury', 'spend') OR VALUE ~ '^treasury:[a-z0-9-]{1,40}$');

-- USDC on its way from the treasury of one network to that of another.
INSERT INTO ledger.account (id, code, asset) VALUES (61, 'assets:sweeps:in-transit', 1);
INSERT INTO ledger.balance (account, shard, asset, floor) SELECT 61, shard, 1, NULL FROM ledger.head;
