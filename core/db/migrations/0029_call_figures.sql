-- Why: figures of calls without reading the calls. Public pages show how a service has done in 30 days, and a
-- busy hub has millions of calls in them: what they came to is kept by day, a batch of calls at a time.

-- Exact below 64 ms; above, the most of one of 32 steps to the double: at most 3.2 per cent more than it was.
CREATE FUNCTION hub.about_ms(ms integer) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ms < 64 THEN ms
  ELSE (((ms >> (27 - position(B'1' IN ms::bit(32)))) + 1) << (27 - position(B'1' IN ms::bit(32)))) - 1 END;

CREATE TABLE hub.service_day (
  service text NOT NULL,
  day date NOT NULL,                       -- UTC
  calls bigint NOT NULL,
  up bigint NOT NULL,                      -- did not fail on the service's side: status below 500
  delivered bigint NOT NULL,
  failed bigint NOT NULL,                  -- the money went back
  latency_ms bigint NOT NULL,              -- of all together
  PRIMARY KEY (service, day)
);
CREATE INDEX service_day_day ON hub.service_day (day);

-- Calls of a day that are alike: one row for each outcome, and for each latency of what was delivered.
CREATE TABLE hub.call_day (
  service text NOT NULL,
  day date NOT NULL,
  endpoint integer NOT NULL,
  outcome text NOT NULL,                   -- that of the call; of what failed, the reason
  refused boolean NOT NULL,                -- failed by the caller's own doing
  ms integer NOT NULL,                     -- hub.about_ms of what was delivered; -1 of all else
  calls integer NOT NULL,                  -- whose sums are bigint, and not numeric
  PRIMARY KEY (service, day, endpoint, outcome, refused, ms)
);

-- Who called, and what it came to.
CREATE TABLE hub.caller_day (
  service text NOT NULL,
  day date NOT NULL,
  principal text NOT NULL,
  calls integer NOT NULL,
  delivered integer NOT NULL,
  charged bigint NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (service, day, principal)
);

-- Adds calls to the figures, and takes others out: a call that changed is both. What is taken out is proposed
-- as a row below zero, which no CHECK would let pass. Rows are written in the order of their keys, so that no
-- two batches wait for each other in a circle.
CREATE FUNCTION hub.count_calls(added hub.call[], gone hub.call[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  INSERT INTO call_day AS t
    SELECT c.service, (c.at AT TIME ZONE 'UTC')::date, c.endpoint,
      CASE c.outcome WHEN 'failed' THEN coalesce(c.reason, 'failed') ELSE c.outcome END,
      c.outcome = 'failed' AND c.status < 500,
      CASE c.outcome WHEN 'delivered' THEN about_ms(c.latency_ms) ELSE -1 END, sum(c.n)
    FROM (SELECT 1 AS n, a.* FROM unnest(added) a UNION ALL SELECT -1, g.* FROM unnest(gone) g) c
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(c.n) <> 0 ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (service, day, endpoint, outcome, refused, ms) DO UPDATE SET calls = t.calls + excluded.calls;
  INSERT INTO service_day AS t
    SELECT c.service, (c.at AT TIME ZONE 'UTC')::date, sum(c.n),
      coalesce(sum(c.n) FILTER (WHERE c.status < 500), 0),
      coalesce(sum(c.n) FILTER (WHERE c.outcome = 'delivered'), 0),
      coalesce(sum(c.n) FILTER (WHERE c.outcome = 'failed'), 0), sum(c.n * c.latency_ms)
    FROM (SELECT 1 AS n, a.* FROM unnest(added) a UNION ALL SELECT -1, g.* FROM unnest(gone) g) c
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (service, day) DO UPDATE SET calls = t.calls + excluded.calls, up = t.up + excluded.up,
      delivered = t.delivered + excluded.delivered, failed = t.failed + excluded.failed,
      latency_ms = t.latency_ms + excluded.latency_ms;
  INSERT INTO caller_day AS t
    SELECT c.service, (c.at AT TIME ZONE 'UTC')::date, c.principal, sum(c.n),
      coalesce(sum(c.n) FILTER (WHERE c.outcome = 'delivered'), 0), sum(c.n * c.charged), min(c.at), max(c.at)
    FROM (SELECT 1 AS n, a.* FROM unnest(added) a UNION ALL SELECT -1, g.* FROM unnest(gone) g) c
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (service, day, principal) DO UPDATE SET calls = t.calls + excluded.calls,
      delivered = t.delivered + excluded.delivered, charged = t.charged + excluded.charged,
      first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at);
END $$;
REVOKE EXECUTE ON FUNCTION hub.count_calls FROM PUBLIC;

CREATE FUNCTION hub.calls_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM count_calls((SELECT array_agg(n::call) FROM new_calls n), NULL);
  RETURN NULL;
END $$;

CREATE FUNCTION hub.calls_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM count_calls((SELECT array_agg(n::call) FROM new_calls n),
    (SELECT array_agg(o::call) FROM old_calls o));
  RETURN NULL;
END $$;

CREATE TRIGGER calls_added AFTER INSERT ON hub.call REFERENCING NEW TABLE AS new_calls
  FOR EACH STATEMENT EXECUTE FUNCTION hub.calls_added();
CREATE TRIGGER calls_changed AFTER UPDATE ON hub.call
  REFERENCING OLD TABLE AS old_calls NEW TABLE AS new_calls
  FOR EACH STATEMENT EXECUTE FUNCTION hub.calls_changed();

SELECT hub.count_calls(array_agg(c), NULL) FROM hub.call c GROUP BY (c.at AT TIME ZONE 'UTC')::date;

GRANT SELECT ON hub.service_day, hub.call_day, hub.caller_day TO hub_app;
