-- upgrade: expand
-- Why: one Merkle tree (RFC 6962) over the signed checkpoints of all shards, so that one signed root covers
-- the whole journal: a reader who stored it can detect that a shard was rewritten.

-- Leaves of that tree, whose number is -1 in ledger.tree: the newest checkpoint of each shard, one cut after
-- the other. They repeat the note, because checkpoints can be distributed by shard; `verify` compares.
CREATE TABLE ledger.signed_head (
  index bigint PRIMARY KEY CHECK (index >= 0),
  shard smallint NOT NULL,
  seq bigint NOT NULL,
  audit bigint NOT NULL,
  note text NOT NULL,
  UNIQUE (shard, seq, audit)
);

-- Signed roots of that tree: C2SP signed notes.
CREATE TABLE ledger.heads_checkpoint (
  size bigint PRIMARY KEY CHECK (size > 0),
  note text NOT NULL,
  key text NOT NULL REFERENCES ledger.signing_key (id)
);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.signed_head FOR EACH ROW
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.signed_head FOR EACH STATEMENT
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.heads_checkpoint FOR EACH ROW
  EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ledger.heads_checkpoint FOR EACH STATEMENT
  EXECUTE FUNCTION ledger.refuse_change();

-- Appends the newest checkpoint of a shard, unless it is a leaf already.
CREATE FUNCTION ledger.add_signed_head(p_shard smallint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  newest checkpoint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger.add_signed_head'));
  SELECT * INTO newest FROM checkpoint c WHERE c.shard = p_shard ORDER BY c.seq DESC, c.audit DESC LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO signed_head (index, shard, seq, audit, note)
    VALUES ((SELECT coalesce(max(s.index), -1) + 1 FROM signed_head s), p_shard, newest.seq, newest.audit,
      newest.note)
    ON CONFLICT (shard, seq, audit) DO NOTHING;
END $$;

-- Stores a signed root of the tree at its size now, or does nothing if that size is signed.
CREATE FUNCTION ledger.add_heads_checkpoint(p_size bigint, p_key text, p_note text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM FROM tree t WHERE t.shard = -1 AND t.size >= p_size;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the tree of checkpoints has less than % leaves', p_size
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO heads_checkpoint (size, note, key) VALUES (p_size, p_note, p_key) ON CONFLICT DO NOTHING;
END $$;

-- Stores the tiles by which a tree grows from `p_from` to `p_to` leaves. Returns false if another process
-- has extended it. Every tile must be as wide as the new size requires.
CREATE OR REPLACE FUNCTION ledger.extend_tree(p_shard smallint, p_from bigint, p_to bigint,
  p_levels smallint[], p_indexes bigint[], p_hashes bytea[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
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
      LEFT JOIN tile t ON t.shard = p_shard AND t.level = l.level AND t.index = i.index
      WHERE octet_length(t.hashes) IS DISTINCT FROM
        32 * least(256, (p_to >> 8 * l.level) - 256 * i.index)) THEN
    RAISE EXCEPTION 'the tiles of shard % are not those of a tree of % entries', p_shard, p_to
      USING ERRCODE = 'check_violation';
  END IF;
  UPDATE tree SET size = p_to WHERE shard = p_shard;
  RETURN true;
END $$;

REVOKE EXECUTE ON FUNCTION ledger.add_signed_head, ledger.add_heads_checkpoint FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.add_signed_head, ledger.add_heads_checkpoint TO hub_app;
GRANT SELECT ON ledger.signed_head, ledger.heads_checkpoint TO hub_app;
