-- Why: which accounts the house has, how others are opened, and what every event does to them.

-- ── The chart of accounts of the house ──────────────────────────────────────────────────────

INSERT INTO ledger.account (id, code, asset) VALUES
  (1, 'income:commission', 1),
  (2, 'liabilities:holds', 1),
  (3, 'assets:usdc:base:treasury', 1),
  (4, 'assets:usdc:base:in-transit', 1),
  (5, 'assets:usdc:base:spend', 1),
  (6, 'liabilities:x402-out:in-transit', 1),
  (7, 'liabilities:payouts:in-transit', 1),
  (8, 'liabilities:suspense', 1),
  (9, 'assets:receivable:providers', 1),
  (10, 'income:breakage', 1),
  (11, 'expenses:free-tier', 1),
  (12, 'expenses:gas', 1),
  (13, 'equity:opening', 1),
  (14, 'expenses:facilitator', 1),
  (15, 'expenses:x402-loss', 1),
  (16, 'expenses:reconciliation-difference', 1),
  (17, 'expenses:bad-debt', 1),
  (18, 'equity:conversion:usdc', 1),
  (20, 'assets:eth:base:gas', 2),
  (21, 'equity:conversion:eth', 2),
  (22, 'equity:opening-eth', 2),
  (30, 'liabilities:free-calls:holds', 3),
  (31, 'equity:free-calls:granted', 3),
  (32, 'equity:free-calls:used', 3),
  (40, 'liabilities:allowances:holds', 4),
  (41, 'equity:allowances:granted', 4),
  (42, 'equity:allowances:used', 4);

-- Opens a shard: its head, and its balance of every account that all shards have.
CREATE FUNCTION ledger.open_shard(p_shard smallint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO head (shard) VALUES (p_shard) ON CONFLICT DO NOTHING;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT id, p_shard, asset, CASE class WHEN 'liabilities' THEN 0 END FROM account WHERE home IS NULL
    ON CONFLICT DO NOTHING $$;
SELECT ledger.open_shard(0::smallint);

-- Gives the account of a code, opening it when it is new. With a home it has one balance, on that
-- shard; without, one on every shard. What the house owes never falls below zero.
CREATE FUNCTION ledger.open_account(
  p_code text, p_asset smallint, p_home smallint DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  opened bigint;
BEGIN
  SELECT id INTO opened FROM account WHERE code = p_code;
  IF FOUND THEN RETURN opened; END IF;
  INSERT INTO account (code, asset, home) VALUES (p_code, p_asset, p_home)
    ON CONFLICT (code) DO NOTHING RETURNING id INTO opened;
  IF opened IS NULL THEN -- somebody else opened it meanwhile
    SELECT id INTO STRICT opened FROM account WHERE code = p_code;
    RETURN opened;
  END IF;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT opened, shard, p_asset, CASE WHEN p_code LIKE 'liabilities:%' THEN 0 END
    FROM head WHERE p_home IS NULL OR shard = p_home;
  RETURN opened;
END $$;

-- ── Event → postings, in the database ───────────────────────────────────────────────────────
-- The accounts that calls touch beside their owner and payee, by the asset of the call.
CREATE FUNCTION ledger.holds_account(asset smallint) RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN CASE asset WHEN 1 THEN 2 WHEN 3 THEN 30 WHEN 4 THEN 40 END::bigint;

-- The legs of one row; core/ledger/postings.ts says the same, and a property test holds them equal.
CREATE FUNCTION ledger.legs(j ledger.journal)
RETURNS TABLE (n bigint, account bigint, amount bigint) LANGUAGE sql STABLE AS $$
  SELECT u.n, u.account, u.amount
  FROM unnest(
    coalesce(j.accounts,
      ARRAY[j.owner, ledger.holds_account(j.asset), j.payee, 1]
        || CASE WHEN j.guards IS NOT NULL THEN j.guards || ARRAY[40, 42]::bigint[] END),
    coalesce(j.amounts, CASE j.phase
      WHEN 1 THEN ARRAY[-j.amount, j.amount, 0, 0]
        || CASE WHEN j.guards IS NOT NULL
          THEN array_fill(-j.amount, ARRAY[cardinality(j.guards)])
            || ARRAY[j.amount * cardinality(j.guards), 0] END
      ELSE ARRAY[j.rest, -j.amount - j.rest, j.amount - j.fee, j.fee]
        || CASE WHEN j.guards IS NOT NULL
          THEN array_fill(j.rest, ARRAY[cardinality(j.guards)])
            || ARRAY[(-j.amount - j.rest) * cardinality(j.guards),
              j.amount * cardinality(j.guards)] END
      END)) WITH ORDINALITY u(account, amount, n)
  WHERE u.amount <> 0 $$;

CREATE VIEW ledger.posting AS
  SELECT j.shard, j.seq, l.n, j.id, j.owner, j.phase, k.event, j.at,
    coalesce(j.effective_at, j.at) AS effective_at, a.code AS account, s.code AS asset, l.amount,
    l.account AS account_id
  FROM ledger.journal j
  JOIN ledger.kind k ON k.id = j.kind
  CROSS JOIN LATERAL ledger.legs(j) l
  JOIN ledger.account a ON a.id = l.account
  JOIN ledger.asset s ON s.id = a.asset;

CREATE VIEW ledger.open_hold AS
  SELECT r.* FROM ledger.journal r
  WHERE r.phase = 1 AND NOT EXISTS (
    SELECT FROM ledger.journal s WHERE s.owner = r.owner AND s.id = r.id AND s.phase = 2);

-- The leaf of a row: sha256 over PostgreSQL's binary form (record_send) of the row of its columns
-- `id` to `meta`, in the order of the table: the count of columns, then for each its type's OID,
-- its length in bytes (-1: null) and its bytes, all integers big-endian.
CREATE FUNCTION ledger.leaf(j ledger.journal) RETURNS bytea LANGUAGE sql STABLE RETURN
  sha256(record_send(ROW(j.id, j.owner, j.seq, j.at, j.amount, j.rest, j.fee, j.payee,
    j.expires_at, j.endpoint, j.price_version, j.bps, j.asset, j.shard, j.kind, j.phase,
    j.guards, j.accounts, j.amounts, j.effective_at, j.meta)));
