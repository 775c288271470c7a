-- Why: pages that were read, kept as long as their owners allow, so that a site is not asked again.

CREATE TABLE page (
  domain text NOT NULL,
  key bytea NOT NULL CHECK (length(key) = 32), -- sha256 of the address and of how it was read
  article json NOT NULL,
  bytes integer NOT NULL CHECK (bytes BETWEEN 0 AND 2097152),
  fetched_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (domain, key)
);
CREATE INDEX page_expiry ON page (expires_at);
CREATE INDEX page_age ON page (fetched_at);
