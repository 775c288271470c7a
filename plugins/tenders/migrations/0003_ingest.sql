-- Why: how far reading of the official journal has come, so that it goes on after any end of the process,
-- and the operator sees what is missing. What was read lies in `arrival` and `notice`; this never repeats it.

-- One calendar day that we want. `silent`: the journal says that nothing was published.
CREATE TABLE ingest_day (
  day date PRIMARY KEY,
  state text NOT NULL DEFAULT 'listing' CHECK (state IN ('listing', 'fetching', 'closed', 'silent')),
  ojs text CHECK (ojs ~ '^[0-9]{1,3}/[0-9]{4}$'),
  announced integer CHECK (announced >= 0),
  listing jsonb,                                       -- the iteration under way; null outside of one
  problem text CHECK (length(problem) <= 500),         -- why the last try did not end
  tried_at timestamptz,
  settled_at timestamptz,                              -- when it was first closed or silent
  rechecked boolean NOT NULL DEFAULT false,            -- a closed day is listed once more, a day later
  CHECK ((state IN ('closed', 'silent')) <= (settled_at IS NOT NULL))
);

-- What the journal has announced for a day. `refused`: it came, and cannot be read.
CREATE TABLE ingest_notice (
  day date NOT NULL REFERENCES ingest_day,
  number text NOT NULL CHECK (number ~ '^[1-9][0-9]{0,7}-[0-9]{4}$'),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'held', 'refused')),
  problem text CHECK (length(problem) <= 500),
  PRIMARY KEY (day, number)
);
CREATE INDEX ingest_notice_open ON ingest_notice (day, state) WHERE state <> 'held';

-- One row: the one worker of all processes, until when its claim holds, and until when the journal wants
-- peace.
CREATE TABLE ingest_worker (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  holder uuid,
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  quiet_until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO ingest_worker DEFAULT VALUES;
