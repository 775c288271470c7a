-- Why: figures of sellers counted calls, so that one caller with a few microdollars could ruin or make a
-- reputation. They count payers, by the age of their accounts, and leave out errors of callers and the
-- seller's own payments. Search knows who is paid, so that no seller fills the first hits.

-- Returns true if an outcome speaks against the seller: no 4xx does, except that it refuses a payment, a rate
-- or to wait for the request; nor does what ended at the hub or at the caller.
CREATE FUNCTION hub.is_seller_fault(p_status integer, p_reason text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_reason IS NOT NULL AND p_reason NOT IN ('caller_left', 'timeout')
  AND (coalesce(p_status, 0) NOT BETWEEN 400 AND 499 OR p_status IN (402, 408, 429));

ALTER TABLE hub.listing
  ADD payers integer, -- payers whose calls count in 30 days; null: not computed yet
  ADD trust real, -- payers weighted by the age of their accounts
  ADD success real, -- weighted mean of each payer's share of delivered calls, 0 to 1
  ADD rejected integer, -- calls that the seller rejected as wrong
  ADD paid_ms integer; -- median over payers of their median latency, of paid deliveries

-- The request lacked a field that the seller requires: that it failed is the caller's error.
ALTER TABLE hub.payment_intent ADD incomplete boolean;
CREATE INDEX payment_claim_funding ON hub.payment_claim (payee, payer) WHERE purpose = 'credits';

-- Principals and wallets that are one person with the owner of an account, or paid for its credits.
CREATE FUNCTION hub.identities_of(p_principal text, p_account bigint) RETURNS text[]
  LANGUAGE sql STABLE SET search_path = hub, pg_temp
AS $$
  SELECT array_agg(id ORDER BY id) FROM (
    SELECT unnest(principals_of_person(p_principal)) AS id
    UNION SELECT wallet_address FROM principal
      WHERE id = ANY (principals_of_person(p_principal)) AND wallet_address IS NOT NULL
    UNION SELECT c.payer FROM ledger.account a JOIN payment_claim c ON c.payee = a.code
      WHERE a.id = p_account AND c.purpose = 'credits') known
$$;

CREATE TYPE hub.seller_figures AS (calls integer, delivered integer, payers integer, trust real, success real,
  rejected integer, paid_ms integer);

-- Paid calls of 30 days: the last 2,000 delivered ones, failures and rejections each, so that none pushes out
-- others. Accounts count fully after two weeks. Accounts of one
-- person, or with credits from one wallet, are one payer; those of the seller are none.
CREATE FUNCTION hub.figures_of(p_listing hub.listing) RETURNS hub.seller_figures
  LANGUAGE sql STABLE SET search_path = hub, pg_temp
AS $$
  WITH ended AS (
    SELECT i.call, i.principal, i.owner, i.state <> 'unused' AND i.reason IS NULL AS delivered,
      is_seller_fault(i.status, i.reason) AND i.incomplete IS NOT TRUE AS fault
    FROM payment_intent i
    WHERE i.seller = split_part(p_listing.url, '?', 1) AND i.state IN ('paid', 'confirmed', 'unused')
      AND i.created_at > now() - interval '30 days'),
  paid AS (
    SELECT i.*, c.latency_ms FROM (
      (SELECT * FROM ended WHERE delivered ORDER BY call DESC LIMIT 2000)
      UNION ALL (SELECT * FROM ended WHERE fault ORDER BY call DESC LIMIT 2000)
      UNION ALL (SELECT * FROM ended WHERE NOT delivered AND NOT fault ORDER BY call DESC LIMIT 2000)) i
    LEFT JOIN call c ON c.id = i.call),
  seller AS (
    SELECT array_agg(id) AS ids FROM (
      SELECT lower(l.pay_to) AS id FROM listing l WHERE l.host = p_listing.host
      UNION SELECT lower(h.before) FROM listing_change h
        WHERE h.listing = p_listing.id AND h.field = 'pay_to' AND h.before IS NOT NULL
      UNION SELECT unnest(identities_of(o.principal, NULL)) FROM listing_owner o
        WHERE o.host = p_listing.host) s),
  account AS (
    SELECT a.principal, a.owner, identities_of(a.principal, a.owner) AS ids,
      least(1, 0.1 + extract(epoch FROM now() - p.created_at) / 86400 / 14) AS weight
    FROM (SELECT DISTINCT principal, owner FROM paid) a JOIN principal p ON p.id = a.principal),
  payer AS (
    SELECT (SELECT min(id) FROM account o, unnest(o.ids) id WHERE o.ids && a.ids) AS who,
      max(a.weight) AS weight,
      count(*) AS calls, count(*) FILTER (WHERE p.delivered) AS delivered,
      percentile_disc(0.5) WITHIN GROUP (ORDER BY p.latency_ms) FILTER (WHERE p.delivered) AS ms
    FROM paid p JOIN account a USING (principal, owner) CROSS JOIN seller s
    WHERE (p.delivered OR p.fault) AND NOT a.ids && s.ids GROUP BY 1)
  SELECT ROW(coalesce(sum(calls), 0), coalesce(sum(delivered), 0), count(*), coalesce(sum(weight), 0),
    sum(weight * delivered / calls) / nullif(sum(weight), 0),
    (SELECT count(*) FROM paid WHERE NOT delivered AND NOT fault),
    percentile_disc(0.5) WITHIN GROUP (ORDER BY ms))::seller_figures FROM payer
$$;

-- The lowest price of a listing in seven days: a raised price is the listed one only after that time.
CREATE FUNCTION hub.stable_price(p_listing hub.listing) RETURNS bigint
  LANGUAGE sql STABLE SET search_path = hub, pg_temp
AS $$
  SELECT least(p_listing.price, (SELECT min(c.before::bigint) FROM listing_change c
    WHERE c.listing = p_listing.id AND c.field = 'price' AND c.verified AND c.at > now() - interval '7 days'))
$$;

-- A provider's name is shown if the owner of the host has proven it and the seller itself sent the name.
CREATE FUNCTION hub.shown_provider(p_listing hub.listing) RETURNS text
  LANGUAGE sql STABLE SET search_path = hub, pg_temp
AS $$
  SELECT CASE WHEN p_listing.rank >= 5 AND EXISTS (SELECT FROM listing_owner o
      WHERE o.host = p_listing.host AND o.opted_out_at IS NULL)
    THEN p_listing.provider ELSE p_listing.host END
$$;
GRANT EXECUTE ON FUNCTION hub.is_seller_fault(integer, text), hub.identities_of(text, bigint),
  hub.figures_of(hub.listing), hub.stable_price(hub.listing), hub.shown_provider(hub.listing) TO hub_app;

-- Search: payee and host of a listing, or the provider of a service; empty for first-party services.
ALTER TABLE hub.search_document ADD sellers text[];
ALTER TABLE hub.search_entry ADD sellers text[];

CREATE OR REPLACE FUNCTION hub.document_of(l hub.listing) RETURNS hub.search_document
  LANGUAGE sql STABLE SET search_path = hub, pg_temp
AS $$
  SELECT ROW('external', l.id, l.name, '', l.category, l.tags, l.description,
    l.method || ' ' || l.url, ARRAY(SELECT DISTINCT o ->> 'network' FROM jsonb_array_elements(l.offers) o),
    l.price, l.state, coalesce(l.listed_at, l.first_seen_at), l.last_verified_at, l.uptime,
    coalesce(l.paid_ms, l.latency_p50_ms), round(coalesce(l.trust, 0)),
    round(coalesce(l.trust * l.success, 0)), ARRAY[lower(l.pay_to), l.host])::search_document
$$;

-- The method and the host of a listing are no words of it.
CREATE OR REPLACE FUNCTION hub.search_vector(p_document hub.search_document) RETURNS tsvector
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN setweight(to_tsvector('english', hub.search_plain(concat_ws(' ', p_document.name,
    CASE p_document.kind WHEN 'native' THEN p_document.id END))), 'A')
  || setweight(to_tsvector('english', hub.search_plain(concat_ws(' ', array_to_string(p_document.tags, ' '),
    p_document.category, p_document.provider))), 'B')
  || setweight(to_tsvector('english', hub.search_plain(p_document.description)), 'C')
  || setweight(to_tsvector('english', hub.search_plain(left(CASE p_document.kind WHEN 'native'
    THEN p_document.words ELSE regexp_replace(p_document.words, '^\w+ \w+://[^/?\s]*', '') END, 4000))), 'D');

DROP TRIGGER listing_changed ON hub.listing;
CREATE TRIGGER listing_changed AFTER UPDATE ON hub.listing FOR EACH ROW
  WHEN ((old.name, old.description, old.category, old.tags, old.network, old.pay_to, old.price, old.offers,
      old.input_schema, old.output_schema, old.state, old.reason, old.last_verified_at, old.uptime,
      old.latency_p50_ms, old.paid_ms, old.trust, old.success) IS DISTINCT FROM
    (new.name, new.description, new.category, new.tags, new.network, new.pay_to, new.price, new.offers,
      new.input_schema, new.output_schema, new.state, new.reason, new.last_verified_at, new.uptime,
      new.latency_p50_ms, new.paid_ms, new.trust, new.success))
  EXECUTE FUNCTION hub.listing_changed();

CREATE OR REPLACE FUNCTION hub.listing_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $$
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
       verified_at, uptime, latency_ms, calls, delivered, sellers) =
      (excluded.name, excluded.provider, excluded.category, excluded.tags, excluded.description,
       excluded.words, excluded.networks, excluded.price, excluded.state, excluded.listed_at,
       excluded.verified_at, excluded.uptime, excluded.latency_ms, excluded.calls, excluded.delivered,
       excluded.sellers);
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION hub.index_service(p_slug text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_temp'
AS $$
  DELETE FROM search_document d WHERE d.kind = 'native' AND d.id = p_slug
    AND NOT EXISTS (SELECT FROM service s WHERE s.slug = p_slug AND s.state = 'active');
  INSERT INTO search_document AS d (kind, id, name, provider, category, tags, description, words,
      networks, price, state, listed_at, sellers)
    SELECT 'native', s.slug, s.name, s.provider, s.category, '{}', s.summary, e.words,
      '{eip155:8453}', e.price, 'active', s.listed_at,
      CASE s.provider WHEN 'agenthub' THEN '{}' ELSE ARRAY['provider ' || s.provider] END
    FROM service s CROSS JOIN LATERAL (
      SELECT string_agg(concat_ws(' ', method, path, summary), ' ' ORDER BY path, method) AS words,
        min((SELECT amount FROM price WHERE endpoint = endpoint.id ORDER BY version DESC LIMIT 1)) AS price
      FROM endpoint WHERE endpoint.service = s.slug AND endpoint.state = 'active') e
    WHERE s.slug = p_slug AND s.state = 'active' AND e.price IS NOT NULL
  ON CONFLICT (kind, id) DO UPDATE SET (name, provider, category, description, words, price, sellers) =
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price, excluded.sellers)
    WHERE (d.name, d.provider, d.category, d.description, d.words, d.price) IS DISTINCT FROM
      (excluded.name, excluded.provider, excluded.category, excluded.description, excluded.words,
       excluded.price)
$$;

CREATE OR REPLACE FUNCTION hub.search_added()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_catalog'
AS $$
DECLARE v_docs integer[];
BEGIN
  WITH entered AS (
    INSERT INTO search_entry (kind, id, names, vector, places, name_words, category, tags, networks, price,
        quality, listed_at, verified_at, latency_ms, calls, delivered, sellers, text_hash)
      SELECT kind, id, hub.search_names(a::search_document), v.vector, hub.search_places(v.vector),
        length(ts_filter(v.vector, '{a}')), category, tags, networks, price,
        hub.search_quality(a::search_document), listed_at, verified_at, latency_ms, calls, delivered,
        sellers, sha256(convert_to(hub.search_text(a::search_document), 'UTF8'))
      FROM added a CROSS JOIN LATERAL hub.search_vector(a::search_document) v (vector)
      RETURNING doc)
  SELECT array_agg(doc) INTO v_docs FROM entered;
  PERFORM hub.search_post(v_docs, 1);
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION hub.search_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'hub', 'pg_catalog'
AS $$
DECLARE v_docs integer[];
BEGIN
  UPDATE search_entry e SET (version, category, tags, networks, price, quality, listed_at, verified_at,
        latency_ms, calls, delivered, sellers) =
      (search_version(), n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document),
        n.listed_at, n.verified_at, n.latency_ms, n.calls, n.delivered, n.sellers)
    FROM changed n WHERE (e.kind, e.id) = (n.kind, n.id)
      AND (e.category, e.tags, e.networks, e.price, e.quality, e.listed_at, e.verified_at, e.latency_ms,
          e.calls, e.delivered, e.sellers) IS DISTINCT FROM
        (n.category, n.tags, n.networks, n.price, hub.search_quality(n::search_document), n.listed_at,
          n.verified_at, n.latency_ms, n.calls, n.delivered, n.sellers);
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

CREATE OR REPLACE FUNCTION hub.search_checked(p_terms text[], p_term_versions bigint[], p_docs integer[],
  p_versions bigint[], p_depth integer, p_name text, p_filter hub.search_filter)
 RETURNS TABLE(stale json, exact text, docs text, entries json)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'hub', 'pg_catalog'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $$
DECLARE
  v_per_seller CONSTANT integer := 20;  -- one with many displaces no other, if the query has words
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
    FROM (SELECT * FROM (SELECT e.doc, e.version, k.version AS known, k.place,
          row_number() OVER (PARTITION BY coalesce(e.sellers[1], e.id) ORDER BY k.place) AS nth
        FROM unnest(p_docs, p_versions) WITH ORDINALITY k (doc, version, place)
        JOIN search_entry e ON e.doc = k.doc WHERE search_passes(e, p_filter)) p
      WHERE p.nth <= v_per_seller OR cardinality(p_terms) = 0 ORDER BY p.place LIMIT p_depth) s;
  v_exact := ARRAY(SELECT e.doc FROM search_entry e
    WHERE e.names @> ARRAY[p_name] AND search_passes(e, p_filter)
    ORDER BY e.quality DESC, e.doc LIMIT v_namesakes);
  v_unknown := v_unknown || ARRAY(SELECT unnest(v_exact) EXCEPT SELECT unnest(v_docs));
  IF cardinality(v_unknown) > 0 THEN
    SELECT json_agg(json_build_object('doc', e.doc, 'version', e.version::text, 'kind', e.kind, 'id', e.id,
        'price', e.price, 'quality', e.quality, 'listedAt', 1000 * extract(epoch FROM e.listed_at),
        'verifiedAt', 1000 * extract(epoch FROM e.verified_at), 'latencyMs', e.latency_ms,
        'calls', e.calls, 'delivered', e.delivered, 'sellers', coalesce(e.sellers, '{}'),
        'names', e.names, 'words', e.places, 'nameWords', e.name_words,
        'vector', e.vector::text)) INTO entries
      FROM search_entry e WHERE e.doc = ANY (v_unknown);
  END IF;
  exact := v_exact;
  docs := v_docs;
  RETURN NEXT;
END $$;

DELETE FROM hub.search_document WHERE kind = 'external';
INSERT INTO hub.search_document SELECT (hub.document_of(l)).* FROM hub.listing l
  WHERE l.state IN ('active', 'degraded');
UPDATE hub.search_document d SET sellers = CASE s.provider WHEN 'agenthub' THEN '{}'
    ELSE ARRAY['provider ' || s.provider] END
  FROM hub.service s WHERE d.kind = 'native' AND s.slug = d.id;
