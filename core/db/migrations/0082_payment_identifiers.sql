-- An id that a buyer gives a payment stands for one payment of the wallet as long as that may pay or
-- has paid: the index refuses a second one. One that was released or has failed frees its id for
-- good, so that it can still be posted if it arrives after another payment has taken the id.
-- upgrade: expand
ALTER TABLE hub.payment_claim ADD identifier text CHECK (length(identifier) BETWEEN 1 AND 255);
CREATE UNIQUE INDEX payment_claim_identifier ON hub.payment_claim (payer, identifier)
  WHERE identifier IS NOT NULL;

CREATE FUNCTION hub.free_payment_identifier() RETURNS trigger
LANGUAGE plpgsql SET search_path = hub, pg_temp AS $$
BEGIN
  NEW.identifier := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER free_identifier BEFORE UPDATE OF state ON hub.payment_claim FOR EACH ROW
  WHEN (NEW.identifier IS NOT NULL AND NEW.state IN ('released', 'failed'))
  EXECUTE FUNCTION hub.free_payment_identifier();
