-- upgrade: expand
-- Why: the triggers of call records passed every row in an array to a function, a sixth of the time
-- of a record. One trigger function reads the rows where they are, as added or as gone.
CREATE FUNCTION hub.count_calls() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  sign integer := TG_ARGV[0]; -- 1: the rows were added; -1: an update replaced them
BEGIN
  WITH alike AS MATERIALIZED (
    SELECT c.service, (c.at AT TIME ZONE 'UTC')::date AS day, c.endpoint, c.principal,
      CASE c.outcome WHEN 'failed' THEN coalesce(c.reason, 'failed') ELSE c.outcome END AS outcome,
      c.outcome = 'delivered' AS delivered, c.outcome = 'failed' AS failed, c.status < 500 AS up,
      CASE c.outcome WHEN 'delivered' THEN about_ms(c.latency_ms) ELSE -1 END AS ms,
      sign * count(*)::integer AS calls, sign * sum(c.charged)::bigint AS charged,
      sign * sum(c.latency_ms)::bigint AS latency_ms, min(c.at) AS first_at, max(c.at) AS last_at
    FROM counted c GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9),
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
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER calls_added AFTER INSERT ON hub.call REFERENCING NEW TABLE AS counted
  FOR EACH STATEMENT EXECUTE FUNCTION hub.count_calls('1');
CREATE OR REPLACE TRIGGER calls_changed AFTER UPDATE ON hub.call REFERENCING NEW TABLE AS counted
  FOR EACH STATEMENT EXECUTE FUNCTION hub.count_calls('1');
CREATE TRIGGER calls_replaced AFTER UPDATE ON hub.call REFERENCING OLD TABLE AS counted
  FOR EACH STATEMENT EXECUTE FUNCTION hub.count_calls('-1');
DROP FUNCTION hub.calls_added(), hub.calls_changed(), hub.count_calls(hub.call[], hub.call[]);
