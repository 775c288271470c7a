-- Why: what happens is told to whoever asked to hear of it (Standard Webhooks). An event is written in the
-- transaction of what it tells, together with a delivery for each receiver, and a job delivers them.

CREATE TABLE hub.webhook (
  id text PRIMARY KEY CHECK (id ~ '^whk_[0-9A-Za-z]{16}$'),
  principal text NOT NULL REFERENCES hub.principal, -- hears of itself, and of the wallets linked to it
  url text NOT NULL CHECK (length(url) <= 2048),
  events text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 20),
  secret_version integer NOT NULL DEFAULT 1, -- secrets follow from it and a secret that no table has
  previous_until timestamptz,       -- the secret before signs too, so long
  created_at timestamptz NOT NULL DEFAULT now(),
  failing_since timestamptz,        -- the first failure after the last success
  disabled_at timestamptz,
  disabled_reason text CHECK (disabled_reason IN ('gone', 'failing')),
  CHECK (num_nulls(disabled_at, disabled_reason) IN (0, 2))
);
CREATE INDEX webhook_principal ON hub.webhook (principal, created_at);

CREATE TABLE hub.webhook_event (
  id text PRIMARY KEY CHECK (id ~ '^evt_[0-9a-f]{32}$'),
  principal text NOT NULL,
  type text NOT NULL,
  data jsonb NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX webhook_event_age ON hub.webhook_event (at);

CREATE TABLE hub.webhook_delivery (
  webhook text NOT NULL REFERENCES hub.webhook ON DELETE CASCADE,
  event text NOT NULL REFERENCES hub.webhook_event ON DELETE CASCADE,
  at timestamptz NOT NULL,          -- of the event
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts smallint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,     -- of the next attempt, while it is pending
  tried_at timestamptz,             -- of the newest attempt, and what came of it:
  status smallint,                  -- of the answer; null: none came
  error text,                       -- a code; null: it was taken
  duration_ms integer CHECK (duration_ms >= 0),
  PRIMARY KEY (webhook, event)
);
CREATE INDEX webhook_delivery_event ON hub.webhook_delivery (event);
CREATE INDEX webhook_delivery_log ON hub.webhook_delivery (webhook, at, event);
CREATE INDEX webhook_delivery_due ON hub.webhook_delivery (next_at) WHERE state = 'pending';
CREATE INDEX webhook_delivery_waiting ON hub.webhook_delivery (webhook) WHERE state = 'pending';

-- Tells of an event, in the transaction of the caller: those who asked for it, if anybody did. A receiver
-- that lets ten thousand wait hears of no more until it has taken some.
CREATE FUNCTION hub.emit(p_principal text, p_type text, p_data jsonb, p_webhook text DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$
  WITH hearer AS (
    SELECT w.id FROM hub.webhook w
    WHERE w.disabled_at IS NULL
      AND w.principal IN (p_principal, (SELECT l.person FROM hub.wallet_link l WHERE l.wallet = p_principal))
      AND CASE WHEN p_webhook IS NULL THEN p_type = ANY (w.events) ELSE w.id = p_webhook END
      AND NOT EXISTS (SELECT FROM hub.webhook_delivery d
        WHERE d.webhook = w.id AND d.state = 'pending' OFFSET 9999)
  ), event AS (
    INSERT INTO hub.webhook_event (id, principal, type, data)
    SELECT 'evt_' || replace(gen_random_uuid()::text, '-', ''), p_principal, p_type, p_data
    WHERE EXISTS (SELECT FROM hearer)
    RETURNING id, at
  ), delivery AS (
    INSERT INTO hub.webhook_delivery (webhook, event, at, next_at)
    SELECT h.id, e.id, e.at, e.at FROM hearer h, event e
  )
  SELECT id FROM event
$$;

-- ── payment.resolved ────────────────────────────────────────────────────────────────────────

-- The answer of a call or a purchase said that it was open what became of its payment; or no answer came,
-- since the process died; or what was told turned out otherwise. Whoever learns it, learns it here.

CREATE FUNCTION hub.tell_payment_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.emit(k.principal, 'payment.resolved', jsonb_build_object('direction', 'out',
      'id', NEW.call, 'key_id', k.id, 'outcome', CASE NEW.state WHEN 'unused' THEN 'not_paid' ELSE 'paid' END,
      'amount_microdollars', NEW.amount, 'transaction', NEW.transaction))
    FROM ledger.account a JOIN hub.api_key k ON k.id = split_part(a.code, ':', 3) WHERE a.id = NEW.owner;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_payment AFTER UPDATE OF state ON hub.payment_intent FOR EACH ROW
  WHEN (OLD.state = 'unresolved' AND NEW.state IN ('paid', 'confirmed', 'unused')
    OR OLD.state = 'signed' AND NEW.state IN ('confirmed', 'unused')
    OR OLD.state = 'paid' AND NEW.state = 'unused')
  EXECUTE FUNCTION hub.tell_payment_out();

CREATE FUNCTION hub.tell_payment_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hub.emit(p.id, 'payment.resolved', jsonb_build_object('direction', 'in', 'id', NEW.id,
      'key_id', k.id, 'outcome', CASE NEW.state WHEN 'failed' THEN 'not_paid' ELSE 'paid' END,
      'amount_microdollars', NEW.amount, 'transaction', NEW.transaction))
    FROM hub.principal p
    LEFT JOIN hub.api_key k ON k.principal = p.id AND NEW.purpose = 'credits'
      AND k.id = split_part(NEW.payee, ':', 3)
    WHERE CASE NEW.purpose WHEN 'credits' THEN k.id IS NOT NULL ELSE p.wallet_address = NEW.payer END;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_payment AFTER UPDATE OF state ON hub.payment_claim FOR EACH ROW
  WHEN (OLD.state = 'pending' AND NEW.state IN ('settled', 'confirmed', 'failed')
    OR OLD.state IN ('settled', 'confirmed') AND NEW.state = 'failed')
  EXECUTE FUNCTION hub.tell_payment_in();

GRANT SELECT, INSERT, UPDATE, DELETE ON hub.webhook, hub.webhook_event, hub.webhook_delivery TO hub_app;
