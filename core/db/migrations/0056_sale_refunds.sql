-- Why: a call that was paid per request by x402 could not be refunded: only calls with a hold could. Its
-- refund is a deposit of the wallet that paid, in suspense until the wallet has a key.

INSERT INTO ledger.kind (id, event, phase, debits, credits, meaning, needs) VALUES
  (43, 'sale.reversed', 3,
    '{liabilities:providers:%,income:services:%,income:commission,assets:receivable:providers}',
    '{liabilities:suspense,equity:between-shards}',
    'a call paid on the spot is refunded, as a deposit of its payer', '{author,reason}');

-- As in 0055_asset_floors.sql, and for sales. A sale has the id of its payment and is refunded when that
-- payment is final; the money becomes a deposit, on the shard of its payer.
CREATE OR REPLACE FUNCTION ledger.reversal_fault(
  p_owner bigint, p_id uuid, p_accounts bigint[], p_amounts bigint[]
) RETURNS smallint LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  settled journal;
  is_sale boolean;
  paid bigint;
BEGIN
  SELECT * INTO settled FROM journal WHERE owner = p_owner AND id = p_id
    AND (phase = 2 AND kind = 2 OR phase = 0 AND kind = 18);
  IF NOT FOUND THEN RETURN 3; END IF;
  is_sale := settled.kind = 18;
  paid := CASE WHEN is_sale THEN (SELECT sum(u) FROM unnest(settled.amounts) u WHERE u > 0)
    ELSE settled.amount END;
  IF (SELECT bool_or(NOT (CASE WHEN is_sale THEN u.account IN (8, 23) ELSE u.account = p_owner END))
      OR sum(u.amount) > paid FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.amount > 0) THEN
    RETURN 4;
  END IF;
  IF is_sale AND NOT EXISTS (SELECT FROM journal
      WHERE owner = 4 AND id = p_id AND phase = 0 AND kind = 17) THEN
    RAISE EXCEPTION 'the payment of the call is not final' USING ERRCODE = 'check_violation';
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

-- Debts of providers: refunds of what was paid out already, and how they were made good.
DROP INDEX ledger.journal_receivable;
CREATE INDEX journal_receivable ON ledger.journal (kind, id) WHERE kind IN (29, 38, 39, 43);
