-- A provider may charge for error statuses that its API answers on purpose, such as 404 for a number that is
-- not in use. They are among those that are passed to callers.
ALTER TABLE hub.upstream_endpoint
  ADD charges smallint[] NOT NULL DEFAULT '{}' CHECK (charges <@ passes);

-- As in 0080_request_encodings.sql, with the charged statuses.
CREATE OR REPLACE FUNCTION hub.upstream_content(p_slug text) RETURNS jsonb
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
        'idempotent', e.idempotent, 'retries', e.retries)
        -- Only where they are set, so that versions from before remain equal.
        || CASE WHEN e.encoding IS NULL THEN '{}'::jsonb
          ELSE jsonb_build_object('encoding', e.encoding) END
        || CASE WHEN e.charges = '{}' THEN '{}'::jsonb
          ELSE jsonb_build_object('charges', e.charges) END ORDER BY e.position), '[]')
      FROM upstream_endpoint e WHERE e.service = u.slug AND e.listed))
  FROM upstream u WHERE u.slug = p_slug
$$;
