-- Why: what indexes, registries and owners say of resources that are sold, each row with the listing that
-- came of it, or the reason why none did; and how far each source was read.

-- Where a source was read up to. A page of it and its place are committed together.
CREATE TABLE hub.discovery (
  source text PRIMARY KEY,
  place jsonb NOT NULL DEFAULT '{}',       -- where the next page begins; {}: at the beginning
  pass integer NOT NULL DEFAULT 1,         -- how often it was begun
  pages integer NOT NULL DEFAULT 0,        -- of this pass, as is what follows
  rows integer NOT NULL DEFAULT 0,
  refused integer NOT NULL DEFAULT 0,
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,                 -- of the last whole pass
  next_at timestamptz NOT NULL DEFAULT now(),
  failures integer NOT NULL DEFAULT 0,     -- in a row
  error text                               -- why it stopped, if it did
);

-- A row of a source, by what it calls the resource: a listing came of it, or a reason why not.
CREATE TABLE hub.listing_source (
  source text NOT NULL,
  key text NOT NULL,                       -- of a resource within the source
  listing text REFERENCES hub.listing,
  reason text,
  claim jsonb NOT NULL,                    -- what it said, cut to a few kilobytes where refused
  digest bytea NOT NULL,                   -- of all of what it said
  pass integer NOT NULL,                   -- the last one that had it
  gone boolean NOT NULL DEFAULT false,     -- a whole pass did not have it any more
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source, key),
  CHECK ((listing IS NULL) <> (reason IS NULL))
);
CREATE INDEX listing_source_listing ON hub.listing_source (listing) WHERE listing IS NOT NULL;
CREATE INDEX listing_source_refused ON hub.listing_source (source, reason) WHERE listing IS NULL;

-- What addresses were paid in USDC by known facilitators: evidence beside our own, never instead of it.
CREATE TABLE hub.payee_day (
  pay_to text NOT NULL CHECK (pay_to ~ '^0x[0-9a-f]{40}$'),
  day date NOT NULL,
  payments integer NOT NULL CHECK (payments > 0),
  amount bigint NOT NULL CHECK (amount > 0), -- microdollars
  PRIMARY KEY (pay_to, day)
);

GRANT SELECT, INSERT, UPDATE ON hub.discovery, hub.listing_source, hub.payee_day TO hub_app;
