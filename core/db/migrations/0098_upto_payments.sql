-- upgrade: expand
-- `authorized`: maximum that the payer of a metered call has authorized (x402 scheme `upto`); NULL for
-- payments of an exact amount. `amount` is that maximum until the settlement begins, and what is taken
-- after. `sponsored`: it brings a permit of its token (EIP-2612), whose number two payments cannot use.
ALTER TABLE hub.payment_claim
  ADD authorized bigint,
  ADD sponsored boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT payment_claim_authorized CHECK (
    authorized IS NULL AND NOT sponsored
    OR amount <= authorized AND purpose = 'call' AND NOT upfront);

CREATE UNIQUE INDEX payment_claim_approval ON hub.payment_claim (network, asset, payer)
  WHERE sponsored AND state IN ('claimed', 'pending');

CREATE FUNCTION hub.guard_claim_amount() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state = 'released' AND NEW.state = 'claimed' THEN RETURN NEW; END IF;
  IF OLD.state = 'claimed' AND NEW.state = 'claimed' AND OLD.authorized = NEW.authorized
    AND NEW.amount < OLD.amount AND NEW.settling AND NOT OLD.settling THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'the amount of payment claim % is final', OLD.id
    USING ERRCODE = 'check_violation', CONSTRAINT = 'payment_claim_amount_final';
END $$;

-- The amount of a claim changes once at most, downwards, before anything is sent; or with the sale,
-- when a released payment is claimed again.
CREATE TRIGGER payment_claim_amount BEFORE UPDATE OF amount, authorized, settling
  ON hub.payment_claim FOR EACH ROW
  WHEN (OLD.amount IS DISTINCT FROM NEW.amount OR OLD.authorized IS DISTINCT FROM NEW.authorized
    OR OLD.settling AND NOT NEW.settling)
  EXECUTE FUNCTION hub.guard_claim_amount();
