-- upgrade: expand
-- A metered price charges the usage that the service reports, up to `amount`: `unit_amount` for
-- `unit_per` units. It is NULL for other prices.
ALTER TABLE hub.price
  ADD unit text CHECK (unit ~ '^[a-z][a-z0-9-]{0,31}$'),
  ADD unit_amount bigint CHECK (unit_amount > 0),
  ADD unit_per bigint CHECK (unit_per > 0),
  ADD CONSTRAINT price_metered CHECK (num_nulls(unit, unit_amount, unit_per) IN (0, 3));

-- Free units of each caller per month, by unit.
ALTER TABLE hub.service ADD free_units jsonb NOT NULL DEFAULT '{}'
  CHECK (jsonb_typeof(free_units) = 'object');

-- Usage of a call with a metered price. What is charged is at most the price of the usage, rounded
-- up; that this is at most what was reserved is checked by the ledger.
ALTER TABLE hub.call
  ADD unit text,
  ADD quantity bigint CHECK (quantity >= 0),
  ADD unit_amount bigint,
  ADD unit_per bigint,
  ADD CONSTRAINT call_metered CHECK (num_nulls(unit, quantity, unit_amount, unit_per) IN (0, 4)
    AND (quantity IS NULL
      OR charged <= ceil(quantity::numeric * unit_amount / unit_per)));

CREATE INDEX call_usage ON hub.call (service, at) WHERE quantity IS NOT NULL;
