-- Why: an administrator approves of what was seen, and of nothing that was put in its place; what was never
-- sold keeps no slug.

-- ── What was seen ───────────────────────────────────────────────────────────────────────────

-- Rises with each change of what an upstream is, where it is and what it sells; not with its state.
ALTER TABLE hub.upstream ADD COLUMN revision integer NOT NULL DEFAULT 1;

CREATE FUNCTION hub.upstream_revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := greatest(NEW.revision, OLD.revision);
  IF (NEW.name, NEW.category, NEW.summary, NEW.base_url, NEW.request_headers, NEW.response_headers,
      NEW.health_path, NEW.free_calls_per_month) IS DISTINCT FROM (OLD.name, OLD.category, OLD.summary,
      OLD.base_url, OLD.request_headers, OLD.response_headers, OLD.health_path,
      OLD.free_calls_per_month) THEN
    NEW.revision := greatest(NEW.revision, OLD.revision + 1);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER upstream_revise BEFORE UPDATE ON hub.upstream
  FOR EACH ROW EXECUTE FUNCTION hub.upstream_revise();

CREATE FUNCTION hub.upstream_revise_endpoints() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hub.upstream SET revision = revision + 1 WHERE slug IN (SELECT service FROM changed);
  RETURN NULL;
END $$;
CREATE TRIGGER revise_new AFTER INSERT ON hub.upstream_endpoint REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION hub.upstream_revise_endpoints();
CREATE TRIGGER revise_changed AFTER UPDATE ON hub.upstream_endpoint REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION hub.upstream_revise_endpoints();

-- ── What was never sold ─────────────────────────────────────────────────────────────────────

-- Takes out an upstream that has ended and was never on sale, so that its slug is free again. What anything
-- else refers to stays. Returns whether it is gone.
CREATE FUNCTION hub.discard_upstream(p_slug text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM FROM upstream WHERE slug = p_slug AND state = 'retired' AND activated_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM upstream_price WHERE service = p_slug;
  DELETE FROM upstream_endpoint WHERE service = p_slug;
  DELETE FROM upstream_secret WHERE service = p_slug;
  DELETE FROM upstream_health WHERE service = p_slug;
  DELETE FROM upstream WHERE slug = p_slug;
  DELETE FROM service WHERE slug = p_slug;
  RETURN true;
EXCEPTION WHEN foreign_key_violation THEN
  RETURN false;
END $$;
REVOKE EXECUTE ON FUNCTION hub.discard_upstream FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.discard_upstream TO hub_app;

-- ── Who earns with a plugin ─────────────────────────────────────────────────────────────────

-- An administrator says whose a provider is that a plugin declares. An address that an earlier owner has
-- signed for counts no more: its new owner signs for one.
CREATE OR REPLACE VIEW hub.payout_destination AS
  SELECT p.id AS provider, c.address, c.effective_at AS since, w.id AS next_id, w.address AS next,
    w.effective_at AS next_at
  FROM hub.provider p
  LEFT JOIN LATERAL (SELECT d.* FROM hub.payout_address d WHERE d.provider = p.id AND d.set_by = p.owner
    AND d.withdrawn_at IS NULL AND d.effective_at <= now()
    ORDER BY d.effective_at DESC, d.id DESC LIMIT 1) c ON true
  LEFT JOIN LATERAL (SELECT d.* FROM hub.payout_address d WHERE d.provider = p.id AND d.set_by = p.owner
    AND d.withdrawn_at IS NULL AND d.effective_at > now() ORDER BY d.id DESC LIMIT 1) w ON true;
