-- Why: search. An inverted index, written by triggers in the transaction of the document itself, so that
-- what is listed can be found at once. Lists are read from the strongest posting on and cut off: what a
-- search costs does not grow with how common a word is.

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
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = hub, pg_catalog AS $$
  SELECT setweight(to_tsvector('english', search_plain(concat_ws(' ', p_document.name,
      CASE p_document.kind WHEN 'native' THEN p_document.id END))), 'A')
    || setweight(to_tsvector('english', search_plain(concat_ws(' ', array_to_string(p_document.tags, ' '),
      p_document.category, p_document.provider))), 'B')
    || setweight(to_tsvector('english', search_plain(p_document.description)), 'C')
    || setweight(to_tsvector('english', search_plain(left(p_document.words, 4000))), 'D')
$$;

-- Names that are first when asked for exactly: name, slug, address and host.
CREATE FUNCTION hub.search_names(p_document hub.search_document) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = hub, pg_catalog AS $$
  SELECT array_agg(DISTINCT search_squashed(name)) FILTER (WHERE search_squashed(name) <> '') FROM
    unnest(ARRAY[p_document.name, p_document.id] || CASE p_document.kind WHEN 'external' THEN ARRAY[
      substring(p_document.words FROM '^\w+ (\S+)'), substring(p_document.words FROM '://([^/:\s]+)')]
      END) name
$$;

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

CREATE TABLE hub.search_entry (
  doc integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  id text NOT NULL,
  names text[] NOT NULL,
  vector tsvector NOT NULL,
  places smallint NOT NULL,                -- words of the vector, counted with repetitions
  -- What searches are narrowed by, as in the document
  category text NOT NULL,
  tags text[] NOT NULL,
  networks text[] NOT NULL,
  price bigint NOT NULL,
  quality smallint NOT NULL,               -- see hub.search_quality
  UNIQUE (kind, id),
  FOREIGN KEY (kind, id) REFERENCES hub.search_document ON DELETE CASCADE
) WITH (fillfactor = 90);
CREATE INDEX search_entry_names ON hub.search_entry USING gin (names);
CREATE INDEX search_entry_category ON hub.search_entry (category, price, doc);
CREATE INDEX search_entry_tags ON hub.search_entry USING gin (tags);
CREATE INDEX search_entry_networks ON hub.search_entry USING gin (networks);
CREATE INDEX search_entry_quality ON hub.search_entry (quality, doc);
CREATE INDEX search_entry_price ON hub.search_entry (price, doc);

-- No foreign key: an entry that goes takes its postings along, by their full key.
CREATE TABLE hub.search_posting (
  term text COLLATE "C" NOT NULL,
  impact smallint NOT NULL,
  doc integer NOT NULL,
  PRIMARY KEY (term, impact, doc)
);

-- The vocabulary, and in how many documents each word is; the empty word counts all documents.
CREATE TABLE hub.search_term (
  term text COLLATE "C" PRIMARY KEY,
  documents integer NOT NULL CHECK (documents >= 0)
) WITH (fillfactor = 80);
CREATE INDEX search_term_spelling ON hub.search_term USING gin (term gin_trgm_ops);
INSERT INTO hub.search_term VALUES ('', 0);

-- Words of the vocabulary that look like one that is in no document. A function of its own, lest the
-- planner takes what seldom runs for the most of the query.
CREATE FUNCTION hub.search_near(p_term text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = hub, public, pg_catalog AS $$
  SELECT json_agg(n) FROM (
    SELECT term, documents FROM search_term WHERE term % p_term AND documents > 0
    ORDER BY similarity(term, p_term) DESC, term LIMIT 20) n
$$;

-- The documents whose strongest postings add up to most, p_read of each term: the first, rough measure of
-- every search without narrow filters. A function keeps its plan: making one took longer than running it.
CREATE FUNCTION hub.search_strongest(p_terms text[], p_weights real[], p_read integer, p_depth integer)
RETURNS SETOF integer
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT p.doc FROM unnest(p_terms, p_weights) q (term, weight)
    CROSS JOIN LATERAL (SELECT doc, impact FROM search_posting WHERE term = q.term COLLATE "C"
      ORDER BY term DESC, impact DESC, doc DESC LIMIT p_read) p
    GROUP BY p.doc ORDER BY sum(p.impact * q.weight) DESC, p.doc LIMIT p_depth;
END $$;

-- What ranking has to know of documents.
CREATE FUNCTION hub.search_details(p_docs integer[]) RETURNS TABLE (doc integer, kind text, id text,
  price double precision, quality smallint, "listedAt" double precision, "verifiedAt" double precision,
  "latencyMs" integer, calls integer, delivered integer, words smallint, vector text)
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT e.doc, e.kind, e.id, e.price::double precision, e.quality,
      (1000 * extract(epoch FROM d.listed_at))::double precision,
      (1000 * extract(epoch FROM d.verified_at))::double precision,
      d.latency_ms, d.calls, d.delivered, e.places, e.vector::text
    FROM search_entry e JOIN search_document d ON d.kind = e.kind AND d.id = e.id
    WHERE e.doc = ANY (p_docs);
END $$;

-- Words as they are indexed, in how many documents each is, and for one that was asked for and is in
-- none, similar ones.
CREATE FUNCTION hub.search_words(p_words text[], p_asked boolean[])
RETURNS TABLE (word text, term text, documents integer, total integer, near json)
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT w.word, l.term, coalesce(t.documents, 0), n.documents,
      CASE WHEN w.asked AND coalesce(t.documents, 0) = 0 AND length(l.term) > 3
        THEN hub.search_near(l.term) END
    FROM unnest(p_words, p_asked) w (word, asked)
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector('english', w.word))) l (term)
    LEFT JOIN search_term t ON t.term = l.term COLLATE "C"
    CROSS JOIN (SELECT s.documents FROM search_term s WHERE s.term = '') n;
END $$;

-- ── Written with the document ───────────────────────────────────────────────────────────────

-- Posts the words of entries (sign 1), or takes them away (sign -1). Rows of the vocabulary are locked in
-- the order of their words, so that two writers never wait for each other in a circle.
CREATE FUNCTION hub.search_post(p_docs integer[], p_sign integer) RETURNS void
LANGUAGE plpgsql SET search_path = hub, pg_catalog AS $$
BEGIN
  IF p_docs IS NULL THEN RETURN; END IF;
  IF p_sign > 0 THEN
    INSERT INTO search_posting SELECT i.term, i.impact, e.doc
      FROM search_entry e CROSS JOIN LATERAL hub.search_impacts(e.vector) i WHERE e.doc = ANY (p_docs);
  ELSE
    DELETE FROM search_posting p USING search_entry e CROSS JOIN LATERAL hub.search_impacts(e.vector) i
      WHERE e.doc = ANY (p_docs) AND (p.term, p.impact, p.doc) = (i.term COLLATE "C", i.impact, e.doc);
  END IF;
  INSERT INTO search_term AS t (term, documents)
    SELECT term, 0 FROM (SELECT unnest(tsvector_to_array(vector)) COLLATE "C" AS term
      FROM search_entry WHERE doc = ANY (p_docs)) word GROUP BY term ORDER BY term
    ON CONFLICT (term) DO NOTHING;
  UPDATE search_term t SET documents = t.documents + p_sign * c.documents
    FROM (SELECT l.term, n.documents FROM (SELECT term, count(*)::integer AS documents FROM (
          SELECT unnest(tsvector_to_array(vector) || ''::text) COLLATE "C" AS term
          FROM search_entry WHERE doc = ANY (p_docs)) word GROUP BY term) n
        JOIN search_term l ON l.term = n.term ORDER BY l.term FOR UPDATE OF l) c
    WHERE t.term = c.term;
END $$;

CREATE FUNCTION hub.search_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_catalog AS $$
DECLARE v_docs integer[];
BEGIN
  WITH entered AS (
    INSERT INTO search_entry
        (kind, id, names, vector, places, category, tags, networks, price, quality)
      SELECT kind, id, hub.search_names(a::search_document), v.vector, v.places, category, tags, networks,
        price, hub.search_quality(a::search_document)
      FROM added a CROSS JOIN LATERAL (SELECT vector,
          (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(vector)) AS places
        FROM hub.search_vector(a::search_document) vector) v
      RETURNING doc)
  SELECT array_agg(doc) INTO v_docs FROM entered;
  PERFORM hub.search_post(v_docs, 1);
  RETURN NULL;
END $$;

CREATE FUNCTION hub.search_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_catalog AS $$
DECLARE v_docs integer[];
BEGIN
  UPDATE search_entry e SET (category, tags, networks, price, quality) =
      (n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document))
    FROM changed n WHERE (e.kind, e.id) = (n.kind, n.id)
      AND (e.category, e.tags, e.networks, e.price, e.quality) IS DISTINCT FROM
        (n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document));
  SELECT array_agg(e.doc) INTO v_docs
    FROM changed n JOIN former o USING (kind, id) JOIN search_entry e USING (kind, id)
    WHERE (n.name, n.provider, n.category, n.tags, n.description, n.words)
      IS DISTINCT FROM (o.name, o.provider, o.category, o.tags, o.description, o.words);
  PERFORM hub.search_post(v_docs, -1);
  UPDATE search_entry e SET (names, vector, places) = (hub.search_names(n::search_document), v.vector,
      (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(v.vector)))
    FROM changed n CROSS JOIN LATERAL hub.search_vector(n::search_document) v (vector)
    WHERE (e.kind, e.id) = (n.kind, n.id) AND e.doc = ANY (v_docs);
  PERFORM hub.search_post(v_docs, 1);
  RETURN NULL;
END $$;

CREATE FUNCTION hub.search_removed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_catalog AS $$
BEGIN
  PERFORM hub.search_post(ARRAY[OLD.doc], -1);
  RETURN OLD;
END $$;

CREATE TRIGGER search_added AFTER INSERT ON hub.search_document
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hub.search_added();
CREATE TRIGGER search_changed AFTER UPDATE ON hub.search_document
  REFERENCING OLD TABLE AS former NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION hub.search_changed();
-- For each row: its postings are found by its vector, which goes with it.
CREATE TRIGGER search_removed BEFORE DELETE ON hub.search_entry
  FOR EACH ROW EXECUTE FUNCTION hub.search_removed();

INSERT INTO hub.search_entry
    (kind, id, names, vector, places, category, tags, networks, price, quality)
  SELECT kind, id, hub.search_names(d), hub.search_vector(d),
    (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(hub.search_vector(d))),
    category, tags, networks, price, hub.search_quality(d) FROM hub.search_document d;
SELECT hub.search_post((SELECT array_agg(doc) FROM hub.search_entry), 1);

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

DROP INDEX hub.service_search, hub.service_name;
ALTER TABLE hub.service DROP COLUMN search;

GRANT SELECT ON hub.search_entry, hub.search_posting, hub.search_term TO hub_app;
REVOKE EXECUTE ON FUNCTION hub.search_post, hub.search_added, hub.search_changed, hub.search_removed,
  hub.refresh_service_signals FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.refresh_service_signals TO hub_app;
