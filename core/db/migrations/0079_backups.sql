-- Last backup, and last restore drill that succeeded, for metrics.
-- upgrade: expand
CREATE TABLE hub.backup_run (
  kind text PRIMARY KEY CHECK (kind IN ('backup', 'drill')),
  succeeded_at timestamptz NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  bytes bigint NOT NULL CHECK (bytes >= 0)
);

CREATE FUNCTION hub.record_backup(p_kind text, p_name text, p_bytes bigint) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = hub, pg_temp
BEGIN ATOMIC
  INSERT INTO hub.backup_run AS r VALUES (p_kind, now(), p_name, p_bytes)
  ON CONFLICT (kind) DO UPDATE SET succeeded_at = now(), name = p_name, bytes = p_bytes;
END;
REVOKE ALL ON FUNCTION hub.record_backup(text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.record_backup(text, text, bigint) TO hub_app;
GRANT SELECT ON hub.backup_run TO hub_app;
