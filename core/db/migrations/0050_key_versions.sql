-- Why: one key derived every secret of the hub, so that none could be replaced. Each purpose now
-- has versions.
CREATE TABLE hub.key_version (
  purpose text NOT NULL CHECK (purpose ~ '^[a-z][a-z-]{2,39}$'),
  version integer NOT NULL CHECK (version >= 1),
  key_id text NOT NULL UNIQUE CHECK (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  -- The key of HUB_SIGNING_KEY that encrypts the material.
  wrapped_by text NOT NULL CHECK (length(wrapped_by) BETWEEN 1 AND 64),
  -- Erased when the version is retired.
  wrapped bytea CHECK (length(wrapped) BETWEEN 29 AND 1000),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Known to all processes from its creation, used for what is new from here on.
  active_from timestamptz NOT NULL,
  retired_at timestamptz,
  PRIMARY KEY (purpose, version),
  CHECK (num_nulls(wrapped, retired_at) = 1)
);
GRANT SELECT, INSERT, UPDATE ON hub.key_version TO hub_app;

-- A version is never deleted or given other contents under its name; the last valid one is never retired.
CREATE FUNCTION hub.check_key_version() RETURNS trigger
  LANGUAGE plpgsql SET search_path = hub, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'key versions are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF (NEW.purpose, NEW.version, NEW.key_id, NEW.created_at, NEW.active_from)
      IS DISTINCT FROM (OLD.purpose, OLD.version, OLD.key_id, OLD.created_at, OLD.active_from)
    OR OLD.retired_at IS NOT NULL THEN
    RAISE EXCEPTION 'key versions are only rewrapped or retired' USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.retired_at IS NOT NULL AND NOT EXISTS (
      SELECT FROM key_version WHERE purpose = NEW.purpose AND version > NEW.version
        AND wrapped IS NOT NULL AND active_from <= clock_timestamp()) THEN
    RAISE EXCEPTION 'the current key version cannot be retired' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER check_key_version BEFORE UPDATE OR DELETE ON hub.key_version
  FOR EACH ROW EXECUTE FUNCTION hub.check_key_version();

-- Which version each stored thing depends on.
ALTER TABLE hub.webhook ADD COLUMN key_version integer NOT NULL DEFAULT 1,
  ADD COLUMN previous_key_version integer NOT NULL DEFAULT 1;
ALTER TABLE hub.domain ADD COLUMN token_version integer NOT NULL DEFAULT 1;
ALTER TABLE hub.magic_link ADD COLUMN key_version integer NOT NULL DEFAULT 1;
ALTER TABLE hub.kept_answer ADD COLUMN key_version integer NOT NULL DEFAULT 1;
-- Responses are encrypted anew during a rotation.
GRANT UPDATE ON hub.kept_answer TO hub_app;
