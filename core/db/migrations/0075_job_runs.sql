-- Last runs of each job over all processes, for metrics: jobs may run in processes that serve no requests.
CREATE TABLE hub.job_run (
  job text PRIMARY KEY CHECK (length(job) BETWEEN 1 AND 200),
  succeeded_at timestamptz,
  failing_since timestamptz, -- NULL: the last run succeeded
  failures bigint NOT NULL DEFAULT 0,
  duration_ms integer NOT NULL CHECK (duration_ms >= 0),
  period_seconds integer NOT NULL CHECK (period_seconds > 0)
) WITH (fillfactor = 50);

CREATE FUNCTION hub.record_job_run(p_job text, p_ok boolean, p_ms integer, p_period integer) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = hub, pg_temp
BEGIN ATOMIC
  INSERT INTO hub.job_run AS r VALUES (p_job, CASE WHEN p_ok THEN now() END,
    CASE WHEN NOT p_ok THEN now() END, (NOT p_ok)::integer, p_ms, p_period)
  ON CONFLICT (job) DO UPDATE SET succeeded_at = coalesce(excluded.succeeded_at, r.succeeded_at),
    failing_since = CASE WHEN NOT p_ok THEN coalesce(r.failing_since, now()) END,
    failures = r.failures + excluded.failures, duration_ms = p_ms, period_seconds = p_period;
END;
GRANT EXECUTE ON FUNCTION hub.record_job_run(text, boolean, integer, integer) TO hub_app;
GRANT SELECT ON hub.job_run TO hub_app;
