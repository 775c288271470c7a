-- upgrade: expand
-- Why: see 0126. Writes go through the new table, with the same columns, rights and triggers. Its key is the
-- partition key, so that ids stay unique in all partitions.
ALTER TABLE hub.call RENAME TO call_past;
ALTER TABLE hub.call_past RENAME CONSTRAINT call_pkey TO call_past_pkey;
ALTER INDEX hub.call_entry RENAME TO call_past_entry;
ALTER INDEX hub.call_key RENAME TO call_past_key;
ALTER INDEX hub.call_keyless RENAME TO call_past_keyless;
ALTER INDEX hub.call_service RENAME TO call_past_service;
ALTER INDEX hub.call_usage RENAME TO call_past_usage;
DROP TRIGGER calls_added ON hub.call_past;
DROP TRIGGER calls_changed ON hub.call_past;
DROP FUNCTION hub.count_calls(hub.call_past[], hub.call_past[]);

CREATE TABLE hub.call (LIKE hub.call_past INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id))
  PARTITION BY RANGE (id);
ALTER TABLE hub.call DROP CONSTRAINT call_bound;
CREATE INDEX call_entry ON hub.call (entry) WHERE entry <> id;
CREATE INDEX call_key ON hub.call (key_id, at);
CREATE INDEX call_keyless ON hub.call (principal, at) WHERE key_id IS NULL;
CREATE INDEX call_service ON hub.call (service, at);
CREATE INDEX call_usage ON hub.call (service, at) WHERE quantity IS NOT NULL;
GRANT SELECT, INSERT, UPDATE (charged, outcome) ON hub.call TO hub_app;
REVOKE ALL ON hub.call_past FROM hub_app;
REVOKE UPDATE (charged, outcome) ON hub.call_past FROM hub_app;

-- As in 0086, for rows of the new table.
CREATE FUNCTION hub.count_calls(added hub.call[], gone hub.call[]) RETURNS void
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
REVOKE EXECUTE ON FUNCTION hub.count_calls FROM PUBLIC;
CREATE TRIGGER calls_added AFTER INSERT ON hub.call REFERENCING NEW TABLE AS new_calls
  FOR EACH STATEMENT EXECUTE FUNCTION hub.calls_added();
CREATE TRIGGER calls_changed AFTER UPDATE ON hub.call
  REFERENCING OLD TABLE AS old_calls NEW TABLE AS new_calls
  FOR EACH STATEMENT EXECUTE FUNCTION hub.calls_changed();

-- call_later has every record after the last month, so that none lacks a partition. It is no default
-- partition, because those prevent DETACH PARTITION … CONCURRENTLY.
DO $$
DECLARE
  bound text := (SELECT substring(pg_get_constraintdef(oid) FROM '[0-9a-f]{8}-[0-9a-f-]{27}')
    FROM pg_constraint WHERE conrelid = 'hub.call_past'::regclass AND conname = 'call_bound');
BEGIN
  EXECUTE format('ALTER TABLE hub.call ATTACH PARTITION hub.call_past FOR VALUES FROM (MINVALUE) TO (%L)',
    bound);
  EXECUTE format('CREATE TABLE hub.call_later PARTITION OF hub.call FOR VALUES FROM (%L) TO (MAXVALUE)',
    bound);
END $$;
ALTER TABLE hub.call_past DROP CONSTRAINT call_bound;

-- Makes the partitions of months up to `ahead` months from now, out of call_later; returns how many. Blocks
-- records for an instant: it gives up after a second and is repeated, so that a long reader holds up nobody,
-- and moves few records. More of them stay in call_later until an operator splits it.
CREATE FUNCTION hub.ensure_call_partitions(ahead integer DEFAULT 3) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
SET lock_timeout = '1s' AS $$
DECLARE
  month timestamptz;
  bound uuid;
  next uuid;
  partition text;
  made integer := 0;
  moved_max CONSTANT integer := 10000;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('hub.ensure_call_partitions'));
  LOOP
    bound := substring(pg_get_expr(c.relpartbound, c.oid) FROM '[0-9a-f]{8}-[0-9a-f-]{27}')
      FROM pg_class c WHERE c.oid = 'hub.call_later'::regclass;
    month := hub.instant_of_call(bound);
    EXIT WHEN month > date_trunc('month', now()) + make_interval(months => ahead);
    next := hub.first_call_id(month + interval '1 month');
    partition := 'call_' || to_char(month, 'YYYY_MM');
    IF (SELECT count(*) FROM (SELECT FROM hub.call_later WHERE id < next LIMIT moved_max + 1) l) > moved_max
    THEN
      RAISE EXCEPTION 'call_later has more than % records of %: run "npm run calls -- split"', moved_max,
        partition;
    END IF;
    ALTER TABLE hub.call DETACH PARTITION hub.call_later;
    EXECUTE format('CREATE TABLE hub.%I PARTITION OF hub.call FOR VALUES FROM (%L) TO (%L)',
      partition, bound, next);
    EXECUTE format('WITH moved AS (DELETE FROM hub.call_later WHERE id < %L RETURNING *)
      INSERT INTO hub.%I SELECT * FROM moved', next, partition);
    EXECUTE format('ALTER TABLE hub.call ATTACH PARTITION hub.call_later
      FOR VALUES FROM (%L) TO (MAXVALUE)', next);
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;
REVOKE EXECUTE ON FUNCTION hub.ensure_call_partitions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.ensure_call_partitions TO hub_app;
SELECT hub.ensure_call_partitions();
