-- upgrade: expand
-- Why: a posted entry holds the head of its shard until its commit is on disk, so that concurrent sales
-- waited for one another. Entries that wait at the same time are posted by one transaction.

-- Posts entries of a shard in their order, all or none. Returns the outcome of `post` for each.
CREATE FUNCTION ledger.post_batch(p_shard smallint, p_entries jsonb) RETURNS smallint[]
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  outcomes smallint[] := '{}';
  entry record;
BEGIN
  FOR entry IN
    SELECT e.* FROM ROWS FROM (jsonb_to_recordset(p_entries) AS (owner bigint, id uuid, event text,
      accounts bigint[], amounts bigint[], effective_at timestamptz, meta jsonb)) WITH ORDINALITY e
    ORDER BY e.ordinality
  LOOP
    outcomes := outcomes || post(p_shard, entry.owner, entry.id, entry.event, entry.accounts,
      entry.amounts, entry.effective_at, entry.meta);
  END LOOP;
  RETURN outcomes;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.post_batch FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post_batch(smallint, jsonb) TO hub_finance;
