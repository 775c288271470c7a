-- Why: an operator may let credits expire. The holder gets a notice before, and only credits of a notice that
-- is due lapse.

-- Credits of a principal that were bought before an instant, and lapse if they are not spent by another one.
CREATE TABLE hub.lapse_notice (
  id uuid PRIMARY KEY,               -- of the entries credits.lapsed too
  principal text NOT NULL REFERENCES hub.principal,
  amount bigint NOT NULL CHECK (amount > 0),
  bought_before timestamptz NOT NULL,
  noticed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL,
  done_at timestamptz,
  lapsed bigint,
  CHECK (bought_before <= noticed_at AND due_at >= noticed_at + interval '6 days'),
  CHECK ((done_at IS NULL) = (lapsed IS NULL)),
  CHECK (lapsed BETWEEN 0 AND amount)
);
CREATE UNIQUE INDEX lapse_notice_open ON hub.lapse_notice (principal) WHERE done_at IS NULL;
CREATE INDEX lapse_notice_due ON hub.lapse_notice (due_at) WHERE done_at IS NULL;
CREATE TRIGGER keep_row BEFORE DELETE ON hub.lapse_notice FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
GRANT SELECT, INSERT (id, principal, amount, bought_before, due_at), UPDATE (done_at, lapsed)
  ON hub.lapse_notice TO hub_app;

-- Available credits of all principals that are left of what they had before an instant. The oldest credits
-- are spent first: what came in since then is left as long as anything is. Transfers between the keys of a
-- principal bring in nothing. Kinds: 16 purchased, 20 and 29 refunded, 25 granted, 37 identified, 40
-- adjusted.
CREATE FUNCTION hub.expired_credits(p_before timestamptz)
RETURNS TABLE (principal text, amount bigint) LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  WITH inflow AS (
    SELECT u.account, sum(u.amount) AS amount
    FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
    WHERE j.kind IN (16, 20, 25, 29, 37, 40) AND j.at >= p_before AND u.amount > 0
    GROUP BY u.account
  )
  SELECT k.principal, (sum(b.balance) - coalesce(sum(i.amount), 0))::bigint
  FROM api_key k JOIN principal p ON p.id = k.principal
  JOIN ledger.balance b ON b.account = k.credits AND b.shard = p.shard
  LEFT JOIN inflow i ON i.account = k.credits
  WHERE k.parent IS NULL GROUP BY k.principal
  HAVING sum(b.balance) > coalesce(sum(i.amount), 0) $$;
GRANT EXECUTE ON FUNCTION hub.expired_credits TO hub_app;

-- Raises an error if credits of a key that works lapse without a notice that is due, or more than it says.
DROP FUNCTION ledger.check_lapse;
CREATE FUNCTION ledger.check_lapse(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb)
RETURNS void LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  notice uuid := p_meta ->> 'notice';
  expired bigint;
BEGIN
  IF p_kind.event <> 'credits.lapsed' THEN RETURN; END IF;
  IF notice IS NOT NULL THEN
    SELECT sum(u) INTO expired FROM unnest(p_amounts) u WHERE u > 0;
    IF NOT EXISTS (SELECT FROM hub.lapse_notice n
        WHERE n.id = notice AND n.done_at IS NULL AND n.due_at <= clock_timestamp()
          AND p_accounts[1] IN (SELECT k.credits FROM hub.api_key k WHERE k.principal = n.principal)
          AND n.amount >= expired + (SELECT coalesce(sum(-j.amounts[1]), 0) FROM journal j
            WHERE j.id = notice AND j.phase = 0 AND j.owner IN
              (SELECT k.credits FROM hub.api_key k WHERE k.principal = n.principal))) THEN
      RAISE EXCEPTION 'no notice is due of so many credits' USING ERRCODE = 'check_violation';
    END IF;
  ELSIF EXISTS (SELECT FROM hub.api_key k
      WHERE k.credits = ANY (p_accounts) AND k.parent IS NULL AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) THEN
    RAISE EXCEPTION 'the key works: its credits do not lapse' USING ERRCODE = 'check_violation';
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.check_lapse FROM PUBLIC;

-- As in 0064_breakage.sql; lapsed credits are checked with their amount and notice.
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
  PERFORM check_lapse(p_kind, p_accounts, p_amounts, p_meta);
END $$;

ALTER TABLE ledger.kind DISABLE TRIGGER append_only;
UPDATE ledger.kind SET meaning = 'credits that expired, or of a revoked or expired key, as income'
  WHERE event = 'credits.lapsed';
ALTER TABLE ledger.kind ENABLE TRIGGER append_only;

ALTER TABLE hub.mail DROP CONSTRAINT mail_template_check, ADD CONSTRAINT mail_template_check
  CHECK (template IN ('sign-in', 'payout-sent', 'payout-address', 'credits-expiring'));
