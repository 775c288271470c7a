-- Why: what an OpenAPI document says and nobody took over is looked at when the draft is, not only in the
-- answer to its import.
CREATE TABLE hub.upstream_import (
  service text PRIMARY KEY REFERENCES hub.upstream (slug) ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT now(),
  report jsonb NOT NULL CHECK (jsonb_typeof(report) = 'object' AND length(report::text) <= 300000)
);
GRANT SELECT, INSERT ON hub.upstream_import TO hub_app;
