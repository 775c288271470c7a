-- Why: what is for sale. Services are declared by plugins and written here at start; each change of
-- a price makes a new version, which the journal names.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TABLE hub.provider (
  id text PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$'),
  commission_bps smallint CHECK (commission_bps BETWEEN 0 AND 10000) -- null: the default
);

CREATE TABLE hub.service (
  slug text PRIMARY KEY CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$'),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  category text NOT NULL CHECK (category ~ '^[a-z][a-z0-9-]{0,39}$'),
  summary text NOT NULL CHECK (length(summary) BETWEEN 1 AND 500),
  provider text NOT NULL REFERENCES hub.provider,
  free_calls_per_month integer NOT NULL CHECK (free_calls_per_month >= 0),
  commission_bps smallint CHECK (commission_bps BETWEEN 0 AND 10000), -- null: the provider's
  state text NOT NULL CHECK (state IN ('active', 'unlisted', 'retired')),
  search tsvector NOT NULL,
  listed_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX service_search ON hub.service USING gin (search);
CREATE INDEX service_name ON hub.service USING gin (name gin_trgm_ops);

CREATE TABLE hub.endpoint (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  service text NOT NULL REFERENCES hub.service,
  method text NOT NULL CHECK (method IN ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
  path text NOT NULL CHECK (path ~ '^/'),
  summary text NOT NULL,
  input_schema jsonb NOT NULL,
  output_schema jsonb,
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'retired')),
  UNIQUE (service, method, path)
);

CREATE TABLE hub.price (
  endpoint integer NOT NULL REFERENCES hub.endpoint,
  version integer NOT NULL CHECK (version > 0),
  amount bigint NOT NULL CHECK (amount >= 0), -- microdollars; of a computed price the most
  computed boolean NOT NULL,
  commission_bps smallint NOT NULL CHECK (commission_bps BETWEEN 0 AND 10000),
  since timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (endpoint, version)
);

GRANT SELECT, INSERT, UPDATE ON hub.provider, hub.service, hub.endpoint TO hub_app;
GRANT SELECT, INSERT ON hub.price TO hub_app; -- a price that was offered is never rewritten
