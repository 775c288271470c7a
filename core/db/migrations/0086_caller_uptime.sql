-- Why: whoever finds a request that makes a service fail could send it a thousand times and sink its uptime.
-- The uptime of a day is the mean of its callers' own: each counts once, new accounts less.

-- Calls that did not fail on the service's side.
ALTER TABLE hub.caller_day ADD up integer NOT NULL DEFAULT 0;
UPDATE hub.caller_day d SET up = c.up
  FROM (SELECT service, (at AT TIME ZONE 'UTC')::date AS day, principal,
      (count(*) FILTER (WHERE status < 500))::integer AS up
    FROM hub.call WHERE at >= date_trunc('day', now() - interval '1 day', 'UTC') GROUP BY 1, 2, 3) c
  WHERE (d.service, d.day, d.principal) = (c.service, c.day, c.principal);

-- Sum of the callers' weights, and of their shares that did not fail; null before the first refresh.
ALTER TABLE hub.service_day ADD weight double precision CHECK (weight > 0),
  ADD up_weight double precision CHECK (up_weight BETWEEN 0 AND weight),
  ADD CHECK ((weight IS NULL) = (up_weight IS NULL));

-- As in 0031_outcome_days.sql, with what did not fail of each caller.
CREATE OR REPLACE FUNCTION hub.count_calls(added hub.call[], gone hub.call[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
  WITH alike AS MATERIALIZED (
    SELECT c.service, (c.at AT TIME ZONE 'UTC')::date AS day, c.endpoint, c.principal,
      CASE c.outcome WHEN 'failed' THEN coalesce(c.reason, 'failed') ELSE c.outcome END AS outcome,
      c.outcome = 'delivered' AS delivered, c.outcome = 'failed' AS failed, c.status < 500 AS up,
      CASE c.outcome WHEN 'delivered' THEN about_ms(c.latency_ms) ELSE -1 END AS ms,
      sum(c.n)::integer AS calls, sum(c.n * c.charged)::bigint AS charged,
      sum(c.n * c.latency_ms)::bigint AS latency_ms, min(c.at) AS first_at, max(c.at) AS last_at
    FROM (SELECT 1 AS n, a.* FROM unnest(added) a UNION ALL SELECT -1, g.* FROM unnest(gone) g) c
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9),
  outcomes AS (
    INSERT INTO outcome_day AS t
      SELECT l.service, l.day, l.endpoint, l.outcome, l.refused, array_agg(l.ms ORDER BY l.ms),
        array_agg(l.calls ORDER BY l.ms)
      FROM (SELECT service, day, endpoint, outcome, failed AND up AS refused, ms, sum(calls)::integer AS calls
        FROM alike GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(calls) <> 0) l
      GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
      ON CONFLICT (service, day, endpoint, outcome, refused) DO UPDATE SET (ms, calls) = (
        SELECT coalesce(array_agg(l.ms ORDER BY l.ms), '{}'), coalesce(array_agg(l.calls ORDER BY l.ms), '{}')
        FROM (SELECT u.ms, sum(u.calls)::integer AS calls
          FROM (SELECT * FROM unnest(t.ms, t.calls)
            UNION ALL SELECT * FROM unnest(excluded.ms, excluded.calls)) u(ms, calls)
          GROUP BY u.ms HAVING sum(u.calls) <> 0) l)),
  services AS (
    INSERT INTO service_day AS t (service, day, calls, up, delivered, failed, latency_ms)
      SELECT service, day, sum(calls), coalesce(sum(calls) FILTER (WHERE up), 0),
        coalesce(sum(calls) FILTER (WHERE delivered), 0), coalesce(sum(calls) FILTER (WHERE failed), 0),
        sum(latency_ms)
      FROM alike GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (service, day) DO UPDATE SET calls = t.calls + excluded.calls, up = t.up + excluded.up,
        delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed,
        latency_ms = t.latency_ms + excluded.latency_ms),
  days AS (
    INSERT INTO caller_day AS t (service, day, principal, calls, delivered, charged, first_at, last_at, up)
      SELECT service, day, principal, sum(calls), coalesce(sum(calls) FILTER (WHERE delivered), 0),
        sum(charged), min(first_at), max(last_at), coalesce(sum(calls) FILTER (WHERE up), 0)
      FROM alike GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (service, day, principal) DO UPDATE SET calls = t.calls + excluded.calls,
        delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
        first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at),
        up = t.up + excluded.up)
  INSERT INTO caller_week AS t
    SELECT service, date_trunc('week', day::timestamp)::date, principal, sum(calls),
      coalesce(sum(calls) FILTER (WHERE delivered), 0), sum(charged), min(first_at), max(last_at)
    FROM alike GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (service, week, principal) DO UPDATE SET calls = t.calls + excluded.calls,
      delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
      first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at);
$$;

-- Per cent of some days together. A day that was not weighed yet counts as one caller.
CREATE FUNCTION hub.uptime(p_days hub.service_day[]) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = hub, pg_temp AS $$
  SELECT 100 * sum(coalesce(d.up_weight, d.up::double precision / d.calls)) / sum(coalesce(d.weight, 1))
  FROM unnest(p_days) d WHERE d.calls > 0
$$;
GRANT EXECUTE ON FUNCTION hub.uptime(hub.service_day[]) TO hub_app;

-- Weighs the callers of today and yesterday: an account counts fully after two weeks, a tenth at its start,
-- as in hub.figures_of; then as in 0036_signals_by_day.sql.
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
  UPDATE search_document d SET (calls, delivered, latency_ms, uptime) =
      (s.calls, s.delivered, s.latency, s.uptime)
    FROM (SELECT f.service AS id, least(f.calls, 2147483647)::integer AS calls,
        least(round(f.calls * f.uptime / 100), 2147483647)::integer AS delivered, f.uptime::real AS uptime,
        (SELECT l.ms FROM (SELECT u.ms, sum(sum(u.calls)) OVER (ORDER BY u.ms) AS upto,
            sum(sum(u.calls)) OVER () AS of
          FROM outcome_day o CROSS JOIN LATERAL unnest(o.ms, o.calls) u(ms, calls)
          WHERE o.service = f.service AND o.day > v_today - 30 AND o.outcome = 'delivered' GROUP BY u.ms) l
        WHERE l.upto * 2 >= l.of ORDER BY l.ms LIMIT 1) AS latency
      FROM (SELECT service, sum(calls) AS calls, hub.uptime(array_agg(k)) AS uptime
        FROM service_day k WHERE day > v_today - 30 GROUP BY service HAVING sum(calls) > 0) f) s
    WHERE d.kind = 'native' AND d.id = s.id AND (d.calls, d.delivered, d.latency_ms, d.uptime)
      IS DISTINCT FROM (s.calls, s.delivered, s.latency, s.uptime);
  GET DIAGNOSTICS v_changed = ROW_COUNT;
  RETURN v_changed;
END $$;
