-- Why: nobody could see who owes the platform what, or write it off: the debts of providers were one sum, and
-- corrections of it named no debtor.

-- Changes of the debts of providers: refunds of what was paid out already, what later earnings made good,
-- what was written off, and corrections. The debtor of a correction from before is `unattributed`.
CREATE VIEW ledger.debt_change AS
  SELECT r.shard, r.seq, r.id, r.kind, r.at, -u.amount AS amount,
    split_part(a.code, ':', 3) AS provider
  FROM ledger.journal r CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
  JOIN ledger.journal s ON s.owner = r.owner AND s.id = r.id AND s.phase = 2
  JOIN ledger.account a ON a.id = s.payee
  WHERE r.kind = 29 AND u.account = 9
  UNION ALL
  SELECT r.shard, r.seq, r.id, r.kind, r.at, -u.amount, split_part(a.code, ':', 3)
  FROM ledger.journal r CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
  JOIN ledger.account a ON a.id = r.owner
  WHERE r.kind = 43 AND u.account = 9
  UNION ALL
  SELECT r.shard, r.seq, r.id, r.kind, r.at, u.amount, split_part(a.code, ':', 3)
  FROM ledger.journal r CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
  JOIN ledger.account a ON a.id = u.account
  WHERE r.kind = 38 AND u.account <> 9
  UNION ALL
  SELECT r.shard, r.seq, r.id, r.kind, r.at, -u.amount, coalesce(r.meta ->> 'provider', 'unattributed')
  FROM ledger.journal r CROSS JOIN LATERAL unnest(r.accounts, r.amounts) u(account, amount)
  WHERE r.kind IN (39, 40) AND u.account = 9;
GRANT SELECT ON ledger.debt_change TO hub_app;

ALTER TABLE ledger.kind DISABLE TRIGGER append_only;
UPDATE ledger.kind SET needs = '{author,reason,provider}' WHERE event = 'receivable.written-off';
ALTER TABLE ledger.kind ENABLE TRIGGER append_only;

-- Raises an error unless a correction or write-off of debts names a provider who owes as much. The lock is
-- that of payouts, which recover debts.
CREATE FUNCTION ledger.check_debt(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb)
RETURNS void LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  debtor text := p_meta ->> 'provider';
  cleared bigint;
BEGIN
  IF p_kind.id NOT IN (39, 40) OR NOT 9 = ANY (p_accounts) THEN RETURN; END IF;
  IF coalesce(debtor, '') = '' THEN
    RAISE EXCEPTION '% needs the provider whose debt it changes', p_kind.event
      USING ERRCODE = 'check_violation';
  END IF;
  PERFORM FROM hub.provider WHERE id = debtor FOR NO KEY UPDATE;
  PERFORM FROM balance WHERE account = 9 ORDER BY shard FOR UPDATE;
  SELECT sum(u.amount) INTO cleared FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.account = 9;
  IF cleared > (SELECT coalesce(sum(d.amount), 0) FROM debt_change d WHERE d.provider = debtor) THEN
    RAISE EXCEPTION 'provider % owes less', debtor USING ERRCODE = 'check_violation';
  END IF;
END $$;

-- As in 0008_ledger_post.sql, with the rule of debts.
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
END $$;
REVOKE EXECUTE ON FUNCTION ledger.check_debt FROM PUBLIC;

-- Writing a debt off favors its provider: always two people. Recovering one takes it from what is owed to the
-- provider.
ALTER TABLE hub.staff_act DROP CONSTRAINT staff_act_kind_check, ADD CONSTRAINT staff_act_kind_check
  CHECK (kind IN ('adjustment', 'refund', 'exception', 'transfer', 'provider', 'write-off', 'recovery'));
CREATE OR REPLACE FUNCTION hub.needs_second_person(
  p_principal text, p_kind text, p_terms jsonb, p_exposure bigint, p_alone_max bigint
) RETURNS boolean LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT (p_kind = 'adjustment' AND (p_terms ->> 'asset' IS DISTINCT FROM 'USDC'
      OR p_terms ->> 'credit' LIKE ANY (
        '{liabilities:agents:%,liabilities:providers:%,assets:receivable:providers}')))
    OR p_kind = 'write-off'
    OR (p_kind = 'exception' AND p_terms ->> 'decision' = 'identified')
    OR done_alone(p_principal) + p_exposure > p_alone_max $$;
