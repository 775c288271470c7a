-- Why: what is sold, derived from the notices of closed snapshots and from nothing else; it can be made anew
-- at any time. Rows hold answers as JSON, and beside it only what is searched and sorted by.

ALTER TABLE notice ADD COLUMN is_new boolean NOT NULL DEFAULT false; -- a call that changes no other
CREATE INDEX notice_news ON notice (published_on) WHERE is_new;

CREATE TABLE tender (
  id text PRIMARY KEY,
  family bigint NOT NULL REFERENCES family,
  number text NOT NULL,
  numbers text[] NOT NULL,                              -- of all its notices
  first_on date NOT NULL,
  kind text NOT NULL,
  state text NOT NULL CHECK (state IN
    ('planned', 'timed', 'suspended', 'cancelled', 'awarded', 'unsuccessful')),
  score smallint NOT NULL CHECK (score BETWEEN 0 AND 1000), -- tenths
  closes_at timestamptz NOT NULL,                       -- of `timed`: when its last lot closes; or infinity
  deadlines timestamptz[] NOT NULL,                     -- each lot's, as it is told
  candidates timestamptz[] NOT NULL,                    -- each lot's, as early as the source can mean
  countries text[] NOT NULL,                            -- of all buyers
  cpv text[] NOT NULL,                                  -- all codes, and their prefixes from two digits on
  item json NOT NULL                                    -- in the order in which it is told
);
CREATE INDEX tender_family ON tender (family);
-- Nothing below 20 is in the feed.
CREATE INDEX tender_open ON tender (closes_at, score DESC) WHERE state = 'timed' AND score >= 200;
CREATE INDEX tender_state ON tender (state, score DESC, number) INCLUDE (closes_at, first_on)
  WHERE score >= 200;
CREATE INDEX tender_countries ON tender USING gin (countries) WHERE score >= 200;
CREATE INDEX tender_cpv ON tender USING gin (cpv) WHERE score >= 200;

CREATE TABLE change (
  id text PRIMARY KEY,
  family bigint NOT NULL REFERENCES family,
  published_on date NOT NULL,
  event text NOT NULL,
  signal text NOT NULL,
  verification text NOT NULL,
  countries text[] NOT NULL,
  score smallint NOT NULL,                              -- of its tender
  detected_at timestamptz NOT NULL,                     -- when it was first seen
  item json NOT NULL                                    -- in the order in which it is told
);
CREATE INDEX change_family ON change (family);
CREATE INDEX change_newest ON change (published_on DESC, id);
CREATE INDEX change_signal ON change (signal, published_on DESC, id);
CREATE INDEX change_event ON change (event, published_on DESC, id);
CREATE INDEX change_countries ON change USING gin (countries);
CREATE INDEX tender_kind ON tender (kind, score DESC, number) INCLUDE (closes_at, first_on)
  WHERE score >= 200;
