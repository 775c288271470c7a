-- upgrade: expand
-- As in 0101_owed_usage.sql, but only payments for calls show what a payer has spent at once: the money of
-- credits and deposits is still theirs.
CREATE OR REPLACE FUNCTION hub.start_on_trust(p_claim uuid, p_unproven bigint) RETURNS boolean
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
      WHERE p.payer = c.payer AND p.purpose = 'call' AND NOT p.deposited
        AND p.state IN ('settled', 'confirmed')));
  RETURN FOUND;
END $$;
