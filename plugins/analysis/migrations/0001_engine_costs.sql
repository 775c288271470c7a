-- What each call cost with each engine that it was put to, answered or not: beside the journal, which
-- has what the same call earned under the same id.
CREATE TABLE engine_call (
  call_id uuid NOT NULL,
  engine text NOT NULL,
  at timestamptz NOT NULL,
  endpoint text NOT NULL,
  model text NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('answered', 'unavailable', 'busy', 'timeout', 'bad_output',
    'refused', 'over_budget', 'unsupported', 'aborted')),
  requests int NOT NULL CHECK (requests > 0),
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  -- Whether tokens were reckoned, since the server did not count them.
  estimated boolean NOT NULL,
  cost_microdollars bigint NOT NULL CHECK (cost_microdollars >= 0),
  PRIMARY KEY (call_id, engine)
);
CREATE INDEX engine_call_at ON engine_call (at);

-- Sums of UTC days: what a daily limit is held against, without reading the calls.
CREATE TABLE engine_day (
  engine text NOT NULL,
  day date NOT NULL,
  calls bigint NOT NULL CHECK (calls > 0),
  answered bigint NOT NULL CHECK (answered BETWEEN 0 AND calls),
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  cost_microdollars bigint NOT NULL CHECK (cost_microdollars >= 0),
  PRIMARY KEY (engine, day)
);
