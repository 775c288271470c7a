-- Why: what the official journal has published, as we have read it. No original document is kept: it may
-- name persons. Notices arrive in a snapshot, and nobody sees them before it is closed, when it is complete.

-- One publication day from one source. `closed_at` of the newest one is what answers are as of.
CREATE TABLE snapshot (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  day date NOT NULL,                                   -- of publication
  ojs text CHECK (ojs ~ '^[0-9]{1,3}/[0-9]{4}$'),      -- number of the issue, as in 208/2023
  source text NOT NULL CHECK (source IN ('live', 'folder', 'sample')),
  announced integer CHECK (announced >= 0),            -- by the source; null while it has not said
  opened_at timestamptz NOT NULL,
  closed_at timestamptz CHECK (closed_at >= opened_at),
  UNIQUE (source, day)
);
CREATE INDEX snapshot_closed ON snapshot (closed_at DESC) WHERE closed_at IS NOT NULL;

-- Read, and not yet to be seen. One row for each number: what comes again replaces what came before.
CREATE TABLE arrival (
  number text PRIMARY KEY CHECK (number ~ '^[1-9][0-9]{0,7}-[0-9]{4}$'),
  snapshot bigint NOT NULL REFERENCES snapshot,
  sha256 bytea NOT NULL CHECK (length(sha256) = 32),   -- of the document, byte by byte
  notice jsonb NOT NULL
);
CREATE INDEX arrival_snapshot ON arrival (snapshot);

-- What makes one object of procurement of several notices; notices of a procedure that belong together.
CREATE TABLE family (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
);

CREATE TABLE notice (
  number text PRIMARY KEY,
  family bigint NOT NULL REFERENCES family,
  snapshot bigint NOT NULL REFERENCES snapshot,
  published_on date NOT NULL,
  sha256 bytea NOT NULL CHECK (length(sha256) = 32),
  notice_id text,                                      -- UUID, and version of it
  version text,
  procedure_id text,
  refers text[] NOT NULL DEFAULT '{}',                 -- what it changes or follows: numbers, or UUID-NN
  notice jsonb NOT NULL
);
CREATE INDEX notice_family ON notice (family);
CREATE INDEX notice_snapshot ON notice (snapshot);
CREATE INDEX notice_procedure ON notice (procedure_id) WHERE procedure_id IS NOT NULL;
CREATE INDEX notice_id ON notice (notice_id) WHERE notice_id IS NOT NULL;
CREATE INDEX notice_refers ON notice USING gin (refers);

-- Documents that could not be read, and why: the operator's to look at. `number` as far as it is known.
CREATE TABLE refusal (
  sha256 bytea PRIMARY KEY CHECK (length(sha256) = 32),
  number text,
  reason text NOT NULL CHECK (reason ~ '^[a-z_]{1,40}$'),
  detail text NOT NULL CHECK (length(detail) <= 500),
  source text NOT NULL,
  refused_at timestamptz NOT NULL
);
CREATE INDEX refusal_newest ON refusal (refused_at DESC);

-- Notices that change notices refer to and that we do not hold: without them there is no value from before.
CREATE TABLE wanted (
  reference text PRIMARY KEY,                          -- a number, or UUID-NN
  by_number text NOT NULL,                             -- the notice that refers to it
  asked_at timestamptz,                                -- when it was last looked for, in vain
  attempts integer NOT NULL DEFAULT 0
);
