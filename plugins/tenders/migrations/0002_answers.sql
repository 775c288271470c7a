-- Why: what is sold, derived from the notices of closed snapshots and from nothing else; it can be made anew
-- at any time. What is searched and sorted by is apart from the answers, so that its rows are narrow.

-- One row, counted up by every snapshot that is closed: what was counted for another edition is old.
CREATE TABLE edition (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  number bigint NOT NULL DEFAULT 0
);
INSERT INTO edition DEFAULT VALUES;

CREATE TABLE tender (
  id text PRIMARY KEY,
  family bigint NOT NULL REFERENCES family,
  number text NOT NULL,
  numbers text[] NOT NULL,                              -- of all its notices
  first_on date NOT NULL,
  called_on date[] NOT NULL,                            -- by notices that change no other
  kind text NOT NULL,
  state text NOT NULL CHECK (state IN
    ('planned', 'timed', 'suspended', 'cancelled', 'awarded', 'unsuccessful')),
  score smallint NOT NULL CHECK (score BETWEEN 0 AND 1000), -- tenths
  closes_at timestamptz NOT NULL,                       -- of `timed`: when its last lot closes; or infinity
  deadlines timestamptz[] NOT NULL,                     -- each lot's, as it is told
  candidates timestamptz[] NOT NULL,                    -- each lot's, as early as the source can mean
  closes_first timestamptz,                             -- the earliest of these
  countries text[] NOT NULL,                            -- of all buyers
  cpv text[] NOT NULL                                   -- all codes, and their prefixes from two digits on
);
CREATE INDEX tender_family ON tender (family);
-- Nothing below 20 is in the feed. What can still be won is found by its end, all of it: it is little, and
-- the index holds what is asked of it.
CREATE INDEX tender_open ON tender (closes_at)
  INCLUDE (closes_first, candidates, score, number, id, kind, first_on, countries)
  WHERE state = 'timed' AND score >= 200;
CREATE INDEX tender_called ON tender USING gin (called_on) WHERE score >= 200;
-- All others are told in the order of an index, which holds what pages and counts need.
CREATE INDEX tender_state ON tender (state, score DESC, number)
  INCLUDE (closes_at, kind, first_on, id, countries) WHERE score >= 200;
CREATE INDEX tender_kind ON tender (kind, score DESC, number)
  INCLUDE (closes_at, state, first_on, id, countries) WHERE score >= 200;
CREATE INDEX tender_countries ON tender USING gin (countries) WHERE score >= 200;
CREATE INDEX tender_cpv ON tender USING gin (cpv) WHERE score >= 200;

CREATE TABLE tender_item (
  id text PRIMARY KEY REFERENCES tender ON DELETE CASCADE,
  item json NOT NULL                                    -- in the order in which it is told
);

CREATE TABLE change (
  id text PRIMARY KEY,
  family bigint NOT NULL REFERENCES family,
  published_on date NOT NULL,
  event text NOT NULL,
  signal text NOT NULL,
  verification text NOT NULL,
  countries text[] NOT NULL,
  score smallint NOT NULL,                              -- of its tender
  detected_at timestamptz NOT NULL                      -- when it was first seen
);
CREATE INDEX change_family ON change (family);
CREATE INDEX change_newest ON change (published_on DESC, id) INCLUDE (verification);
CREATE INDEX change_signal ON change (signal, published_on DESC, id) INCLUDE (verification);
CREATE INDEX change_event ON change (event, published_on DESC, id) INCLUDE (verification);
CREATE INDEX change_countries ON change USING gin (countries);

CREATE TABLE change_item (
  id text PRIMARY KEY REFERENCES change ON DELETE CASCADE,
  item json NOT NULL
);
