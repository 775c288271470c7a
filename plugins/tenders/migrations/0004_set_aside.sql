-- Why: a notice that fails anywhere must stop no other. It is set aside with its reason and stack, and the
-- next version of the code tries it again.

ALTER TABLE refusal
  ADD COLUMN stage text NOT NULL DEFAULT 'read' CHECK (stage IN ('read', 'store', 'publish')),
  ADD COLUMN day date,                                 -- of the snapshot that it came with
  ADD COLUMN file text,                                -- of a package or a folder
  ADD COLUMN stack text CHECK (length(stack) <= 4000),
  ADD COLUMN code_version text NOT NULL DEFAULT '';    -- hash of the code that failed
CREATE INDEX refusal_number ON refusal (number);

-- The version of the code that could not publish it; another version tries again.
ALTER TABLE arrival ADD COLUMN failed_version text;

-- Stack of an unexpected `problem`, and oddities of a day that was read nevertheless.
ALTER TABLE ingest_day
  ADD COLUMN stack text CHECK (length(stack) <= 4000),
  ADD COLUMN flags text[] NOT NULL DEFAULT '{}';
