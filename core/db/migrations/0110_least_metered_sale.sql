-- upgrade: expand
-- A metered call paid by x402 costs at least the gas of its settlement, which may be more than its usage.
-- Not validated: the rule before was narrower.
ALTER TABLE hub.call DROP CONSTRAINT call_metered, ADD CONSTRAINT call_metered CHECK (
  num_nulls(unit, quantity, unit_amount, unit_per) IN (0, 4)
  AND (quantity IS NULL OR source = 'x402'
    OR charged <= ceil(quantity::numeric * unit_amount / unit_per))) NOT VALID;

-- Finds the metered purchases that a transaction settled.
CREATE INDEX payment_intent_settled ON hub.payment_intent (transaction) WHERE authorized IS NOT NULL;
