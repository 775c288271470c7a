-- Why: the operator adds, changes and removes plugins while the hub runs, over all of its processes. What
-- runs code is written by the owner of the database alone; the hub reads it, and says what came of it.

CREATE TABLE hub.plugin (
  spec text PRIMARY KEY CHECK (length(spec) BETWEEN 1 AND 500), -- a package, or an absolute path
  entry text NOT NULL CHECK (starts_with(entry, spec) AND length(entry) <= 2000), -- as in HUB_PLUGINS
  generation integer NOT NULL DEFAULT 1 CHECK (generation > 0), -- a higher one is loaded anew
  removed boolean NOT NULL DEFAULT false,
  changed_at timestamptz NOT NULL DEFAULT now()
);

-- What each process has of it: one row, with what it runs and why it would not run something.
CREATE TABLE hub.plugin_process (
  process text PRIMARY KEY CHECK (length(process) <= 300), -- host:pid
  plugins jsonb NOT NULL CHECK (jsonb_typeof(plugins) = 'object'),
  seen_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT ON hub.plugin TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.plugin_process TO hub_app;
