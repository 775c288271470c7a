-- Why: a seller that takes signatures and never settles them locked the money of a key, and of the whole
-- platform by many keys. Payments without a known outcome are now limited by principal, payee and host,
-- counted in the statement that commits a payment.

ALTER TABLE hub.payment_intent ADD COLUMN principal text,
  ADD COLUMN payee_accepted boolean; -- true: its caller accepted a payee that the seller never had before
UPDATE hub.payment_intent i SET principal = k.principal FROM hub.api_key k
  WHERE k.credits = i.owner AND k.parent IS NULL AND i.state IN ('signed', 'unresolved');

-- Amounts signed whose outcome is not known, by scope.
CREATE TABLE hub.unresolved (
  scope text PRIMARY KEY CHECK (scope ~ '^(principal:.+|pay_to:0x[0-9a-f]{40}|host:.+)$'),
  amount bigint NOT NULL CHECK (amount >= 0) -- microdollars
);
GRANT SELECT ON hub.unresolved TO hub_app;

CREATE FUNCTION hub.unresolved_scopes(p hub.payment_intent) RETURNS text[] IMMUTABLE
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY['principal:' || p.principal, 'pay_to:' || lower(p.payee), 'host:' || p.host]
$$;

INSERT INTO hub.unresolved
  SELECT s.scope, sum(i.amount) FROM hub.payment_intent i, unnest(hub.unresolved_scopes(i)) s(scope)
  WHERE i.state IN ('signed', 'unresolved') AND s.scope IS NOT NULL GROUP BY 1;

-- The only way to a signed payment: counts it against the caps and keeps it, or refuses it: AH010 while
-- payments are paused; AH011 above a cap of the day; AH012 above a cap of unresolved payments; the scope is
-- the message. The caps are those of a key, a host and the platform for the day, and of a principal, a payee
-- and a host for what is unresolved, in this order, which is that of the locks too. Older processes pass the
-- first three.
CREATE OR REPLACE FUNCTION hub.commit_payment(p hub.payment_intent, p_caps bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  scopes text[] := ARRAY['key:' || p.owner, 'host:' || p.host, 'platform'];
  unresolved_scopes text[];
  today date;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  p.created_at := clock_timestamp(); -- its day counts it, now and when it is given back
  p.principal := coalesce(p.principal, (SELECT k.principal FROM api_key k JOIN ledger.account a
    ON a.code = 'liabilities:agents:' || k.id || ':credits' WHERE a.id = p.owner));
  today := (p.created_at AT TIME ZONE 'UTC')::date;
  IF (SELECT paused FROM hub.outgoing_state) THEN
    RAISE EXCEPTION 'payments to sellers are paused' USING ERRCODE = 'AH010';
  END IF;
  FOR n IN 1 .. 3 LOOP
    INSERT INTO outflow AS o VALUES (today, scopes[n], p.amount)
      ON CONFLICT (day, scope) DO UPDATE SET amount = o.amount + excluded.amount
        WHERE o.amount + excluded.amount <= p_caps[n];
    IF NOT FOUND OR p.amount > p_caps[n] THEN
      RAISE EXCEPTION '%', scopes[n] USING ERRCODE = 'AH011';
    END IF;
  END LOOP;
  unresolved_scopes := hub.unresolved_scopes(p);
  FOR n IN 1 .. 3 LOOP
    INSERT INTO unresolved AS u VALUES (unresolved_scopes[n], p.amount)
      ON CONFLICT (scope) DO UPDATE SET amount = u.amount + excluded.amount
        WHERE u.amount + excluded.amount <= coalesce(p_caps[n + 3], 9223372036854775807);
    IF NOT FOUND OR p.amount > p_caps[n + 3] THEN
      RAISE EXCEPTION '%', unresolved_scopes[n] USING ERRCODE = 'AH012';
    END IF;
  END LOOP;
  p.state := 'signed';
  p.changed_at := p.created_at;
  INSERT INTO payment_intent SELECT p.*;
END $$;

-- Notes what became of a payment; a final state does not change any more. One that can never be taken is
-- given back to the caps of its day; one whose outcome is known, to those of unresolved payments.
CREATE OR REPLACE FUNCTION hub.conclude_payment(
  p_call uuid, p_state text, p_transaction text, p_status smallint, p_reason text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  p payment_intent;
BEGIN
  SELECT * INTO p FROM payment_intent
    WHERE call = p_call AND state IN ('signed', 'unresolved', 'paid') FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE payment_intent SET state = p_state, transaction = coalesce(p_transaction, transaction),
      status = coalesce(p_status, status), reason = coalesce(p_reason, reason), changed_at = now()
    WHERE call = p_call;
  IF p_state = 'unused' THEN
    FOR n IN 1 .. 3 LOOP
      UPDATE outflow o SET amount = o.amount - p.amount
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
