-- upgrade: expand
-- Why: a correction that took money out of liabilities:payouts:in-transit left payouts that were on their way
-- without an end. Only payouts change this account.
CREATE OR REPLACE FUNCTION ledger.check_entry(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[],
  p_meta jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $function$
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
  SELECT n INTO offender FROM unnest(p_kind.needs) n
    WHERE coalesce(length(trim(p_meta ->> n)), 0) = 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION '% needs a % in its meta', p_kind.event, offender USING ERRCODE = 'check_violation';
  END IF;
  PERFORM check_debt(p_kind, p_accounts, p_amounts, p_meta);
  PERFORM check_lapse(p_kind, p_accounts, p_amounts, p_meta);
END $function$;
