-- Why: domains whose pages their owners sell through the content gateway. Whoever shows a proof holds the
-- host; the slug of its service goes with the host, and never back to somebody else's.

ALTER TABLE hub.provider
  ADD COLUMN owner text UNIQUE REFERENCES hub.principal; -- who earns; null: declared by a plugin

CREATE TABLE hub.domain (
  id text PRIMARY KEY CHECK (id ~ '^dom_[0-9A-Za-z]{16}$'),
  host text NOT NULL CHECK (host = lower(host) AND length(host) <= 253),
  origin text NOT NULL CHECK (origin IN ('https://' || host, 'http://' || host)),
  owner text NOT NULL REFERENCES hub.principal,
  provider text NOT NULL REFERENCES hub.provider,
  slug text UNIQUE REFERENCES hub.service, -- of who holds the host, or held it last
  sold_as text,                            -- the slug that its earnings are booked under
  wanted text,                             -- the slug that the owner would like to have
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  summary text NOT NULL CHECK (length(summary) BETWEEN 1 AND 500),
  -- transferred: somebody else has proven the host since; expired: the proof was gone for days
  state text NOT NULL DEFAULT 'pending'
    CHECK (state IN ('pending', 'verified', 'expired', 'transferred', 'deleted')),
  selling boolean NOT NULL DEFAULT true,   -- false: the owner has opted out
  method text CHECK (method IN ('file', 'meta', 'dns')),
  created_at timestamptz NOT NULL DEFAULT now(),
  tried_at timestamptz,                    -- when the proof was looked for last
  proven_at timestamptz,                   -- when it was seen last
  next_check_at timestamptz,               -- null: never again by itself
  CHECK (state <> 'verified' OR num_nulls(slug, sold_as, method, proven_at, next_check_at) = 0),
  CHECK (state <> 'pending' OR slug IS NULL)
);
CREATE UNIQUE INDEX domain_held ON hub.domain (host) WHERE state = 'verified';
CREATE UNIQUE INDEX domain_claim ON hub.domain (owner, host) WHERE state <> 'deleted';
CREATE INDEX domain_host ON hub.domain (host);
CREATE INDEX domain_due ON hub.domain (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX domain_sold ON hub.domain (slug) WHERE state = 'verified' AND selling;

-- What is sold at which price, by globs over the path. The most specific one counts.
CREATE TABLE hub.domain_rule (
  domain text NOT NULL REFERENCES hub.domain ON DELETE CASCADE,
  pattern text NOT NULL CHECK (pattern ~ '^/' AND length(pattern) <= 500),
  position smallint NOT NULL CHECK (position BETWEEN 0 AND 199), -- in the order of the owner
  allow boolean NOT NULL,                  -- false: nobody gets these pages
  price bigint NOT NULL CHECK (price BETWEEN 0 AND 1000000000),           -- microdollars a page
  cached_price bigint NOT NULL CHECK (cached_price BETWEEN 0 AND price),  -- of a page that was kept
  max_age_seconds integer NOT NULL CHECK (max_age_seconds BETWEEN 0 AND 2592000),
  preview_characters integer NOT NULL CHECK (preview_characters BETWEEN 0 AND 5000),
  wait_for text CHECK (length(wait_for) BETWEEN 1 AND 200),
  exclude text[] NOT NULL CHECK (cardinality(exclude) <= 50),
  fast boolean NOT NULL,                   -- without a browser, if that gives a text
  PRIMARY KEY (domain, pattern),
  UNIQUE (domain, position)
);

-- Which page a call was for. What was paid stands in the journal, and why in hub.call.
CREATE TABLE hub.page_call (
  call uuid PRIMARY KEY,
  domain text NOT NULL REFERENCES hub.domain,
  url text NOT NULL CHECK (length(url) <= 2048),
  cached boolean NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX page_call_domain ON hub.page_call (domain, at);

GRANT SELECT, INSERT, UPDATE ON hub.domain TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.domain_rule TO hub_app;
GRANT SELECT, INSERT ON hub.page_call TO hub_app;
