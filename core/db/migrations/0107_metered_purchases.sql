-- upgrade: expand
-- `authorized`: maximum that a seller of a metered price may take (x402 scheme `upto`); NULL for payments of
-- an exact amount. `amount` is that maximum until it is known what was taken, and that after.
ALTER TABLE hub.payment_intent ADD authorized bigint,
  ADD CONSTRAINT payment_intent_authorized CHECK (amount <= authorized);

DROP FUNCTION hub.conclude_payment(uuid, text, text, smallint, text);

-- p_taken: what the chain shows to be taken of a maximum.
CREATE FUNCTION hub.conclude_payment(p_call uuid, p_state text, p_transaction text, p_status smallint,
  p_reason text, p_taken bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  p payment_intent;
  unspent bigint;
BEGIN
  SELECT * INTO p FROM payment_intent
    WHERE call = p_call AND state IN ('signed', 'unresolved', 'paid') FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF p_taken <> p.amount AND (p.authorized IS NULL OR p.state = 'paid' OR p_taken > p.amount) THEN
    RAISE EXCEPTION 'the amount of payment % is final', p_call USING ERRCODE = 'check_violation';
  END IF;
  UPDATE payment_intent SET state = p_state, transaction = coalesce(p_transaction, transaction),
      status = coalesce(p_status, status), reason = coalesce(p_reason, reason), changed_at = now(),
      amount = coalesce(p_taken, amount)
    WHERE call = p_call;
  unspent := CASE WHEN p_state = 'unused' THEN p.amount ELSE p.amount - coalesce(p_taken, p.amount) END;
  IF unspent > 0 THEN
    FOR n IN 1 .. 3 LOOP
      UPDATE outflow o SET amount = o.amount - unspent
        WHERE o.day = (p.created_at AT TIME ZONE 'UTC')::date
          AND o.scope = (ARRAY['key:' || p.owner, 'host:' || p.host, 'platform'])[n];
    END LOOP;
  END IF;
  IF p.state = 'paid' OR p_state IN ('signed', 'unresolved') THEN RETURN; END IF;
  FOR n IN 1 .. 3 LOOP
    UPDATE unresolved u SET amount = u.amount - p.amount
      WHERE u.scope = (hub.unresolved_scopes(p))[n];
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION hub.conclude_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.conclude_payment TO hub_app;
