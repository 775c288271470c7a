-- Why: commission is rounded down at every call, so that a seller of many cheap calls paid next to none. It
-- is now due on the sum of the sales: each payout first deducts what rounding left with the provider. And the
-- statement of a payout shows gross sales, commission and refunds each before netting.

INSERT INTO ledger.kind (id, event, phase, debits, credits, meaning) VALUES
  (44, 'commission.rounded', 0, '{liabilities:providers:%}', '{income:commission}',
    'commission that rounding left with a provider, due on the sum of its sales');

-- Calls from this instant on: no rule reaches back.
CREATE TABLE hub.commission_rounding (
  since timestamptz NOT NULL DEFAULT now(),
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);
INSERT INTO hub.commission_rounding DEFAULT VALUES;
SELECT ledger.protect('hub.commission_rounding');
GRANT SELECT ON hub.commission_rounding TO hub_app;

-- Commission that rounding left with the provider on this day, in ten-thousandths of a microdollar. Refunds
-- give it back.
ALTER TABLE hub.earning ADD rounding bigint NOT NULL DEFAULT 0;

-- Refunds that were taken from no balance, because all of it had been paid out.
CREATE INDEX journal_debt ON ledger.journal (shard, seq) WHERE kind IN (29, 43) AND 9 = ANY (accounts);

-- Statements are summed again on the next reading, with the new parts.
ALTER TABLE hub.payout_part DISABLE TRIGGER USER;
UPDATE hub.payout_part
  SET calls = NULL, gross = NULL, commission = NULL, refunded = NULL, other = NULL WHERE calls IS NOT NULL;
ALTER TABLE hub.payout_part ENABLE TRIGGER USER;
ALTER TABLE hub.payout_part
  ADD rounding bigint NOT NULL DEFAULT 0 CHECK (rounding >= 0), -- commission.rounded, deducted before
  ADD rounding_entry uuid,
  ADD refunds bigint CHECK (refunds >= 0),                       -- prices that callers got back
  ADD commission_refunded bigint CHECK (commission_refunded >= 0),
  ADD owed bigint CHECK (owed >= 0),                             -- refunded after it had been paid out
  ADD recovered bigint CHECK (recovered >= 0),                   -- of such debts
  ADD CHECK ((rounding = 0) = (rounding_entry IS NULL)),
  DROP CONSTRAINT payout_part_check1,
  DROP CONSTRAINT payout_part_sums,
  ADD CONSTRAINT payout_part_commission CHECK (commission - rounding BETWEEN 0 AND gross),
  ADD CONSTRAINT payout_part_sums CHECK (
    num_nulls(calls, gross, commission, refunds, commission_refunded, owed, refunded, recovered, other)
      IN (0, 9)
    AND coalesce(refunded = refunds - commission_refunded - owed
      AND amount = gross - commission - refunded - recovered + other, true));
GRANT UPDATE (refunds, commission_refunded, owed, recovered) ON hub.payout_part TO hub_app;

-- Commission of an account that rounding left with its provider, less what payouts deducted, in microdollars.
CREATE FUNCTION hub.commission_due(p_account bigint) RETURNS bigint LANGUAGE sql AS $$
  SELECT greatest(0,
    div(coalesce((SELECT sum(e.rounding) FROM hub.earning e WHERE e.account = p_account), 0), 10000)
      - coalesce((SELECT sum(p.rounding) FROM hub.payout_part p WHERE p.account = p_account), 0))::bigint $$;

-- A payout deducts no more than is due, by an entry of its own.
CREATE FUNCTION hub.admit_payout_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.rounding > hub.commission_due(NEW.account) OR NOT EXISTS (SELECT FROM ledger.journal j
      WHERE j.owner = NEW.account AND j.id = NEW.rounding_entry AND j.phase = 0 AND j.kind = 44
        AND j.shard = NEW.shard AND j.seq BETWEEN NEW.after_seq AND NEW.upto_seq
        AND j.accounts = ARRAY[NEW.account, 1] AND j.amounts = ARRAY[-NEW.rounding, NEW.rounding]) THEN
    RAISE EXCEPTION 'payout %: commission of % is not due', NEW.payout, NEW.rounding
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER admit BEFORE INSERT ON hub.payout_part FOR EACH ROW WHEN (NEW.rounding <> 0)
  EXECUTE FUNCTION hub.admit_payout_part();

-- As in 0039_payout_rules.sql, with the rounding.
CREATE OR REPLACE FUNCTION hub.keep_payout_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.calls IS NOT NULL OR (NEW.payout, NEW.account, NEW.shard, NEW.amount,
      NEW.entry, NEW.after_seq, NEW.upto_seq, NEW.carried, NEW.rounding, NEW.rounding_entry)
    IS DISTINCT FROM (OLD.payout, OLD.account, OLD.shard, OLD.amount, OLD.entry, OLD.after_seq,
      OLD.upto_seq, OLD.carried, OLD.rounding, OLD.rounding_entry) THEN
    RAISE EXCEPTION 'what payout % took stays as it is', OLD.payout USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
