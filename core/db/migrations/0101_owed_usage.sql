-- upgrade: expand
-- `on_trust`: the work of a metered call began before its payment is settled, so that its amount counts
-- toward what its payer owes.
ALTER TABLE hub.payment_claim ADD on_trust boolean NOT NULL DEFAULT false;

CREATE INDEX payment_claim_owed ON hub.payment_claim (payer)
  WHERE on_trust AND state IN ('claimed', 'pending');

-- Begins the work of a metered call, unless its payer then owes more than `p_unproven` and more than it
-- has paid at once before. Calls of one payer wait for each other, so that each counts the others.
CREATE FUNCTION hub.start_on_trust(p_claim uuid, p_unproven bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(c.payer, 8408))
    FROM payment_claim c WHERE c.id = p_claim;
  UPDATE payment_claim c SET on_trust = true
  WHERE c.id = p_claim AND c.state = 'claimed'
    AND c.amount + (SELECT coalesce(sum(o.amount), 0) FROM payment_claim o
      WHERE o.payer = c.payer AND o.on_trust AND o.state IN ('claimed', 'pending')
        AND o.id <> c.id)
    <= greatest(p_unproven, (SELECT max(p.amount) FROM payment_claim p
      WHERE p.payer = c.payer AND p.state IN ('settled', 'confirmed')));
  RETURN FOUND;
END $$;
REVOKE EXECUTE ON FUNCTION hub.start_on_trust FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.start_on_trust TO hub_app;
