-- upgrade: expand
-- Why: call records are partitioned by month, so that the indexes of new records stay small and old months
-- can be detached. 0126 to 0128 turn the table into the first partition without blocking writers: this one
-- bounds its ids, 0127 checks all rows while calls are recorded, and 0128 attaches it without reading it. The
-- bound is the start of a month at least four weeks after now and after the newest record.

-- The smallest id of a call at or after an instant: UUIDs of version 7 begin with milliseconds.
CREATE FUNCTION hub.first_call_id(instant timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE RETURN
  rpad(lpad(to_hex((extract(epoch FROM instant) * 1000)::bigint), 12, '0'), 32, '0')::uuid;

CREATE FUNCTION hub.instant_of_call(id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE RETURN
  to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

DO $$
DECLARE
  newest timestamptz := (SELECT hub.instant_of_call(id) FROM hub.call ORDER BY id DESC LIMIT 1);
BEGIN
  EXECUTE format('ALTER TABLE hub.call ADD CONSTRAINT call_bound CHECK (id < %L) NOT VALID',
    hub.first_call_id(date_trunc('month', greatest(now(), newest) + interval '2 months', 'UTC')));
END $$;
