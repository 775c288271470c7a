-- Why: an approval covers what callers see and send. Each change of that makes a version; callers get the
-- approved one until the next one is approved.

CREATE TABLE hub.content_version (
  subject text NOT NULL,                   -- slug of an upstream, or id of a domain
  version integer NOT NULL CHECK (version > 0),
  content jsonb CHECK (jsonb_typeof(content) = 'object'), -- null: dropped, callers never saw it or long ago
  state text NOT NULL DEFAULT 'waiting'
    CHECK (state IN ('waiting', 'approved', 'replaced', 'refused', 'withdrawn')),
  held text[] NOT NULL DEFAULT '{}',       -- why it needs a review even where none is configured
  created_at timestamptz NOT NULL DEFAULT now(),
  decided_at timestamptz,
  reason text CHECK (length(reason) BETWEEN 1 AND 500), -- of a refusal
  PRIMARY KEY (subject, version),
  CHECK ((state = 'waiting') = (decided_at IS NULL)),
  CHECK ((state = 'refused') = (reason IS NOT NULL)),
  CHECK (content IS NOT NULL OR state NOT IN ('waiting', 'approved'))
);
CREATE UNIQUE INDEX content_version_approved ON hub.content_version (subject) WHERE state = 'approved';
CREATE UNIQUE INDEX content_version_waiting ON hub.content_version (subject) WHERE state = 'waiting';

-- A version is decided once, and what was decided on is never changed.
CREATE FUNCTION hub.content_version_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.content IS DISTINCT FROM OLD.content AND NEW.content IS NOT NULL
      OR (NEW.subject, NEW.version, NEW.held, NEW.created_at)
        IS DISTINCT FROM (OLD.subject, OLD.version, OLD.held, OLD.created_at) THEN
    RAISE EXCEPTION 'the content of version % is never changed', OLD.version USING ERRCODE = '23514';
  END IF;
  IF NEW.state <> OLD.state AND NOT (OLD.state = 'waiting' OR OLD.state = 'approved'
      AND NEW.state = 'replaced') THEN
    RAISE EXCEPTION 'a version that is % does not become %', OLD.state, NEW.state USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER content_version_step BEFORE UPDATE ON hub.content_version
  FOR EACH ROW EXECUTE FUNCTION hub.content_version_step();

-- ── Upstreams ───────────────────────────────────────────────────────────────────────────────

CREATE FUNCTION hub.origin_of(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN substring(p_url FROM '^https?://[^/?#]+');

-- A secret belongs to the origin that it was set for, and is sent to no other. One that is not listed is
-- still needed by the approved version.
ALTER TABLE hub.upstream_secret ADD COLUMN origin text, ADD COLUMN listed boolean NOT NULL DEFAULT true;
UPDATE hub.upstream_secret s SET origin = hub.origin_of(u.base_url) FROM hub.upstream u
  WHERE u.slug = s.service;
ALTER TABLE hub.upstream_secret ALTER COLUMN origin SET NOT NULL,
  DROP CONSTRAINT upstream_secret_pkey, ADD PRIMARY KEY (service, origin, place, name);

-- What callers see and send, as the owner wants it next. Prices and free calls are not part of it.
CREATE FUNCTION hub.upstream_content(p_slug text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT jsonb_build_object('name', u.name, 'category', u.category, 'summary', u.summary,
    'baseUrl', u.base_url, 'healthPath', u.health_path, 'requestHeaders', u.request_headers,
    'responseHeaders', u.response_headers,
    'secrets', (SELECT coalesce(jsonb_agg(jsonb_build_object('place', s.place, 'name', s.name)
        ORDER BY s.place, s.name), '[]') FROM upstream_secret s
      WHERE s.service = u.slug AND s.origin = origin_of(u.base_url) AND s.listed),
    'endpoints', (SELECT coalesce(jsonb_agg(jsonb_build_object('method', e.method, 'path', e.path,
        'upstreamPath', e.upstream_path, 'summary', e.summary, 'input', e.input, 'output', e.output,
        'query', e.query, 'body', e.body, 'success', e.success, 'passes', e.passes,
        'deadlineSeconds', e.deadline_seconds, 'maxBytes', e.max_bytes, 'streams', e.streams,
        'idempotent', e.idempotent, 'retries', e.retries) ORDER BY e.position), '[]')
      FROM upstream_endpoint e WHERE e.service = u.slug AND e.listed))
  FROM upstream u WHERE u.slug = p_slug
$$;

-- The number of a version replaces the revision, which rose with each statement.
DROP TRIGGER upstream_revise ON hub.upstream;
DROP TRIGGER revise_new ON hub.upstream_endpoint;
DROP TRIGGER revise_changed ON hub.upstream_endpoint;
DROP FUNCTION hub.upstream_revise(), hub.upstream_revise_endpoints();
ALTER TABLE hub.upstream DROP COLUMN revision, DROP COLUMN approved_at;

-- What was on sale was approved; what was pending waits, also if it was suspended meanwhile.
INSERT INTO hub.content_version (subject, version, content, state, decided_at)
  SELECT slug, 1, hub.upstream_content(slug), CASE WHEN waits THEN 'waiting' ELSE 'approved' END,
    CASE WHEN NOT waits THEN now() END
  FROM hub.upstream CROSS JOIN LATERAL (SELECT state = 'pending' OR activated_at IS NULL) w(waits)
  WHERE state IN ('pending', 'suspended') OR state <> 'retired' AND activated_at IS NOT NULL;

-- As in 0028_providers.sql. The number of the last version stays: a later service of the same slug counts on,
-- so that no other content has the number that an administrator has reviewed.
CREATE OR REPLACE FUNCTION hub.discard_upstream(p_slug text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  last integer := (SELECT max(version) FROM content_version WHERE subject = p_slug);
BEGIN
  PERFORM FROM upstream WHERE slug = p_slug AND state = 'retired' AND activated_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM content_version WHERE subject = p_slug;
  INSERT INTO content_version (subject, version, state, decided_at)
    SELECT p_slug, last, 'withdrawn', now() WHERE last IS NOT NULL;
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

-- ── Domains ─────────────────────────────────────────────────────────────────────────────────

-- Texts of domains that callers see today. Without an approved version they see texts made of the host.
INSERT INTO hub.content_version (subject, version, content, state, decided_at)
  SELECT id, 1, jsonb_build_object('name', name, 'summary', summary), 'approved', now()
  FROM hub.domain WHERE state <> 'deleted';

GRANT SELECT, INSERT, UPDATE (state, content, decided_at, reason) ON hub.content_version TO hub_app;

-- Names that look the same without case, accents and punctuation, to find imitations.
CREATE INDEX service_name_look ON hub.service (translate(hub.search_squashed(name), '01', 'ol'))
  WHERE state = 'active';
