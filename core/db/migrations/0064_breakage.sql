-- Why: the credits of a revoked key stayed on it for ever. They go to another key of the principal; what
-- nobody claims becomes income by two people, and only if the key does not work any more.

-- Raises an error if credits lapse of a key that works.
CREATE FUNCTION ledger.check_lapse(p_kind ledger.kind, p_accounts bigint[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  IF p_kind.event = 'credits.lapsed' AND EXISTS (SELECT FROM hub.api_key k
      WHERE k.credits = ANY (p_accounts) AND k.parent IS NULL AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) THEN
    RAISE EXCEPTION 'the key works: its credits do not lapse' USING ERRCODE = 'check_violation';
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.check_lapse FROM PUBLIC;

-- As in 0057_provider_debts.sql, with the rule of lapsed credits.
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
  PERFORM check_lapse(p_kind, p_accounts);
END $$;

ALTER TABLE ledger.kind DISABLE TRIGGER append_only;
UPDATE ledger.kind SET needs = '{author,reason}',
  meaning = 'credits of a key that was revoked or expired, as income' WHERE event = 'credits.lapsed';
ALTER TABLE ledger.kind ENABLE TRIGGER append_only;

-- Breakage is income at the expense of an agent: always two people.
ALTER TABLE hub.staff_act DROP CONSTRAINT staff_act_kinds, ADD CONSTRAINT staff_act_kinds CHECK (kind IN
  ('adjustment', 'refund', 'exception', 'transfer', 'provider', 'write-off', 'recovery', 'period',
    'breakage'));
ALTER TABLE hub.staff_act DROP CONSTRAINT staff_act_two_people, ADD CONSTRAINT staff_act_two_people
  CHECK (kind NOT IN ('period', 'breakage') OR state <> 'booked' OR decider IS NOT NULL);
CREATE OR REPLACE FUNCTION hub.needs_second_person(
  p_principal text, p_kind text, p_terms jsonb, p_exposure bigint, p_alone_max bigint
) RETURNS boolean LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT (p_kind = 'adjustment' AND (p_terms ->> 'asset' IS DISTINCT FROM 'USDC'
      OR p_terms ->> 'credit' LIKE ANY (
        '{liabilities:agents:%,liabilities:providers:%,assets:receivable:providers}')))
    OR p_kind IN ('write-off', 'breakage')
    OR (p_kind = 'exception' AND p_terms ->> 'decision' = 'identified')
    OR done_alone(p_principal) + p_exposure > p_alone_max $$;
