-- Why: one person could turn an entry into money. What leaves for providers is limited by day, waits before a
-- first payout and after a manual credit, and needs the approval of a person above a limit.

-- The rules in force when a payout starts. Amounts in microdollars, per UTC day; waits in hours.
CREATE TYPE hub.payout_rules AS (
  provider_cap bigint,   -- to one provider
  platform_cap bigint,   -- to all providers
  alone bigint,          -- largest payout without an approval
  first_hours integer,   -- wait before the first payout to an owner
  credit_hours integer   -- wait after a manual credit to the provider
);

-- When the first payout to an owner became due. The wait begins then, not when the account was made.
CREATE TABLE hub.payout_first (
  provider text NOT NULL REFERENCES hub.provider,
  owner text NOT NULL REFERENCES hub.principal,
  due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (provider, owner)
);
SELECT ledger.protect('hub.payout_first');
GRANT SELECT, INSERT (provider, owner) ON hub.payout_first TO hub_app;

-- Approval of one payout up to an amount and to one address, by a person other than the owner. It is valid
-- for seven days.
CREATE TABLE hub.payout_approval (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text NOT NULL REFERENCES hub.provider,
  payee hub.address NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  approved_by text NOT NULL CHECK (approved_by <> ''),
  approver text NOT NULL REFERENCES hub.principal,
  reason text NOT NULL CHECK (length(trim(reason)) BETWEEN 1 AND 500),
  approved_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX payout_approval_provider ON hub.payout_approval (provider, id);
SELECT ledger.protect('hub.payout_approval');
GRANT SELECT, INSERT (provider, payee, amount, approved_by, approver, reason)
  ON hub.payout_approval TO hub_app;

-- Nobody approves payouts of their own.
CREATE FUNCTION hub.admit_payout_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF hub.own_subject(NEW.approver, ARRAY['liabilities:providers:' || NEW.provider || ':']) IS NOT NULL THEN
    RAISE EXCEPTION 'the owner of provider % cannot approve its payout', NEW.provider
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER admit BEFORE INSERT ON hub.payout_approval
  FOR EACH ROW EXECUTE FUNCTION hub.admit_payout_approval();

ALTER TABLE hub.payout
  ADD COLUMN rules hub.payout_rules,   -- null: started before there were any
  ADD COLUMN approval bigint REFERENCES hub.payout_approval;
CREATE UNIQUE INDEX payout_approved ON hub.payout (approval) WHERE state <> 'failed';
CREATE INDEX payout_started ON hub.payout (started_at) INCLUDE (provider, amount) WHERE state <> 'failed';
-- Manual credits: few, and looked for before each payout.
CREATE INDEX journal_adjusted ON ledger.journal (at) WHERE kind = 40;

-- What a payout left on an account because of a cap. The next payout of the account begins with it.
ALTER TABLE hub.payout_part ADD COLUMN carried bigint NOT NULL DEFAULT 0 CHECK (carried >= 0);

-- The approval that the next payout of a provider can use.
CREATE FUNCTION hub.usable_approval(p_provider text, p_payee text)
RETURNS TABLE (id bigint, amount bigint) LANGUAGE sql STABLE AS $$
  SELECT a.id, a.amount FROM hub.payout_approval a
  WHERE a.provider = p_provider AND a.payee = p_payee
    AND a.approved_at > clock_timestamp() - interval '7 days'
    AND NOT EXISTS (SELECT FROM hub.payout o WHERE o.approval = a.id AND o.state <> 'failed')
  ORDER BY a.id DESC LIMIT 1 $$;

-- The amount of the next payout of a provider: what is owed, within the cap of a day and the approval.
CREATE FUNCTION hub.payout_amount(p_provider text, p_payee text, p_owed bigint, p_rules hub.payout_rules)
RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT least(p_owed, p_rules.provider_cap,
    (SELECT greatest(u.amount, p_rules.alone) FROM hub.usable_approval(p_provider, p_payee) u)) $$;

-- What left on this UTC day for the person behind a provider: to its address, and to all providers and
-- addresses of its owner or of the holder of its address.
CREATE FUNCTION hub.paid_to_person(p_provider text, p_payee text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  WITH me AS MATERIALIZED (
    SELECT unnest(principals_of_person(s.id)) AS id
    FROM (SELECT owner AS id FROM provider WHERE id = p_provider AND owner IS NOT NULL
      UNION SELECT id FROM principal WHERE wallet_address = p_payee) s)
  SELECT coalesce(sum(o.amount), 0)::bigint FROM payout o
  WHERE o.started_at >= date_trunc('day', clock_timestamp(), 'UTC') AND o.state <> 'failed'
    AND (o.provider = p_provider OR o.payee = p_payee
      OR o.provider = ANY (ARRAY(SELECT p.id FROM provider p JOIN me ON me.id = p.owner))
      OR o.payee = ANY (ARRAY(SELECT w.wallet_address FROM principal w JOIN me ON me.id = w.id))) $$;
GRANT EXECUTE ON FUNCTION hub.paid_to_person TO hub_app;

-- The rule by which a payout waits, and until when (null: for a person); no row if none does. What left on
-- the same day for the same person counts: if only that makes an approval necessary, the payout waits at
-- most for the next day.
CREATE FUNCTION hub.payout_hold(
  p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules
) RETURNS TABLE (rule text, until timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  IF p_rules.first_hours > 0 AND NOT EXISTS (SELECT FROM hub.payout o
      JOIN hub.provider p ON p.id = o.provider
      JOIN hub.payout_address a ON a.provider = p.id AND a.set_by = p.owner AND a.address = o.payee
      WHERE o.provider = p_provider AND o.state = 'confirmed') THEN
    SELECT coalesce(f.due_at, moment) + make_interval(hours => p_rules.first_hours) INTO until
      FROM hub.provider p LEFT JOIN hub.payout_first f ON f.provider = p.id AND f.owner = p.owner
      WHERE p.id = p_provider;
    IF until > moment THEN
      rule := 'first_payout';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  SELECT max(j.at) + make_interval(hours => p_rules.credit_hours) INTO until
    FROM ledger.journal j
    WHERE j.kind = 40 AND j.at > moment - make_interval(hours => p_rules.credit_hours)
      AND EXISTS (SELECT FROM unnest(j.accounts, j.amounts) u(account, amount)
        JOIN ledger.account a ON a.id = u.account
        WHERE u.amount > 0 AND a.code LIKE 'liabilities:providers:%'
          AND split_part(a.code, ':', 3) = p_provider);
  IF until IS NOT NULL THEN
    rule := 'manual_credit';
    RETURN NEXT;
    RETURN;
  END IF;
  IF p_amount + hub.paid_to_person(p_provider, p_payee) > p_rules.alone
      AND NOT EXISTS (SELECT FROM hub.usable_approval(p_provider, p_payee) u WHERE u.amount >= p_amount) THEN
    rule := 'approval';
    until := CASE WHEN p_amount <= p_rules.alone THEN date_trunc('day', moment, 'UTC') + interval '1 day' END;
    RETURN NEXT;
  END IF;
END $$;

-- As payout_hold, and then the caps of the day: of the person behind the provider, and of the platform. What
-- failed does not count.
CREATE FUNCTION hub.payout_wait(
  p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules
) RETURNS TABLE (rule text, until timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
  today timestamptz := date_trunc('day', clock_timestamp(), 'UTC');
  total bigint;
BEGIN
  SELECT h.* INTO rule, until FROM hub.payout_hold(p_provider, p_payee, p_amount, p_rules) h;
  IF rule IS NULL THEN
    SELECT coalesce(sum(o.amount), 0) INTO total FROM hub.payout o
      WHERE o.started_at >= today AND o.state <> 'failed';
    until := today + interval '1 day';
    rule := CASE
      WHEN hub.paid_to_person(p_provider, p_payee) + p_amount > p_rules.provider_cap THEN 'provider_cap'
      WHEN total + p_amount > p_rules.platform_cap THEN 'platform_cap' END;
  END IF;
  IF rule IS NOT NULL THEN RETURN NEXT; END IF;
END $$;
GRANT EXECUTE ON FUNCTION hub.usable_approval, hub.payout_amount, hub.payout_hold, hub.payout_wait TO hub_app;

-- As in 0024_payouts.sql, and within the rules: AH013, the rule is the message. One payout starts at a time,
-- so that no two of them fit under a cap that has room for one.
CREATE OR REPLACE FUNCTION hub.admit_payout() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  refusal text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  PERFORM pg_advisory_xact_lock(hashtext('hub.payout_rules'));
  IF (SELECT paused FROM hub.outgoing_state) THEN
    RAISE EXCEPTION 'outgoing payments are paused' USING ERRCODE = 'AH010';
  END IF;
  IF NEW.state <> 'started' THEN
    RAISE EXCEPTION 'a payout begins at its beginning' USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.rules).provider_cap IS NULL OR (NEW.rules).platform_cap IS NULL OR (NEW.rules).alone IS NULL
      OR (NEW.rules).first_hours IS NULL OR (NEW.rules).credit_hours IS NULL THEN
    RAISE EXCEPTION 'a payout starts under rules' USING ERRCODE = 'check_violation';
  END IF;
  SELECT w.rule INTO refusal FROM hub.payout_wait(NEW.provider, NEW.payee, NEW.amount, NEW.rules) w;
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', refusal USING ERRCODE = 'AH013';
  END IF;
  NEW.started_at := clock_timestamp(); -- its day counts it
  NEW.tried_at := NEW.started_at; -- not tried yet
  NEW.approval := CASE
    WHEN NEW.amount + hub.paid_to_person(NEW.provider, NEW.payee) > (NEW.rules).alone
    THEN (SELECT u.id FROM hub.usable_approval(NEW.provider, NEW.payee) u) END;
  RETURN NEW;
END $$;

-- As in 0024_payouts.sql, with the columns added here.
CREATE OR REPLACE FUNCTION hub.keep_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.state <> 'started' OR
      (NEW.id, NEW.provider, NEW.batch, NEW.attempt, NEW.amount, NEW.recovered, NEW.shard, NEW.payer,
        NEW.payee, NEW.nonce, NEW.valid_before, NEW.from_block, NEW.started_at, NEW.rules,
        NEW.approval) IS DISTINCT FROM
      (OLD.id, OLD.provider, OLD.batch, OLD.attempt, OLD.amount, OLD.recovered, OLD.shard, OLD.payer,
        OLD.payee, OLD.nonce, OLD.valid_before, OLD.from_block, OLD.started_at, OLD.rules,
        OLD.approval) THEN
    RAISE EXCEPTION 'payout % stays as it is', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.state = 'confirmed' AND NOT EXISTS (SELECT FROM ledger.journal j WHERE j.owner = 7
      AND j.id = NEW.id AND j.phase = 0 AND j.kind = 22 AND j.amounts[1] = -NEW.amount) THEN
    RAISE EXCEPTION 'payout % is not booked out of the wallet', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.state = 'failed' AND NEW.amount <> (SELECT coalesce(sum(j.amounts[2]), 0)
      FROM (SELECT DISTINCT p.account FROM hub.payout_part p WHERE p.payout = NEW.id) p
      JOIN ledger.journal j ON j.owner = p.account AND j.id = NEW.id AND j.phase = 0 AND j.kind = 23) THEN
    RAISE EXCEPTION 'payout % is not owed again', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION hub.keep_payout_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.calls IS NOT NULL OR (NEW.payout, NEW.account, NEW.shard, NEW.amount,
      NEW.entry, NEW.after_seq, NEW.upto_seq, NEW.carried) IS DISTINCT FROM (OLD.payout, OLD.account,
      OLD.shard, OLD.amount, OLD.entry, OLD.after_seq, OLD.upto_seq, OLD.carried) THEN
    RAISE EXCEPTION 'what payout % took stays as it is', OLD.payout USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
