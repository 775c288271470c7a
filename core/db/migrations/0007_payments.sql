-- Why: x402 in both directions, with nothing executed twice and nothing lost.

-- A payment to us, claimed before it is verified: whatever comes with the same authorization again
-- is a replay. An EIP-3009 authorization is known by network, token, payer and nonce.
CREATE TABLE hub.payment_claim (
  network text NOT NULL,
  asset text NOT NULL CHECK (asset ~ '^0x[0-9a-f]{40}$'),
  payer text NOT NULL CHECK (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text NOT NULL CHECK (nonce ~ '^0x[0-9a-f]{64}$'),
  id uuid NOT NULL UNIQUE,          -- of the entry in the journal
  purpose text NOT NULL CHECK (purpose IN ('credits', 'call')),
  pay_to text NOT NULL CHECK (pay_to ~ '^0x[0-9a-f]{40}$'),
  payee text NOT NULL,              -- the account that it credits
  commission_bps smallint NOT NULL CHECK (commission_bps BETWEEN 0 AND 10000),
  request_hash bytea NOT NULL,      -- sha256 of what it pays, exactly
  client bytea,                     -- sha256 of who sent it: the chain shows a payment to everybody
  amount bigint NOT NULL CHECK (amount > 0), -- microdollars
  state text NOT NULL DEFAULT 'claimed'
    CHECK (state IN ('claimed', 'settled', 'confirmed', 'pending', 'failed', 'released')),
  transaction text,
  valid_before timestamptz NOT NULL, -- after it the authorization is dead
  upfront boolean NOT NULL DEFAULT false, -- settled before the work, which may be tried until it succeeds …
  working_until timestamptz,        -- … by one request at a time
  delivered_at timestamptz,
  claimed_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (network, asset, payer, nonce)
);
CREATE INDEX payment_claim_open ON hub.payment_claim (changed_at)
  WHERE state IN ('claimed', 'pending', 'settled', 'failed', 'released');

-- Payers whose payment failed after the work was done: until then they pay before it.
CREATE TABLE hub.distrusted_payer (
  payer text PRIMARY KEY CHECK (payer ~ '^0x[0-9a-f]{40}$'),
  until timestamptz NOT NULL,
  reason text NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON hub.distrusted_payer TO hub_app;

-- Answers that were paid for, kept for a day for whoever lost them on the way; encrypted.
CREATE TABLE hub.kept_answer (
  id uuid PRIMARY KEY,              -- of the payment, later of the call
  sealed bytea NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX kept_answer_expiry ON hub.kept_answer (expires_at);
GRANT SELECT, INSERT, DELETE ON hub.kept_answer TO hub_app;

-- A payment by us, committed before its signature leaves: at most one for each call.
CREATE TABLE hub.payment_intent (
  call uuid PRIMARY KEY,
  owner bigint NOT NULL REFERENCES ledger.account, -- whose hold pays
  url text NOT NULL,
  host text NOT NULL,                -- of the URL
  seller text NOT NULL,              -- its origin and path: what is sold there
  network text NOT NULL,
  asset text NOT NULL,
  payer text NOT NULL,
  payee text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0), -- microdollars
  nonce text NOT NULL UNIQUE,
  valid_before timestamptz NOT NULL,
  payload_hash text NOT NULL,        -- sha256 of the header that carried it
  from_block bigint NOT NULL,        -- of the chain when it was signed: where to look from
  state text NOT NULL DEFAULT 'signed'
    CHECK (state IN ('signed', 'paid', 'confirmed', 'unresolved', 'unused')),
  transaction text,
  status smallint,                   -- of the seller's answer; null: none came
  reason text,                       -- why nothing was delivered: a code of the fault table
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX payment_intent_open ON hub.payment_intent (changed_at)
  WHERE state IN ('signed', 'unresolved', 'paid');
CREATE INDEX payment_intent_seller ON hub.payment_intent (seller, call);

-- What became of what sellers were paid. A seller who took the money and delivered nothing is told by
-- the difference between taken and delivered.
CREATE VIEW hub.seller_record AS
  SELECT seller, count(*) AS signed,
    count(*) FILTER (WHERE state IN ('paid', 'confirmed')) AS taken,
    count(*) FILTER (WHERE state IN ('paid', 'confirmed') AND reason IS NULL) AS delivered,
    count(*) FILTER (WHERE state IN ('signed', 'unresolved')) AS open,
    max(created_at) AS last_at
  FROM hub.payment_intent GROUP BY seller;

-- ── What may leave ──────────────────────────────────────────────────────────────────────────

-- What was signed for in a UTC day: by a key, to a host, and in all. What was never taken is given back.
CREATE TABLE hub.outflow (
  day date NOT NULL,
  scope text NOT NULL CHECK (scope ~ '^(key:[0-9]+|host:.+|platform)$'),
  amount bigint NOT NULL CHECK (amount >= 0), -- microdollars
  PRIMARY KEY (day, scope)
);

-- The newest row tells whether payments to sellers are paused; hub.outgoing_state, whether they go.
CREATE TABLE hub.outgoing_switch (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  paused boolean NOT NULL,
  author text NOT NULL CHECK (author <> ''),
  reason text NOT NULL CHECK (reason <> ''),
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT ledger.protect('hub.outgoing_switch');

-- Pauses payments or lets them go on. When it returns, whatever is signed from then on has seen it.
CREATE FUNCTION hub.switch_outgoing(p_paused boolean, p_author text, p_reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('hub.outgoing_switch'));
  INSERT INTO outgoing_switch (paused, author, reason) VALUES (p_paused, p_author, p_reason);
END $$;

-- The only way to a signed payment: counts it against the caps of the day and keeps it, or refuses it:
-- AH010 while payments are paused; AH011 above a cap, the scope is the message. The caps are those of a
-- key, a host and the platform, in this order, which is that of the locks too.
CREATE FUNCTION hub.commit_payment(p hub.payment_intent, p_caps bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  scopes text[] := ARRAY['key:' || p.owner, 'host:' || p.host, 'platform'];
  today date;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  p.created_at := clock_timestamp(); -- its day counts it, now and when it is given back
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
  p.state := 'signed';
  p.changed_at := p.created_at;
  INSERT INTO payment_intent SELECT p.*;
END $$;

-- Notes what became of a payment; a final state does not change any more. One that can never be taken is
-- given back to the caps of its day.
CREATE FUNCTION hub.conclude_payment(
  p_call uuid, p_state text, p_transaction text, p_status smallint, p_reason text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  p payment_intent;
BEGIN
  UPDATE payment_intent SET state = p_state, transaction = coalesce(p_transaction, transaction),
      status = coalesce(p_status, status), reason = coalesce(p_reason, reason), changed_at = now()
    WHERE call = p_call AND state IN ('signed', 'unresolved', 'paid') RETURNING * INTO p;
  IF NOT FOUND OR p_state <> 'unused' THEN RETURN; END IF;
  FOR n IN 1 .. 3 LOOP
    UPDATE outflow o SET amount = o.amount - p.amount
      WHERE o.day = (p.created_at AT TIME ZONE 'UTC')::date
        AND o.scope = (ARRAY['key:' || p.owner, 'host:' || p.host, 'platform'])[n];
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION hub.switch_outgoing, hub.commit_payment, hub.conclude_payment FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.switch_outgoing, hub.commit_payment, hub.conclude_payment TO hub_app;
GRANT SELECT ON hub.payment_intent, hub.seller_record, hub.outflow, hub.outgoing_switch TO hub_app;
GRANT UPDATE (changed_at) ON hub.payment_intent TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.payment_claim TO hub_app;
