-- upgrade: expand
-- Why: a call whose payment to a seller had no known outcome may be continued under the same id. Its
-- record then states the outcome, instead of staying `unresolved`.
CREATE FUNCTION hub.replace_unresolved(p_records json) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
  UPDATE call c SET source = n.source, charged = n.charged, outcome = n.outcome, status = n.status,
    latency_ms = n.latency_ms, reason = n.reason, response_hash = n.response_hash
  FROM json_populate_recordset(NULL::call, p_records) n
  WHERE c.id = n.id AND c.outcome = 'unresolved' AND n.outcome <> 'unresolved' $$;
REVOKE EXECUTE ON FUNCTION hub.replace_unresolved(json) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.replace_unresolved(json) TO hub_app;
