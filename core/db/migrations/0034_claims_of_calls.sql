-- Why: a request under an Idempotency-Key is charged once, also where its process dies between an x402
-- payment and the note of its end, and the retry brings another payment. So a payment says which attempt it
-- pays for.
ALTER TABLE hub.payment_claim ADD COLUMN call uuid;
CREATE INDEX payment_claim_call ON hub.payment_claim (call) WHERE call IS NOT NULL;
