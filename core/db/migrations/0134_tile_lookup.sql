-- upgrade: expand
-- Why: each page of leaves read the index of all tiles of the tree to check those that it had stored.
CREATE OR REPLACE FUNCTION ledger.extend_tree(p_shard smallint, p_from bigint, p_to bigint,
  p_levels smallint[], p_indexes bigint[], p_hashes bytea[])
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  stored bigint;
  posted bigint;
BEGIN
  INSERT INTO tree (shard) VALUES (p_shard) ON CONFLICT (shard) DO NOTHING;
  SELECT t.size INTO stored FROM tree t WHERE t.shard = p_shard FOR UPDATE;
  IF stored <> p_from THEN RETURN false; END IF;
  IF p_shard = -1 THEN
    SELECT max(s.index) + 1 INTO posted FROM signed_head s;
  ELSE
    SELECT h.seq INTO posted FROM head h WHERE h.shard = p_shard;
  END IF;
  IF p_to <= p_from OR p_to > posted IS NOT FALSE THEN
    RAISE EXCEPTION 'shard % has no entries % to %', p_shard, p_from + 1, p_to
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO tile (shard, level, index, hashes)
    SELECT p_shard, u.level, u.index, u.hashes
    FROM unnest(p_levels, p_indexes, p_hashes) u(level, index, hashes)
    ON CONFLICT (shard, level, index) DO UPDATE SET hashes = excluded.hashes;
  IF EXISTS (SELECT 1 FROM generate_series(0, 5) l(level)
      CROSS JOIN LATERAL generate_series(p_from >> 8 * l.level >> 8,
        ((p_to >> 8 * l.level) - 1) >> 8) i(index)
      WHERE (SELECT octet_length(t.hashes) FROM tile t
          WHERE t.shard = p_shard AND t.level = l.level AND t.index = i.index) IS DISTINCT FROM
        32 * least(256, (p_to >> 8 * l.level) - 256 * i.index)) THEN
    RAISE EXCEPTION 'the tiles of shard % are not those of a tree of % entries', p_shard, p_to
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE tree SET size = p_to WHERE shard = p_shard;
  RETURN true;
END $$;
