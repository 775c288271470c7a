-- Why: what a request had begun stayed claimed for minutes after its process died, and its caller got 409.
-- Attempts and payments now name the process that works on them. Once it is gone, others may take them over.

CREATE TABLE hub.process (
  id uuid PRIMARY KEY,
  beat_at timestamptz NOT NULL DEFAULT now(),      -- each second
  steady_since timestamptz NOT NULL DEFAULT now()  -- since then no beat was late
);
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.process TO hub_app;

ALTER TABLE hub.idempotent_call ADD COLUMN process uuid; -- null: of an older version
ALTER TABLE hub.payment_claim ADD COLUMN process uuid,
  ADD COLUMN settling boolean NOT NULL DEFAULT false; -- true: it may have been sent to the chain

-- Records that a process lives.
CREATE FUNCTION hub.beat(p_process uuid) RETURNS void
LANGUAGE sql SET search_path = hub, pg_temp AS $$
  INSERT INTO process AS p (id) VALUES (p_process)
    ON CONFLICT (id) DO UPDATE SET beat_at = now(), steady_since =
      CASE WHEN p.beat_at < now() - interval '3 seconds' THEN now() ELSE p.steady_since END;
  DELETE FROM process WHERE beat_at < now() - interval '1 hour';
$$;

-- True if a process has missed three beats. Only a process that missed none itself may say so: otherwise the
-- database was out of reach for all of them.
CREATE FUNCTION hub.is_gone(p_process uuid, p_me uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT p_process <> p_me
    AND EXISTS (SELECT FROM process WHERE id = p_me AND beat_at > now() - interval '3 seconds'
      AND steady_since < now() - interval '3 seconds')
    AND NOT EXISTS (SELECT FROM process
      WHERE id = p_process AND beat_at > now() - interval '3 seconds')
$$;

-- Attempts at a request that another attempt has taken over. Their processes may live on: they can neither
-- sign a payment to a seller nor charge any more.
CREATE TABLE hub.abandoned_attempt (
  call uuid PRIMARY KEY,
  request uuid NOT NULL, -- hub.idempotent_call
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX abandoned_attempt_request ON hub.abandoned_attempt (request);
GRANT SELECT, INSERT, DELETE ON hub.abandoned_attempt TO hub_app;

-- Locks the payment of a call to a seller until the end of the transaction. Returns true if one is open.
CREATE FUNCTION hub.lock_payment(p_call uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(p_call::text, 8408));
  RETURN EXISTS (SELECT FROM payment_intent
    WHERE call = p_call AND state IN ('signed', 'unresolved', 'paid'));
END $$;

-- No payment is signed for a call whose hold is resolved, or for an attempt that was taken over.
CREATE FUNCTION hub.refuse_payment_without_hold() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM hub.lock_payment(NEW.call);
  IF EXISTS (SELECT FROM ledger.journal WHERE owner = NEW.owner AND id = NEW.call AND phase = 2)
      OR EXISTS (SELECT FROM abandoned_attempt WHERE call = NEW.call) THEN
    RAISE EXCEPTION 'call % can no longer pay', NEW.call USING ERRCODE = 'AH014';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse_payment_without_hold BEFORE INSERT ON hub.payment_intent
  FOR EACH ROW EXECUTE FUNCTION hub.refuse_payment_without_hold();
