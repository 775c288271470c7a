-- Why: what others sell by x402. An index, a registry or an owner claims it; only our own probe makes a
-- listing active. What is searched lies in one table, for services of the hub and for listings.

CREATE TABLE hub.listing (
  id text PRIMARY KEY CHECK (id ~ '^ext_[0-9A-Za-z]{22}$'), -- made of method and URL: see externals.ts
  url text NOT NULL CHECK (length(url) <= 2048),  -- canonical
  method text NOT NULL CHECK (method IN ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE')),
  origin text NOT NULL,
  host text NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  description text NOT NULL CHECK (length(description) <= 1000),
  category text NOT NULL CHECK (category ~ '^[a-z][a-z0-9-]{0,39}$'),
  tags text[] NOT NULL CHECK (cardinality(tags) <= 12),
  provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 100),
  -- The offer that the hub would take, else the cheapest; all of them are in offers.
  scheme text NOT NULL,
  network text NOT NULL,                          -- CAIP-2
  asset text NOT NULL,
  pay_to text NOT NULL,
  price bigint NOT NULL CHECK (price > 0),        -- microdollars
  payable boolean NOT NULL,                       -- whether POST /external pays it
  offers jsonb NOT NULL,
  input_schema jsonb,
  output_schema jsonb,
  state text NOT NULL CHECK (state IN ('active', 'degraded', 'down', 'unlisted')),
  reason text,                                    -- a word of core/catalog/reasons.ts
  rank smallint NOT NULL CHECK (rank BETWEEN 1 AND 6), -- of who wrote the texts: see externals.ts
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  listed_at timestamptz,                          -- when it was first active
  last_verified_at timestamptz,                   -- when a probe last saw a valid offer
  removed_at timestamptz,                         -- a tombstone
  -- Probes
  probed_at timestamptz,
  next_probe_at timestamptz DEFAULT now(),        -- null: never again
  failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0), -- in a row
  uptime real CHECK (uptime BETWEEN 0 AND 100),   -- per cent, of 30 days, as is what follows
  latency_p50_ms integer,
  latency_p95_ms integer,
  -- What became of what the hub paid there in 30 days
  calls integer NOT NULL DEFAULT 0,
  delivered integer NOT NULL DEFAULT 0 CHECK (delivered <= calls),
  UNIQUE (url, method),
  CHECK ((state = 'active') = (reason IS NULL)),
  CHECK (state = 'unlisted' OR removed_at IS NULL),
  CHECK (state <> 'active' OR last_verified_at IS NOT NULL)
) WITH (fillfactor = 80);
CREATE INDEX listing_host ON hub.listing (host, url, method);
CREATE INDEX listing_due ON hub.listing (next_probe_at) WHERE next_probe_at IS NOT NULL;
CREATE INDEX listing_shown ON hub.listing (id) WHERE state IN ('active', 'degraded');

-- ── Who owns it ─────────────────────────────────────────────────────────────────────────────

-- Who has proven to hold a host, and whether it wants to be listed.
CREATE TABLE hub.listing_owner (
  host text PRIMARY KEY,
  principal text NOT NULL REFERENCES hub.principal,
  method text NOT NULL CHECK (method IN ('file', 'meta', 'dns')),
  proven_at timestamptz NOT NULL DEFAULT now(),
  opted_out_at timestamptz,
  opt_out_reason text
);

-- ── What changed ────────────────────────────────────────────────────────────────────────────

CREATE TABLE hub.listing_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  listing text NOT NULL REFERENCES hub.listing,
  field text NOT NULL CHECK (field IN ('price', 'pay_to', 'network', 'schema', 'state')),
  before text,                             -- null: it was new
  after text NOT NULL,
  verified boolean NOT NULL,               -- both were seen by probes, not only claimed
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX listing_change_listing ON hub.listing_change (listing, field, id DESC);

CREATE TABLE hub.listing_probe (
  listing text NOT NULL REFERENCES hub.listing,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  outcome text NOT NULL,                   -- up, or a word of core/catalog/reasons.ts
  status smallint,
  latency_ms integer,
  price bigint,
  pay_to text,
  PRIMARY KEY (listing, at)
);
CREATE INDEX listing_probe_age ON hub.listing_probe (at);

-- Probes of a UTC day, rolled up as they come.
CREATE TABLE hub.listing_day (
  listing text NOT NULL REFERENCES hub.listing,
  day date NOT NULL,
  probes integer NOT NULL,
  up integer NOT NULL,
  latencies integer[] NOT NULL,            -- of those that were up, in ms
  PRIMARY KEY (listing, day),
  CHECK (up <= probes)
) WITH (fillfactor = 80);

-- ── What is searched ────────────────────────────────────────────────────────────────────────

-- One row for each service and each listing that can be found, written with it.
CREATE TABLE hub.search_document (
  kind text NOT NULL CHECK (kind IN ('native', 'external')),
  id text NOT NULL,                        -- slug, or id of the listing
  name text NOT NULL,
  provider text NOT NULL,
  category text NOT NULL,
  tags text[] NOT NULL,
  description text NOT NULL,
  words text NOT NULL,                     -- of endpoints: methods, paths, summaries
  networks text[] NOT NULL,                -- CAIP-2
  price bigint NOT NULL,                   -- microdollars, of the cheapest endpoint
  state text NOT NULL CHECK (state IN ('active', 'degraded')),
  listed_at timestamptz NOT NULL,
  verified_at timestamptz,                 -- null: a service of the hub
  uptime real,
  latency_ms integer,                      -- median
  calls integer NOT NULL DEFAULT 0,
  delivered integer NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, id)
) WITH (fillfactor = 80);

CREATE FUNCTION hub.index_service(p_slug text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
  DELETE FROM search_document d WHERE d.kind = 'native' AND d.id = p_slug
    AND NOT EXISTS (SELECT FROM service s WHERE s.slug = p_slug AND s.state = 'active');
  INSERT INTO search_document AS d (kind, id, name, provider, category, tags, description, words,
      networks, price, state, listed_at)
    SELECT 'native', s.slug, s.name, s.provider, s.category, '{}', s.summary, e.words,
      '{eip155:8453}', e.price, 'active', s.listed_at
    FROM service s CROSS JOIN LATERAL (
      SELECT string_agg(concat_ws(' ', method, path, summary), ' ' ORDER BY path, method) AS words,
        min((SELECT amount FROM price WHERE endpoint = endpoint.id ORDER BY version DESC LIMIT 1)) AS price
      FROM endpoint WHERE endpoint.service = s.slug AND endpoint.state = 'active') e
    WHERE s.slug = p_slug AND s.state = 'active' AND e.price IS NOT NULL
  ON CONFLICT (kind, id) DO UPDATE SET (name, provider, category, description, words, price) =
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price)
    WHERE (d.name, d.provider, d.category, d.description, d.words, d.price) IS DISTINCT FROM
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price)
$$;

-- What of a listing is found.
CREATE FUNCTION hub.document_of(l hub.listing) RETURNS hub.search_document
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT ROW('external', l.id, l.name, l.provider, l.category, l.tags, l.description,
    l.method || ' ' || l.url, ARRAY(SELECT DISTINCT o ->> 'network' FROM jsonb_array_elements(l.offers) o),
    l.price, l.state, coalesce(l.listed_at, l.first_seen_at), l.last_verified_at, l.uptime,
    l.latency_p50_ms, l.calls, l.delivered)::search_document
$$;

CREATE FUNCTION hub.listing_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  INSERT INTO listing_change (listing, field, after, verified)
    SELECT id, 'price', price, last_verified_at IS NOT NULL FROM added;
  INSERT INTO search_document SELECT (document_of(a::listing)).*
    FROM added a WHERE a.state IN ('active', 'degraded');
  RETURN NULL;
END $$;

CREATE FUNCTION hub.listing_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  INSERT INTO listing_change (listing, field, before, after, verified)
    SELECT new.id, field, before, after, old.last_verified_at IS NOT NULL
    FROM (VALUES
      ('price', old.price::text, new.price::text), ('pay_to', old.pay_to, new.pay_to),
      ('network', old.network, new.network),
      ('schema', nullif(md5(concat(old.input_schema, old.output_schema)), md5('')),
        md5(concat(new.input_schema, new.output_schema))),
      ('state', concat_ws(': ', old.state, old.reason), concat_ws(': ', new.state, new.reason))
    ) c (field, before, after) WHERE before IS DISTINCT FROM after;
  IF new.state NOT IN ('active', 'degraded') THEN
    DELETE FROM search_document WHERE kind = 'external' AND id = new.id;
    RETURN NULL;
  END IF;
  INSERT INTO search_document AS d SELECT w.* FROM document_of(new) w
    ON CONFLICT (kind, id) DO UPDATE SET
      (name, provider, category, tags, description, words, networks, price, state, listed_at,
       verified_at, uptime, latency_ms, calls, delivered) =
      (excluded.name, excluded.provider, excluded.category, excluded.tags, excluded.description,
       excluded.words, excluded.networks, excluded.price, excluded.state, excluded.listed_at,
       excluded.verified_at, excluded.uptime, excluded.latency_ms, excluded.calls, excluded.delivered);
  RETURN NULL;
END $$;

CREATE TRIGGER listing_added AFTER INSERT ON hub.listing
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hub.listing_added();
CREATE TRIGGER listing_changed AFTER UPDATE ON hub.listing FOR EACH ROW
  WHEN ((old.name, old.description, old.category, old.tags, old.provider, old.network, old.pay_to, old.price,
      old.offers, old.input_schema, old.output_schema, old.state, old.reason, old.last_verified_at,
      old.uptime, old.latency_p50_ms, old.calls, old.delivered) IS DISTINCT FROM
    (new.name, new.description, new.category, new.tags, new.provider, new.network, new.pay_to, new.price,
      new.offers, new.input_schema, new.output_schema, new.state, new.reason, new.last_verified_at,
      new.uptime, new.latency_p50_ms, new.calls, new.delivered))
  EXECUTE FUNCTION hub.listing_changed();

-- ── What search reads in a document ─────────────────────────────────────────────────────────

-- Text as it is indexed: without accents, words apart, parts of CamelCase apart too.
CREATE FUNCTION hub.search_plain(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  regexp_replace(regexp_replace(regexp_replace(normalize(p_text, NFKD), '[\u0300-\u036f]', '', 'g'),
    '([a-z])([A-Z])', '\1 \2', 'g'), '[^[:alnum:]]+' COLLATE "pg_c_utf8", ' ', 'g');

-- A name as it is compared: 'Filler 12', 'filler-12' and 'filler12' are one.
CREATE FUNCTION hub.search_squashed(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  regexp_replace(lower(regexp_replace(normalize(p_text, NFKD), '[\u0300-\u036f]', '', 'g')
    COLLATE "pg_c_utf8"), '[^[:alnum:]]+' COLLATE "pg_c_utf8", '', 'g');

-- Weights: A name, B tags, category and provider, C description, D endpoints.
CREATE FUNCTION hub.search_vector(p_document hub.search_document) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  setweight(to_tsvector('english', hub.search_plain(concat_ws(' ', p_document.name,
      CASE p_document.kind WHEN 'native' THEN p_document.id END))), 'A')
    || setweight(to_tsvector('english', hub.search_plain(concat_ws(' ',
      array_to_string(p_document.tags, ' '), p_document.category, p_document.provider))), 'B')
    || setweight(to_tsvector('english', hub.search_plain(p_document.description)), 'C')
    || setweight(to_tsvector('english', hub.search_plain(left(p_document.words, 4000))), 'D');

-- What its meaning is taken from, where an engine of embeddings is configured.
CREATE FUNCTION hub.search_text(p_document hub.search_document) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  left(concat_ws(E'\n', p_document.name, p_document.description, p_document.category || ': '
    || array_to_string(p_document.tags, ', ')), 2000);

-- How many words there are, each as often as it stands there.
CREATE FUNCTION hub.search_places(p_vector tsvector) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  (SELECT coalesce(sum(cardinality(positions)), 0)::smallint FROM unnest(p_vector));

-- Names that are first when asked for exactly: name, slug, address and host.
CREATE FUNCTION hub.search_names(p_document hub.search_document) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
  SELECT array_agg(DISTINCT squashed) FILTER (WHERE squashed <> '')
  FROM unnest(ARRAY[p_document.name, p_document.id] || CASE p_document.kind WHEN 'external' THEN ARRAY[
      substring(p_document.words FROM '^\w+ (\S+)'), substring(p_document.words FROM '://([^/:\s]+)')]
      END) name
    CROSS JOIN LATERAL hub.search_squashed(name) squashed);

-- The words of a vector, with what each is worth in it, in thousandths: more in a name and in a short text.
CREATE FUNCTION hub.search_impacts(p_vector tsvector) RETURNS TABLE (term text, impact smallint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT lexeme, (1000 * weight / (weight + 1.2 * (0.4 + 0.6 * sum(places) OVER () / 40)))::smallint
  FROM (SELECT lexeme, cardinality(positions) AS places, cardinality(positions)
      + 2 * cardinality(array_positions(weights, 'A')) + cardinality(array_positions(weights, 'B')) AS weight
    FROM unnest(p_vector)) word
$$;

-- How well something works, from 0 to 20: our own calls first (as if ten had gone before, nine of them
-- well), then probes and speed. In few steps, so that it seldom changes.
CREATE FUNCTION hub.search_quality(p_document hub.search_document) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  (20 * (p_document.delivered + 9.0) / (p_document.calls + 10.0)
    * coalesce(p_document.uptime, 95) / 100 / (1 + coalesce(p_document.latency_ms, 800) / 5000.0)
    * CASE p_document.state WHEN 'degraded' THEN 0.7 ELSE 1 END)::smallint;

-- ── What our own traffic says ───────────────────────────────────────────────────────────────

-- Success and latency of services of the hub, from the calls of 30 days. A refusal of the caller's own
-- input is no failure of the service.
CREATE FUNCTION hub.refresh_service_signals() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE v_changed integer;
BEGIN
  UPDATE search_document d SET (calls, delivered, latency_ms, uptime) =
      (s.calls, s.delivered, s.latency, s.uptime)
    FROM (SELECT c.service AS id, count(*)::integer AS calls,
        count(*) FILTER (WHERE c.status < 500)::integer AS delivered,
        (percentile_cont(0.5) WITHIN GROUP (ORDER BY c.latency_ms))::integer AS latency,
        (100.0 * count(*) FILTER (WHERE c.status < 500) / count(*))::real AS uptime
      FROM call c WHERE c.at > now() - interval '30 days' GROUP BY c.service) s
    WHERE d.kind = 'native' AND d.id = s.id AND (d.calls, d.delivered, d.latency_ms, d.uptime)
      IS DISTINCT FROM (s.calls, s.delivered, s.latency, s.uptime);
  GET DIAGNOSTICS v_changed = ROW_COUNT;
  RETURN v_changed;
END $$;

GRANT SELECT, INSERT, UPDATE ON hub.listing, hub.listing_owner, hub.listing_day TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.listing_probe TO hub_app;
GRANT SELECT ON hub.listing_change, hub.search_document TO hub_app;
REVOKE EXECUTE ON FUNCTION hub.index_service, hub.refresh_service_signals FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.index_service, hub.refresh_service_signals TO hub_app;
