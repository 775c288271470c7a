-- Why: a charged call whose process died before it recorded the call is found by its id, also if it was a
-- later attempt under an Idempotency-Key. And a payment that was settled after the work, by a process that
-- died before it stored that, is returned like an upfront one if no attempt is delivered in a day.

CREATE INDEX idempotent_call_retried ON hub.idempotent_call (call) WHERE call <> id;

-- Those before had their response for a day.
UPDATE hub.payment_claim c SET delivered_at = c.claimed_at
  WHERE purpose = 'call' AND NOT upfront AND state = 'confirmed' AND delivered_at IS NULL AND NOT deposited
    AND (claimed_at < now() - interval '20 hours'
      OR EXISTS (SELECT FROM hub.kept_answer k WHERE k.id = c.id));

DROP INDEX hub.payment_claim_undelivered;
CREATE INDEX payment_claim_undelivered ON hub.payment_claim (claimed_at)
  WHERE purpose = 'call' AND state = 'confirmed' AND delivered_at IS NULL AND NOT deposited;
