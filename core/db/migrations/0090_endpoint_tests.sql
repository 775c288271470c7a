-- upgrade: expand
-- An imported API goes on sale when a test call of each endpoint has passed, or when its provider waives
-- these tests, which buyers see until a call was delivered.
CREATE TABLE hub.endpoint_test (
  service text NOT NULL REFERENCES hub.upstream ON DELETE CASCADE,
  digest bytea NOT NULL CHECK (length(digest) = 32), -- of what was tested: endpoint_digest
  method text NOT NULL,
  path text NOT NULL,
  passed_at timestamptz NOT NULL DEFAULT now(),
  latency_ms integer NOT NULL CHECK (latency_ms >= 0),
  PRIMARY KEY (service, digest)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.endpoint_test TO hub_app;

-- APIs from before were sold without tests.
ALTER TABLE hub.upstream ADD tests_waived_at timestamptz;
UPDATE hub.upstream SET tests_waived_at = now()
  WHERE activated_at IS NOT NULL OR state NOT IN ('draft', 'retired');

-- Content that a test proves: the address and the handling of requests and responses, without texts.
CREATE FUNCTION hub.endpoint_digest(p_base_url text, p_endpoint jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = hub, pg_temp AS $$
  SELECT sha256(convert_to(p_base_url || (p_endpoint - 'summary')::text, 'UTF8'))
$$;

-- Endpoints of a content (upstream_content) that no test call and no call of a customer has proven.
CREATE FUNCTION hub.untested_endpoints(p_slug text, p_content jsonb)
RETURNS TABLE (n bigint, method text, path text)
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT x.n, x.e ->> 'method', x.e ->> 'path'
  FROM jsonb_array_elements(p_content -> 'endpoints') WITH ORDINALITY x(e, n)
  WHERE NOT EXISTS (SELECT FROM endpoint_test t WHERE t.service = p_slug
      AND t.digest = endpoint_digest(p_content ->> 'baseUrl', x.e))
    AND NOT EXISTS (SELECT FROM endpoint s JOIN outcome_day d
        ON d.service = s.service AND d.endpoint = s.id AND d.outcome = 'delivered'
      WHERE s.service = p_slug AND s.method = x.e ->> 'method' AND s.path = x.e ->> 'path')
  ORDER BY x.n
$$;
GRANT EXECUTE ON FUNCTION hub.endpoint_digest(text, jsonb) TO hub_app;
GRANT EXECUTE ON FUNCTION hub.untested_endpoints(text, jsonb) TO hub_app;
