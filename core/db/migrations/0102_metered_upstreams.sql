-- upgrade: expand
-- `metered`: price of the units that a response of the upstream reports (core/plugin/upstreams.ts,
-- UpstreamMeter), of which `amount` is the maximum; NULL for a price per call.
ALTER TABLE hub.upstream_price ADD metered jsonb,
  ADD CONSTRAINT upstream_price_metered CHECK (metered IS NULL OR (
    jsonb_typeof(metered) = 'object' AND (metered ->> 'unit') ~ '^[a-z][a-z0-9-]{0,31}$'
    AND (metered ->> 'amount')::numeric BETWEEN 1 AND 1000000000
    AND (metered ->> 'per')::numeric BETWEEN 1 AND 1000000000
    AND (metered ->> 'ifAbsent') IN ('fail', 'maximum', 'free')
    AND (metered ? 'header') <> (metered ? 'pointer')
    -- The maximum covers a unit.
    AND amount * (metered ->> 'per')::numeric >= (metered ->> 'amount')::numeric) IS TRUE);
