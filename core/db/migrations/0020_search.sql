-- Why: search. An inverted index of hub.search_document, written by triggers in the transaction of the
-- document itself, so that what is listed can be found at once. Lists are read from the strongest posting
-- on and cut off: what a search costs does not grow with how common a word is.

-- What tells two states of a row apart, for processes that remember rows. By chance, not counted: a counter
-- is set back by a restore, and would give a number again that somebody still knows. 0 is of no row.
CREATE FUNCTION hub.search_version() RETURNS bigint
LANGUAGE sql VOLATILE RETURN 1 + floor(random() * 4503599627370496)::bigint;

-- A document as search sees it: all that ranking has to know of it lies in one row.
CREATE TABLE hub.search_entry (
  doc integer GENERATED ALWAYS AS IDENTITY,
  version bigint NOT NULL DEFAULT hub.search_version(),
  kind text NOT NULL,
  id text NOT NULL,
  names text[] NOT NULL,
  vector tsvector NOT NULL,
  places smallint NOT NULL,                -- words of the vector, counted with repetitions
  name_words smallint NOT NULL,            -- different words of the name
  -- What searches are narrowed by, as in the document
  category text NOT NULL,
  tags text[] NOT NULL,
  networks text[] NOT NULL,
  price bigint NOT NULL,
  quality smallint NOT NULL,               -- see hub.search_quality
  -- What it is ranked by besides, as in the document
  listed_at timestamptz NOT NULL,
  verified_at timestamptz,
  latency_ms integer,
  calls integer NOT NULL,
  delivered integer NOT NULL,
  text_hash bytea NOT NULL,                -- of hub.search_text: see hub.search_meaning
  PRIMARY KEY (doc) INCLUDE (kind, category, price),
  UNIQUE (kind, id),
  FOREIGN KEY (kind, id) REFERENCES hub.search_document ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX search_entry_names ON hub.search_entry USING gin (names);
CREATE INDEX search_entry_category ON hub.search_entry (category, price, doc) INCLUDE (kind);
CREATE INDEX search_entry_tags ON hub.search_entry USING gin (tags);
CREATE INDEX search_entry_networks ON hub.search_entry USING gin (networks);
CREATE INDEX search_entry_quality ON hub.search_entry (quality, doc);
CREATE INDEX search_entry_price ON hub.search_entry (price, doc) INCLUDE (kind);

-- No foreign key: an entry that goes takes its postings along, by their full key.
CREATE TABLE hub.search_posting (
  term text COLLATE "C" NOT NULL,
  impact smallint NOT NULL,
  doc integer NOT NULL,
  PRIMARY KEY (term, impact, doc)
);

-- The vocabulary, and in how many documents each word is; the empty word counts all documents. Who posts or
-- takes away a word holds its row until the end, so that a version stands for one state of its postings,
-- and the version of the empty word for the state of all.
CREATE TABLE hub.search_term (
  term text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL DEFAULT hub.search_version(),
  documents integer NOT NULL CHECK (documents >= 0)
) WITH (fillfactor = 80);
-- Numbers and parts of addresses are nobody's misspelling.
CREATE INDEX search_term_spelling ON hub.search_term USING gin (term gin_trgm_ops) WHERE term !~ '[0-9]';
INSERT INTO hub.search_term (term, documents) VALUES ('', 0);

-- What an engine of embeddings made of a text, by the text's hash: a text that comes back is known.
CREATE TABLE hub.search_meaning (
  model text NOT NULL,
  text_hash bytea NOT NULL,
  vector bytea NOT NULL CHECK (length(vector) BETWEEN 1 AND 8192), -- a byte for each dimension
  PRIMARY KEY (model, text_hash)
);

-- Words of the vocabulary that look like one that is in no document. A function of its own, lest the
-- planner takes what seldom runs for the most of the query.
CREATE FUNCTION hub.search_near(p_term text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = hub, public, pg_catalog AS $$
  SELECT json_agg(n) FROM (
    SELECT term, documents FROM search_term WHERE term % p_term AND term !~ '[0-9]' AND documents > 0
    ORDER BY similarity(term, p_term) DESC, term LIMIT 20) n
$$;

-- Words with the strongest p_reads of their postings.
CREATE FUNCTION hub.search_heads(p_terms text[], p_reads integer[])
RETURNS TABLE (term text, version text, documents integer, docs text, impacts text)
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT t.term, t.version::text, t.documents, h.docs, h.impacts
    FROM unnest(p_terms, p_reads) q (term, reads)
    JOIN search_term t ON t.term = q.term COLLATE "C"
    CROSS JOIN LATERAL (SELECT array_agg(p.doc)::text, array_agg(p.impact)::text
      FROM (SELECT doc, impact FROM search_posting WHERE search_posting.term = q.term COLLATE "C"
        ORDER BY search_posting.term DESC, impact DESC, doc DESC LIMIT q.reads) p) h (docs, impacts);
END $$;

-- What a search is narrowed by; what is null is not asked for.
CREATE TYPE hub.search_filter AS (kind text, category text, tag text, network text, max_price bigint);

CREATE FUNCTION hub.search_passes(p_entry hub.search_entry, p_filter hub.search_filter) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
  ((p_filter).kind IS NULL OR (p_entry).kind = (p_filter).kind)
  AND ((p_filter).category IS NULL OR (p_entry).category = (p_filter).category)
  AND ((p_filter).tag IS NULL OR (p_entry).tags @> ARRAY[(p_filter).tag])
  AND ((p_filter).network IS NULL OR (p_entry).networks @> ARRAY[(p_filter).network])
  AND ((p_filter).max_price IS NULL OR (p_entry).price <= (p_filter).max_price);

-- What passes a filter: without words those that work best; else the best of all that pass, or all that pass,
-- up to 6,001, if they are too many to look at. The plans are made for the values.
CREATE FUNCTION hub.search_passing(p_terms text[], p_depth integer, p_filter hub.search_filter)
RETURNS TABLE (best text, passing text)
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_few CONSTANT integer := 500;        -- so few can be looked at one by one
  v_many CONSTANT integer := 6000;      -- of more, enough are among the strongest
  v_docs integer[];
  v_query tsquery;
BEGIN
  IF p_terms IS NULL THEN
    best := ARRAY(SELECT e.doc FROM search_entry e WHERE search_passes(e, p_filter)
      ORDER BY e.quality DESC, e.doc DESC LIMIT p_depth);
    RETURN NEXT; RETURN;
  END IF;
  v_docs := ARRAY(SELECT e.doc FROM search_entry e WHERE search_passes(e, p_filter) LIMIT v_many + 1);
  IF cardinality(v_docs) > v_few THEN
    passing := v_docs;
  ELSE
    SELECT string_agg(quote_literal(term), ' | ')::tsquery INTO v_query FROM unnest(p_terms) term;
    best := ARRAY(SELECT e.doc FROM search_entry e WHERE e.doc = ANY (v_docs) AND e.vector @@ v_query
      ORDER BY ts_rank('{0.27, 0.33, 0.67, 1}', e.vector, v_query) DESC, e.doc LIMIT p_depth);
  END IF;
  RETURN NEXT;
END $$;

-- Tells a process what it does not know of a search, all of it as it is at one moment: which words have other
-- versions than p_term_versions, which documents are named exactly so, which of p_docs are there and pass
-- (the first p_depth), and what ranking has to know of those that have other versions than p_versions.
CREATE FUNCTION hub.search_checked(p_terms text[], p_term_versions bigint[], p_docs integer[],
  p_versions bigint[], p_depth integer, p_name text, p_filter hub.search_filter)
RETURNS TABLE (stale json, exact text, docs text, entries json)
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_namesakes CONSTANT integer := 50;  -- listings of one host share its name
  v_exact integer[];
  v_docs integer[];
  v_unknown integer[];
BEGIN
  SELECT json_agg(json_build_object('term', k.term, 'version', coalesce(t.version, 0)::text,
      'documents', coalesce(t.documents, 0))) INTO stale
    FROM unnest(p_terms, p_term_versions) k (term, version)
    LEFT JOIN search_term t ON t.term = k.term COLLATE "C"
    WHERE coalesce(t.version, 0) <> k.version;
  SELECT array_agg(s.doc), array_agg(s.doc) FILTER (WHERE s.version <> s.known)
    INTO v_docs, v_unknown
    FROM (SELECT e.doc, e.version, k.version AS known
      FROM unnest(p_docs, p_versions) WITH ORDINALITY k (doc, version, place)
      JOIN search_entry e ON e.doc = k.doc WHERE search_passes(e, p_filter)
      ORDER BY k.place LIMIT p_depth) s;
  v_exact := ARRAY(SELECT e.doc FROM search_entry e
    WHERE e.names @> ARRAY[p_name] AND search_passes(e, p_filter)
    ORDER BY e.quality DESC, e.doc LIMIT v_namesakes);
  v_unknown := v_unknown || ARRAY(SELECT unnest(v_exact) EXCEPT SELECT unnest(v_docs));
  IF cardinality(v_unknown) > 0 THEN
    SELECT json_agg(json_build_object('doc', e.doc, 'version', e.version::text, 'kind', e.kind, 'id', e.id,
        'price', e.price, 'quality', e.quality, 'listedAt', 1000 * extract(epoch FROM e.listed_at),
        'verifiedAt', 1000 * extract(epoch FROM e.verified_at), 'latencyMs', e.latency_ms,
        'calls', e.calls, 'delivered', e.delivered, 'words', e.places, 'nameWords', e.name_words,
        'vector', e.vector::text)) INTO entries
      FROM search_entry e WHERE e.doc = ANY (v_unknown);
  END IF;
  exact := v_exact;
  docs := v_docs;
  RETURN NEXT;
END $$;

-- Words as they are indexed, in how many documents each is, and for one that was asked for and is in
-- none, similar ones; and the empty word.
CREATE FUNCTION hub.search_words(p_words text[], p_asked boolean[])
RETURNS TABLE (word text, term text, version text, documents integer, near json)
LANGUAGE plpgsql STABLE SET search_path = hub, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT w.word, l.term, coalesce(t.version, 0)::text, coalesce(t.documents, 0),
      CASE WHEN w.asked AND coalesce(t.documents, 0) = 0 AND length(l.term) > 3
        THEN hub.search_near(l.term) END
    FROM unnest(p_words, p_asked) w (word, asked)
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector('english', w.word))) l (term)
    LEFT JOIN search_term t ON t.term = l.term COLLATE "C"
    UNION ALL SELECT '', s.term, s.version::text, s.documents, NULL FROM search_term s WHERE s.term = '';
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
  UPDATE search_term t SET documents = t.documents + p_sign * c.documents, version = search_version()
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
    INSERT INTO search_entry (kind, id, names, vector, places, name_words, category, tags, networks, price,
        quality, listed_at, verified_at, latency_ms, calls, delivered, text_hash)
      SELECT kind, id, hub.search_names(a::search_document), v.vector, hub.search_places(v.vector),
        length(ts_filter(v.vector, '{a}')), category, tags, networks, price,
        hub.search_quality(a::search_document), listed_at, verified_at, latency_ms, calls, delivered,
        sha256(convert_to(hub.search_text(a::search_document), 'UTF8'))
      FROM added a CROSS JOIN LATERAL hub.search_vector(a::search_document) v (vector)
      RETURNING doc)
  SELECT array_agg(doc) INTO v_docs FROM entered;
  PERFORM hub.search_post(v_docs, 1);
  RETURN NULL;
END $$;

CREATE FUNCTION hub.search_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_catalog AS $$
DECLARE v_docs integer[];
BEGIN
  UPDATE search_entry e SET (version, category, tags, networks, price, quality, listed_at, verified_at,
        latency_ms, calls, delivered) =
      (search_version(), n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document),
        n.listed_at, n.verified_at, n.latency_ms, n.calls, n.delivered)
    FROM changed n WHERE (e.kind, e.id) = (n.kind, n.id)
      AND (e.category, e.tags, e.networks, e.price, e.quality, e.listed_at, e.verified_at, e.latency_ms,
          e.calls, e.delivered) IS DISTINCT FROM
        (n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document), n.listed_at,
          n.verified_at, n.latency_ms, n.calls, n.delivered);
  SELECT array_agg(e.doc) INTO v_docs
    FROM changed n JOIN former o USING (kind, id) JOIN search_entry e USING (kind, id)
    WHERE (n.name, n.provider, n.category, n.tags, n.description, n.words)
      IS DISTINCT FROM (o.name, o.provider, o.category, o.tags, o.description, o.words);
  PERFORM hub.search_post(v_docs, -1);
  UPDATE search_entry e SET (version, names, vector, places, name_words, text_hash) =
      (search_version(), hub.search_names(n::search_document), v.vector, hub.search_places(v.vector),
       length(ts_filter(v.vector, '{a}')), sha256(convert_to(hub.search_text(n::search_document), 'UTF8')))
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

INSERT INTO hub.search_entry (kind, id, names, vector, places, name_words, category, tags, networks, price,
    quality, listed_at, verified_at, latency_ms, calls, delivered, text_hash)
  SELECT kind, id, hub.search_names(d), v.vector, hub.search_places(v.vector),
    length(ts_filter(v.vector, '{a}')), category, tags, networks, price, hub.search_quality(d), listed_at,
    verified_at, latency_ms, calls, delivered, sha256(convert_to(hub.search_text(d), 'UTF8'))
  FROM hub.search_document d CROSS JOIN LATERAL hub.search_vector(d) v (vector);
SELECT hub.search_post((SELECT array_agg(doc) FROM hub.search_entry), 1);

DROP INDEX hub.service_search, hub.service_name;
ALTER TABLE hub.service DROP COLUMN search;

GRANT SELECT ON hub.search_entry, hub.search_posting, hub.search_term TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.search_meaning TO hub_app;
REVOKE EXECUTE ON FUNCTION hub.search_post, hub.search_added, hub.search_changed, hub.search_removed
  FROM PUBLIC;
