-- upgrade: expand
-- Why: services of computed prices were listed and found by their maximum, such as a site by its dearest
-- page. A declared minimum is what the catalog shows and filters by.
ALTER TABLE hub.price ADD COLUMN minimum bigint,
  ADD CONSTRAINT price_minimum CHECK (
    minimum IS NULL OR (computed AND unit IS NULL AND minimum >= 0 AND minimum <= amount));

CREATE OR REPLACE FUNCTION hub.index_service(p_slug text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
  DELETE FROM search_document d WHERE d.kind = 'native' AND d.id = p_slug
    AND NOT EXISTS (SELECT FROM service s WHERE s.slug = p_slug AND s.state = 'active');
  INSERT INTO search_document AS d (kind, id, name, provider, category, tags, description, words,
      networks, price, state, listed_at, sellers)
    SELECT 'native', s.slug, s.name, s.provider, s.category, '{}', s.summary, e.words,
      '{eip155:8453}', e.price, 'active', s.listed_at,
      CASE s.provider WHEN 'agenthub' THEN '{}' ELSE ARRAY['provider ' || s.provider] END
    FROM service s CROSS JOIN LATERAL (
      SELECT string_agg(concat_ws(' ', method, path, summary), ' ' ORDER BY path, method) AS words,
        min((SELECT coalesce(minimum, amount) FROM price WHERE endpoint = endpoint.id
          ORDER BY version DESC LIMIT 1)) AS price
      FROM endpoint WHERE endpoint.service = s.slug AND endpoint.state = 'active') e
    WHERE s.slug = p_slug AND s.state = 'active' AND e.price IS NOT NULL
  ON CONFLICT (kind, id) DO UPDATE SET (name, provider, category, description, words, price, sellers) =
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price, excluded.sellers)
    WHERE (d.name, d.provider, d.category, d.description, d.words, d.price) IS DISTINCT FROM
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price)
$$;
