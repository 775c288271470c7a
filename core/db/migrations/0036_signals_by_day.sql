-- Why: what searchers are told of our own services comes from the figures of days. It had every call of 30
-- days counted each time, and took the longer the more was sold. And a snapshot sorts what moved once, not
-- twice.

-- As in 0009_ledger_history.sql, but grouped in the order in which a snapshot needs it.
CREATE OR REPLACE FUNCTION ledger.movements(
  p_shard smallint, p_after bigint, p_upto bigint, p_account bigint DEFAULT NULL
) RETURNS TABLE (seq bigint, account bigint, amount bigint) LANGUAGE sql STABLE AS $$
  WITH entry AS MATERIALIZED (
    SELECT j.seq, j.phase, j.owner, j.payee, ledger.holds_account(j.asset) AS holds, j.guards, j.accounts,
      j.amounts, j.fee, j.amount - j.fee AS share,
      CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END AS back,
      CASE j.phase WHEN 1 THEN 0 ELSE j.amount END AS used
    FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
  ), leg(seq, account, amount) AS (
    SELECT e.seq, e.owner, e.back FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT e.seq, e.holds, -e.back - e.used FROM entry e WHERE e.accounts IS NULL
    UNION ALL
    SELECT e.seq, e.payee, e.share FROM entry e WHERE e.phase = 2
    UNION ALL
    SELECT e.seq, 1, e.fee FROM entry e WHERE e.phase = 2
    UNION ALL
    SELECT e.seq, g.account, e.back FROM entry e, unnest(e.guards) g(account) WHERE e.guards IS NOT NULL
    UNION ALL
    SELECT e.seq, v.account, v.amount * cardinality(e.guards) FROM entry e
      CROSS JOIN LATERAL (VALUES (40, -e.back - e.used), (42, e.used)) v(account, amount)
      WHERE e.guards IS NOT NULL
    UNION ALL
    SELECT e.seq, u.account, u.amount FROM entry e, unnest(e.accounts, e.amounts) u(account, amount)
      WHERE e.accounts IS NOT NULL
  )
  SELECT l.seq, l.account, sum(l.amount)::bigint FROM leg l
  WHERE l.amount <> 0 AND (p_account IS NULL OR l.account = p_account)
  GROUP BY l.account, l.seq HAVING sum(l.amount) <> 0 $$;

-- Success and latency of services of the hub in 30 UTC days, today's the last. A refusal of the caller's own
-- input is no failure of the service; the latency is the median of what was delivered.
CREATE OR REPLACE FUNCTION hub.refresh_service_signals() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  v_after date := (now() AT TIME ZONE 'UTC')::date - 30;
  v_changed integer;
BEGIN
  UPDATE search_document d SET (calls, delivered, latency_ms, uptime) =
      (s.calls, s.delivered, s.latency, s.uptime)
    FROM (SELECT f.service AS id, least(f.calls, 2147483647)::integer AS calls,
        least(f.up, 2147483647)::integer AS delivered, (100.0 * f.up / f.calls)::real AS uptime,
        (SELECT l.ms FROM (SELECT u.ms, sum(sum(u.calls)) OVER (ORDER BY u.ms) AS upto,
            sum(sum(u.calls)) OVER () AS of
          FROM outcome_day o CROSS JOIN LATERAL unnest(o.ms, o.calls) u(ms, calls)
          WHERE o.service = f.service AND o.day > v_after AND o.outcome = 'delivered' GROUP BY u.ms) l
        WHERE l.upto * 2 >= l.of ORDER BY l.ms LIMIT 1) AS latency
      FROM (SELECT service, sum(calls) AS calls, sum(up) AS up
        FROM service_day WHERE day > v_after GROUP BY service HAVING sum(calls) > 0) f) s
    WHERE d.kind = 'native' AND d.id = s.id AND (d.calls, d.delivered, d.latency_ms, d.uptime)
      IS DISTINCT FROM (s.calls, s.delivered, s.latency, s.uptime);
  GET DIAGNOSTICS v_changed = ROW_COUNT;
  RETURN v_changed;
END $$;
