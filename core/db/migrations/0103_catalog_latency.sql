-- upgrade: expand
-- 95th-percentile latency of delivered calls or probes over 30 days: the catalog shows it and sorts by it.
-- The next refresh or probe fills it.
ALTER TABLE hub.search_document ADD p95_ms integer;

-- Answers filters and orders of the whole catalog without reading its texts.
CREATE INDEX search_document_facts ON hub.search_document
  (kind, category, price, uptime, calls, p95_ms, id);

CREATE OR REPLACE FUNCTION hub.document_of(l hub.listing) RETURNS hub.search_document
  LANGUAGE sql STABLE SET search_path = hub, pg_temp
AS $$
  SELECT ROW('external', l.id, l.name, '', l.category, l.tags, l.description,
    l.method || ' ' || l.url, ARRAY(SELECT DISTINCT o ->> 'network' FROM jsonb_array_elements(l.offers) o),
    l.price, l.state, coalesce(l.listed_at, l.first_seen_at), l.last_verified_at, l.uptime,
    coalesce(l.paid_ms, l.latency_p50_ms), round(coalesce(l.trust, 0)),
    round(coalesce(l.trust * l.success, 0)), ARRAY[lower(l.pay_to), l.host],
    l.latency_p95_ms)::search_document
$$;

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
       verified_at, uptime, latency_ms, calls, delivered, sellers, p95_ms) =
      (excluded.name, excluded.provider, excluded.category, excluded.tags, excluded.description,
       excluded.words, excluded.networks, excluded.price, excluded.state, excluded.listed_at,
       excluded.verified_at, excluded.uptime, excluded.latency_ms, excluded.calls, excluded.delivered,
       excluded.sellers, excluded.p95_ms);
  RETURN NULL;
END $$;

DROP TRIGGER listing_changed ON hub.listing;
CREATE TRIGGER listing_changed AFTER UPDATE ON hub.listing FOR EACH ROW
  WHEN ((old.name, old.description, old.category, old.tags, old.network, old.pay_to, old.price, old.offers,
      old.input_schema, old.output_schema, old.state, old.reason, old.last_verified_at, old.uptime,
      old.latency_p50_ms, old.latency_p95_ms, old.paid_ms, old.trust, old.success) IS DISTINCT FROM
    (new.name, new.description, new.category, new.tags, new.network, new.pay_to, new.price, new.offers,
      new.input_schema, new.output_schema, new.state, new.reason, new.last_verified_at, new.uptime,
      new.latency_p50_ms, new.latency_p95_ms, new.paid_ms, new.trust, new.success))
  EXECUTE FUNCTION hub.listing_changed();

-- As in 0086_caller_uptime.sql, with the 95th percentile.
CREATE OR REPLACE FUNCTION hub.refresh_service_signals() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  v_today date := (now() AT TIME ZONE 'UTC')::date;
  v_changed integer;
BEGIN
  UPDATE service_day d SET (weight, up_weight) = (w.weight, least(w.up_weight, w.weight))
    FROM (SELECT c.service, c.day, sum(a.weight) AS weight, sum(a.weight * c.up / c.calls) AS up_weight
      FROM caller_day c LEFT JOIN principal p ON p.id = c.principal
      CROSS JOIN LATERAL (SELECT least(1, 0.1 + coalesce(
        greatest(extract(epoch FROM c.first_at - p.created_at), 0), 0) / 86400 / 14)::double precision
        AS weight) a
      WHERE c.day >= v_today - 1 AND c.calls > 0 GROUP BY 1, 2) w
    WHERE (d.service, d.day) = (w.service, w.day);
  UPDATE search_document d SET (calls, delivered, latency_ms, uptime, p95_ms) =
      (s.calls, s.delivered, s.latency, s.uptime, s.p95)
    FROM (SELECT f.service AS id, least(f.calls, 2147483647)::integer AS calls,
        least(round(f.calls * f.uptime / 100), 2147483647)::integer AS delivered, f.uptime::real AS uptime,
        m.latency, m.p95
      FROM (SELECT service, sum(calls) AS calls, hub.uptime(array_agg(k)) AS uptime
        FROM service_day k WHERE day > v_today - 30 GROUP BY service HAVING sum(calls) > 0) f
      CROSS JOIN LATERAL (SELECT min(l.ms) FILTER (WHERE l.upto * 2 >= l.of) AS latency,
          min(l.ms) FILTER (WHERE l.upto * 20 >= l.of * 19) AS p95
        FROM (SELECT u.ms, sum(sum(u.calls)) OVER (ORDER BY u.ms) AS upto, sum(sum(u.calls)) OVER () AS of
          FROM outcome_day o CROSS JOIN LATERAL unnest(o.ms, o.calls) u(ms, calls)
          WHERE o.service = f.service AND o.day > v_today - 30 AND o.outcome = 'delivered' GROUP BY u.ms) l
      ) m) s
    WHERE d.kind = 'native' AND d.id = s.id AND (d.calls, d.delivered, d.latency_ms, d.uptime, d.p95_ms)
      IS DISTINCT FROM (s.calls, s.delivered, s.latency, s.uptime, s.p95);
  GET DIAGNOSTICS v_changed = ROW_COUNT;
  RETURN v_changed;
END $$;
