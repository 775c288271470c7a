-- Why: the entries of a shard form a Merkle tree (RFC 6962), with which anybody can check that an entry is in
-- the journal, and that a later journal contains an earlier one, without reading all of it.

-- Number of entries in the tree of a shard: those from seq 1.
CREATE TABLE ledger.tree (
  shard smallint PRIMARY KEY,
  size bigint NOT NULL DEFAULT 0 CHECK (size BETWEEN 0 AND 281474976710655) -- 256 ^ 6 - 1
);

-- Hashes of the trees in tiles of C2SP tlog-tiles. Only the last tile of a level has less than 256 hashes.
CREATE TABLE ledger.tile (
  shard smallint NOT NULL,
  level smallint NOT NULL CHECK (level BETWEEN 0 AND 5),
  index bigint NOT NULL CHECK (index >= 0),
  hashes bytea NOT NULL CHECK (octet_length(hashes) BETWEEN 32 AND 8192 AND octet_length(hashes) % 32 = 0),
  PRIMARY KEY (shard, level, index)
);
ALTER TABLE ledger.tile ALTER hashes SET STORAGE EXTERNAL; -- hashes cannot be compressed

-- Trees and tiles may grow, and change in no other way.
CREATE TRIGGER append_only BEFORE UPDATE ON ledger.tree FOR EACH ROW
  WHEN (NEW.shard <> OLD.shard OR NEW.size <= OLD.size) EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE ON ledger.tile FOR EACH ROW
  WHEN ((NEW.shard, NEW.level, NEW.index) <> (OLD.shard, OLD.level, OLD.index)
    OR octet_length(NEW.hashes) <= octet_length(OLD.hashes)
    OR substring(NEW.hashes FOR octet_length(OLD.hashes)) <> OLD.hashes)
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_delete BEFORE DELETE ON ledger.tree FOR EACH ROW
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_delete BEFORE DELETE ON ledger.tile FOR EACH ROW
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.tree FOR EACH STATEMENT
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.tile FOR EACH STATEMENT
  EXECUTE FUNCTION ledger.refuse_change();

-- Stores the tiles by which the tree of a shard grows from `p_from` to `p_to` entries. Returns false if
-- another process has extended it. Every tile must be as wide as the new size requires.
CREATE FUNCTION ledger.extend_tree(p_shard smallint, p_from bigint, p_to bigint, p_levels smallint[],
  p_indexes bigint[], p_hashes bytea[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  stored bigint;
  posted bigint;
BEGIN
  INSERT INTO tree (shard) VALUES (p_shard) ON CONFLICT (shard) DO NOTHING;
  SELECT t.size INTO stored FROM tree t WHERE t.shard = p_shard FOR UPDATE;
  IF stored <> p_from THEN RETURN false; END IF;
  SELECT h.seq INTO posted FROM head h WHERE h.shard = p_shard;
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
      LEFT JOIN tile t ON t.shard = p_shard AND t.level = l.level AND t.index = i.index
      WHERE octet_length(t.hashes) IS DISTINCT FROM
        32 * least(256, (p_to >> 8 * l.level) - 256 * i.index)) THEN
    RAISE EXCEPTION 'the tiles of shard % are not those of a tree of % entries', p_shard, p_to
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE tree SET size = p_to WHERE shard = p_shard;
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION ledger.extend_tree FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.extend_tree TO hub_app;
GRANT SELECT ON ledger.tree, ledger.tile TO hub_app;
