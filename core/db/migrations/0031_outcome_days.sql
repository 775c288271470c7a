-- Why: a month of calls in a few rows. With a row for each latency, a page about a service read nearly as
-- many rows as there were calls: what is alike in all but its latency is one row of a day now. And who called
-- on each day of a month is in few rows of weeks.

CREATE TABLE hub.outcome_day (
  service text NOT NULL,
  day date NOT NULL,                       -- UTC
  endpoint integer NOT NULL,
  outcome text NOT NULL,                   -- that of the call; of what failed, the reason
  refused boolean NOT NULL,                -- failed by the caller's own doing
  ms integer[] NOT NULL,                   -- ascending: hub.about_ms of what was delivered; -1 of all else …
  calls integer[] NOT NULL,                -- … and how many took so long
  PRIMARY KEY (service, day, endpoint, outcome, refused),
  CHECK (cardinality(ms) = cardinality(calls))
) WITH (fillfactor = 50); -- a row of today changes with each batch, and stays where it is
ALTER TABLE hub.outcome_day ALTER ms SET STORAGE MAIN, ALTER calls SET STORAGE MAIN;

INSERT INTO hub.outcome_day
  SELECT c.service, c.day, c.endpoint, c.outcome, c.refused, array_agg(c.ms ORDER BY c.ms),
    array_agg(c.calls ORDER BY c.ms)
  FROM hub.call_day c WHERE c.calls <> 0 GROUP BY 1, 2, 3, 4, 5;

-- One row for each latency, as before.
DROP TABLE hub.call_day;
CREATE VIEW hub.call_day AS
  SELECT o.service, o.day, o.endpoint, o.outcome, o.refused, l.ms, l.calls
  FROM hub.outcome_day o CROSS JOIN LATERAL unnest(o.ms, o.calls) l(ms, calls);

-- Who called in a week, and what it came to: as in hub.caller_day, its days together.
CREATE TABLE hub.caller_week (
  service text NOT NULL,
  week date NOT NULL CHECK (extract(isodow FROM week) = 1), -- its Monday, in UTC
  principal text NOT NULL,
  calls integer NOT NULL,
  delivered integer NOT NULL,
  charged bigint NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (service, week, principal)
);

INSERT INTO hub.caller_week
  SELECT c.service, date_trunc('week', c.day::timestamp)::date, c.principal, sum(c.calls), sum(c.delivered),
    sum(c.charged), min(c.first_at), max(c.last_at)
  FROM hub.caller_day c GROUP BY 1, 2, 3;

-- Outcomes by day and callers by week too. A batch is read once: to read it for each table took as long as to
-- write it. What calls have in common becomes a row, and the figures come of these few rows.
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
    INSERT INTO service_day AS t
      SELECT service, day, sum(calls), coalesce(sum(calls) FILTER (WHERE up), 0),
        coalesce(sum(calls) FILTER (WHERE delivered), 0), coalesce(sum(calls) FILTER (WHERE failed), 0),
        sum(latency_ms)
      FROM alike GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (service, day) DO UPDATE SET calls = t.calls + excluded.calls, up = t.up + excluded.up,
        delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed,
        latency_ms = t.latency_ms + excluded.latency_ms),
  days AS (
    INSERT INTO caller_day AS t
      SELECT service, day, principal, sum(calls), coalesce(sum(calls) FILTER (WHERE delivered), 0),
        sum(charged), min(first_at), max(last_at)
      FROM alike GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (service, day, principal) DO UPDATE SET calls = t.calls + excluded.calls,
        delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
        first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at))
  INSERT INTO caller_week AS t
    SELECT service, date_trunc('week', day::timestamp)::date, principal, sum(calls),
      coalesce(sum(calls) FILTER (WHERE delivered), 0), sum(charged), min(first_at), max(last_at)
    FROM alike GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (service, week, principal) DO UPDATE SET calls = t.calls + excluded.calls,
      delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
      first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at);
$$;

GRANT SELECT ON hub.outcome_day, hub.call_day, hub.caller_week TO hub_app;
