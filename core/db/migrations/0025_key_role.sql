-- Why: keys for what a principal sells. They manage services, prices and payouts, and have no credits: what
-- has none cannot spend.

ALTER TABLE hub.api_key
  ADD COLUMN role text NOT NULL DEFAULT 'agent' CHECK (role IN ('agent', 'provider')),
  ALTER COLUMN credits DROP NOT NULL,
  ADD CONSTRAINT api_key_role CHECK ((role = 'agent') = (credits IS NOT NULL) AND (role = 'agent'
    OR num_nonnulls(max_call, max_day, max_total, services, rate_per_minute) = 0));
