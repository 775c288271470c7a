-- Why: services that their owners make while the hub runs. A family, such as that of content, says what is
-- sold; the catalogue follows it.

ALTER TABLE hub.service
  ADD COLUMN family text CHECK (family ~ '^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$'), -- null: declared by a plugin
  ADD COLUMN digest text,                   -- of what was written last, of a family
  ADD CONSTRAINT service_digest CHECK (family IS NOT NULL OR digest IS NULL);
CREATE INDEX service_family ON hub.service (family, slug) WHERE family IS NOT NULL AND state = 'active';
CREATE INDEX service_category ON hub.service (category, slug) WHERE state = 'active';
