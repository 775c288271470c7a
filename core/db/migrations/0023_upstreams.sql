-- Why: HTTP APIs that their owners list without code. The hub asks them for whoever pays, and adds what the
-- owner has it add.

CREATE TABLE hub.upstream (
  slug text PRIMARY KEY REFERENCES hub.service,
  owner text NOT NULL REFERENCES hub.principal,
  provider text NOT NULL REFERENCES hub.provider,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  category text NOT NULL CHECK (category ~ '^[a-z][a-z0-9-]{0,39}$'),
  summary text NOT NULL CHECK (length(summary) BETWEEN 1 AND 500),
  base_url text NOT NULL
    CHECK (base_url ~ '^https?://[^/?#@\s]+(/[^?#\s]*[^/?#\s])?$' AND length(base_url) <= 500),
  free_calls_per_month integer NOT NULL CHECK (free_calls_per_month BETWEEN 0 AND 1000000),
  request_headers text[] NOT NULL CHECK (cardinality(request_headers) <= 20),   -- of callers, that go on
  response_headers text[] NOT NULL CHECK (cardinality(response_headers) <= 20), -- of answers, that come back
  health_path text NOT NULL CHECK (health_path ~ '^/' AND length(health_path) <= 500),
  -- pending: an administrator has to approve of it; suspended: one has stopped it
  state text NOT NULL DEFAULT 'draft'
    CHECK (state IN ('draft', 'pending', 'active', 'paused', 'suspended', 'retired')),
  reason text CHECK (length(reason) BETWEEN 1 AND 500),   -- why it is suspended
  approved_at timestamptz,                                -- by an administrator, for this very host
  activated_at timestamptz,                               -- the first time; from then on rises have notice
  deprecated_on date,
  sunset_on date CHECK (sunset_on >= deprecated_on),      -- UTC; the last day
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  tested_at timestamptz,
  tests smallint NOT NULL DEFAULT 0,                      -- test calls on the day of tested_at
  CHECK ((state = 'suspended') = (reason IS NOT NULL)),
  CHECK ((deprecated_on IS NULL) = (sunset_on IS NULL)),
  CHECK (state <> 'active' OR activated_at IS NOT NULL)
);
CREATE INDEX upstream_owner ON hub.upstream (owner, slug);
CREATE INDEX upstream_sold ON hub.upstream (slug) WHERE state = 'active';
CREATE INDEX upstream_sunset ON hub.upstream (sunset_on) WHERE state <> 'retired' AND sunset_on IS NOT NULL;

-- The state machine: what may follow what. A service that has ended never comes back.
CREATE FUNCTION hub.upstream_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state <> OLD.state AND NEW.state <> ALL (CASE OLD.state
      WHEN 'draft' THEN ARRAY['pending', 'active', 'retired']
      WHEN 'pending' THEN ARRAY['draft', 'active', 'suspended', 'retired']
      WHEN 'active' THEN ARRAY['pending', 'paused', 'suspended', 'retired']
      WHEN 'paused' THEN ARRAY['pending', 'active', 'suspended', 'retired']
      WHEN 'suspended' THEN ARRAY['paused', 'active', 'pending', 'retired']
      ELSE ARRAY[]::text[] END) THEN
    RAISE EXCEPTION 'an upstream that is % does not become %', OLD.state, NEW.state USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER upstream_step BEFORE UPDATE OF state ON hub.upstream
  FOR EACH ROW EXECUTE FUNCTION hub.upstream_step();

CREATE TABLE hub.upstream_endpoint (
  service text NOT NULL REFERENCES hub.upstream,
  method text NOT NULL CHECK (method IN ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
  path text NOT NULL CHECK (path ~ '^/' AND length(path) <= 300),
  position smallint NOT NULL CHECK (position BETWEEN 0 AND 99), -- in the order of the owner
  upstream_path text NOT NULL CHECK (upstream_path ~ '^/' AND length(upstream_path) <= 300),
  summary text NOT NULL CHECK (length(summary) BETWEEN 1 AND 500),
  input jsonb NOT NULL CHECK (input ->> 'type' = 'object'),
  output jsonb,
  query text[] NOT NULL,                   -- members of the input that stand in the query
  body text NOT NULL CHECK (body IN ('none', 'json', 'form')),
  success smallint[] NOT NULL
    CHECK (cardinality(success) > 0 AND 200 <= ALL (success) AND 299 >= ALL (success)),
  passes smallint[] NOT NULL CHECK (400 <= ALL (passes) AND 599 >= ALL (passes)),
  deadline_seconds smallint NOT NULL CHECK (deadline_seconds BETWEEN 1 AND 300),
  max_bytes integer NOT NULL CHECK (max_bytes BETWEEN 1024 AND 33554432),
  streams boolean NOT NULL,
  idempotent boolean NOT NULL,
  retries smallint NOT NULL CHECK (retries BETWEEN 0 AND 3 AND (idempotent OR retries = 0)),
  listed boolean NOT NULL DEFAULT true,    -- false: taken off; its prices are kept
  PRIMARY KEY (service, method, path)
);

-- What an endpoint costs from when on. The one that came into effect last counts; none is ever rewritten.
CREATE TABLE hub.upstream_price (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  service text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  amount bigint NOT NULL CHECK (amount BETWEEN 0 AND 1000000000), -- microdollars a call
  set_at timestamptz NOT NULL DEFAULT now(),
  effective_at timestamptz NOT NULL CHECK (effective_at >= set_at),
  withdrawn_at timestamptz CHECK (withdrawn_at < effective_at),   -- another one was set before it counted
  FOREIGN KEY (service, method, path) REFERENCES hub.upstream_endpoint
);
CREATE INDEX upstream_price_of ON hub.upstream_price (service, method, path, effective_at DESC, id DESC)
  WHERE withdrawn_at IS NULL;
CREATE INDEX upstream_price_service ON hub.upstream_price (service, id);

-- What the hub adds to each request: encrypted, under the key that key_id names.
CREATE TABLE hub.upstream_secret (
  service text NOT NULL REFERENCES hub.upstream,
  place text NOT NULL CHECK (place IN ('header', 'query')),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  key_id text NOT NULL CHECK (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  sealed bytea NOT NULL CHECK (length(sealed) BETWEEN 28 AND 8300),
  set_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (service, place, name)
);
CREATE INDEX upstream_secret_key ON hub.upstream_secret (key_id);

CREATE TABLE hub.upstream_health (
  service text PRIMARY KEY REFERENCES hub.upstream,
  up boolean,                              -- null: not asked yet
  since timestamptz NOT NULL DEFAULT now(), -- that it is as it is
  checked_at timestamptz,
  latency_ms integer,
  detail text CHECK (length(detail) <= 100),
  failures integer NOT NULL DEFAULT 0,     -- one after the other
  next_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX upstream_health_due ON hub.upstream_health (next_at);

GRANT SELECT, INSERT, UPDATE ON hub.upstream, hub.upstream_endpoint, hub.upstream_health TO hub_app;
GRANT SELECT, INSERT, UPDATE (withdrawn_at) ON hub.upstream_price TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.upstream_secret TO hub_app;
