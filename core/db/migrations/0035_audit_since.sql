-- Why: whoever has proved the audit log up to a line proves what came since, without reading all again.
DROP FUNCTION hub.audit_fault();

-- The first line that is not what it was when it was written, or that does not follow the one before it.
-- With a line and its hash, kept from an earlier proof: whether that line still stands, and those after it.
CREATE FUNCTION hub.audit_fault(
  p_after bigint DEFAULT 0, p_hash bytea DEFAULT decode(repeat('00', 32), 'hex')
) RETURNS bigint LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT p_after WHERE p_after > 0 AND NOT EXISTS (SELECT FROM audit WHERE seq = p_after AND hash = p_hash)
  UNION ALL
  (SELECT l.seq FROM (SELECT a.*, lag(a.hash, 1, p_hash) OVER w AS before_it,
      p_after + row_number() OVER w AS place
    FROM audit a WHERE a.seq > p_after WINDOW w AS (ORDER BY a.seq)) l
  JOIN audit a ON a.seq = l.seq
  WHERE l.seq <> l.place OR l.prev <> l.before_it OR l.hash <> audit_hash(a) ORDER BY l.seq LIMIT 1)
  LIMIT 1 $$;
