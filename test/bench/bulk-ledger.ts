import type { Pool } from 'pg'

export interface BulkOptions {
  readonly shards: number
  /** Number of keys with credits, over all shards. */
  readonly agents: number
  /** Number of providers; the first receives half of all calls. */
  readonly providers: number
  /** Entries under one seal, all with the same time. At least 10. */
  readonly batch: number
  /** Time of the first batch, and the interval between batches. */
  readonly start: Date
  readonly stepMs: number
}

export interface BulkLedger {
  readonly agents: readonly string[]
  readonly providers: readonly string[]
  /** Posts `batches` more batches on every shard; odd ones reserve, even ones resolve. */
  load(batches: number): Promise<void>
}

const CALLS_PER_STATEMENT = 20_000

/**
 * Ledger as real calls would have left it, written in bulk as the database owner: leaves, seals,
 * heads and balances are valid, so that verification reports nothing. Every agent first buys
 * credits; then calls are reserved and resolved, with a purchase, a grant, and receipts posted
 * after their value date.
 */
export async function bulkLedger(owner: Pool, options: BulkOptions): Promise<BulkLedger> {
  const { shards, agents, providers, batch, start, stepMs } = options
  const perShard = Math.ceil(agents / shards)
  await owner.query(
    'SELECT ledger.open_shard(s::smallint) FROM generate_series(0, $1::int - 1) s',
    [shards],
  )
  await owner.query(ACCOUNTS, [shards, perShard, providers])
  await owner.query(FUNCTIONS)
  const slice = Math.max(2, 2 * Math.floor(CALLS_PER_STATEMENT / batch / 2))
  let loaded = 0
  return {
    agents: Array.from(
      { length: shards * perShard },
      (_, i) => `liabilities:agents:bulk-${i}:credits`,
    ),
    providers: Array.from({ length: providers }, (_, i) => `liabilities:providers:bulk-${i}:x`),
    async load(batches) {
      const [from, to] = [loaded, loaded + batches]
      const one = async (shard: number): Promise<void> => {
        for (let done = from; done < to; done += slice) {
          const values = [shard, done, Math.min(done + slice, to), batch, perShard, providers]
          await owner.query('SELECT bulk.book($1, $2, $3, $4, $5, $6, $7, $8)', [
            ...values,
            start,
            stepMs,
          ])
        }
        await owner.query('SELECT bulk.balance($1, $2)', [shard, BigInt(from) * BigInt(batch)])
      }
      await Promise.all(Array.from({ length: shards }, (_, shard) => one(shard)))
      loaded = to
    },
  }
}

const ACCOUNTS = `
  WITH opened AS (
    INSERT INTO ledger.account (id, code, asset, home)
    SELECT 1000000 + g, 'liabilities:agents:bulk-' || g || ':credits', 1, g % $1::int
      FROM generate_series(0, $1::int * $2::int - 1) g
    UNION ALL
    SELECT 2000000 + g, 'liabilities:providers:bulk-' || g || ':x', 1, NULL
      FROM generate_series(0, $3::int - 1) g
    RETURNING *)
  INSERT INTO ledger.balance (account, shard, asset, floor)
  SELECT o.id, h.shard, 1, 0 FROM opened o JOIN ledger.head h ON h.shard = o.home OR o.home IS NULL`

/** Generates row i of batch b (both from 0) on a shard, deterministically. */
const ROWS = `
  SELECT (lpad(to_hex((extract(epoch FROM p_start + reserved * p_step) * 1000)::bigint), 12, '0')
      || '7' || lpad(to_hex(i), 3, '0') || '8' || lpad(to_hex(p_shard::integer), 3, '0')
      || lpad(to_hex(reserved), 12, '0'))::uuid AS id,
    CASE WHEN kind = 17 THEN 3 ELSE agent END AS owner, (b::bigint * p_batch + i + 1) AS seq,
    p_start + b * p_step AS at,
    CASE kind WHEN 1 THEN held WHEN 2 THEN charged ELSE 0 END AS amount,
    CASE kind WHEN 2 THEN held - charged WHEN 3 THEN held ELSE 0 END AS rest,
    CASE kind WHEN 2 THEN charged / 10 ELSE 0 END AS fee,
    CASE WHEN kind < 4 THEN payee ELSE 0 END AS payee,
    CASE kind WHEN 1 THEN p_start + (b + 2) * p_step END AS expires_at,
    CASE WHEN kind < 4 THEN 1 ELSE 0 END AS endpoint,
    CASE WHEN kind < 4 THEN 1 ELSE 0 END AS price_version,
    (CASE WHEN kind < 4 THEN 1000 ELSE 0 END)::smallint AS bps, 1::smallint AS asset,
    p_shard AS shard, kind,
    CASE WHEN kind = 1 THEN 1 WHEN kind < 4 THEN 2 ELSE 0 END::smallint AS phase,
    NULL::bigint[] AS guards,
    CASE kind WHEN 16 THEN ARRAY[4, agent] WHEN 17 THEN ARRAY[3, 4]
      WHEN 25 THEN ARRAY[11, agent] END AS accounts,
    CASE WHEN kind > 3 THEN ARRAY[-sum, sum] END AS amounts,
    CASE WHEN kind IN (16, 17) AND b >= funding
      THEN p_start + b * p_step - p_step * (h % 1000) / 40 END AS effective_at,
    CASE WHEN kind > 3 THEN '{"bulk": true}'::jsonb END AS meta
  FROM (SELECT d.*, CASE kind WHEN 2 THEN d.b - 1 WHEN 3 THEN d.b - 1 ELSE d.b END AS reserved,
      1000000 + p_shard + (SELECT count(*) FROM ledger.head) * CASE WHEN d.b < funding
        THEN (d.b * p_batch + d.i) % p_agents ELSE d.h % p_agents END AS agent,
      2000000 + CASE d.h % 2 WHEN 0 THEN 0 ELSE d.h / 2 % p_providers END AS payee,
      1000 + d.h % 5000 AS held,
      CASE d.h % 20 WHEN 7 THEN (1000 + d.h % 5000) * 2 / 3 ELSE 1000 + d.h % 5000 END AS charged,
      CASE WHEN d.b < funding THEN 1000000000000 ELSE 5000000 + d.h % 777 END AS sum
    FROM (SELECT b, i, funding, CASE
          WHEN b < funding THEN 16 WHEN i = p_batch - 1 THEN 16 + b % 2 WHEN i = p_batch - 2 THEN 25
          WHEN b % 2 = 0 THEN 1 WHEN i % 50 = 3 THEN 3 ELSE 2 END::smallint AS kind,
        -- a call has one number for both of its steps
        abs(hashint8(p_shard + 10 * (i + 4096 * (CASE WHEN b < funding OR i >= p_batch - 2 THEN b
          ELSE b / 2 * 2 END)::bigint)))::bigint AS h
      FROM generate_series(p_from, p_to - 1) b, generate_series(0, p_batch - 1) i,
        (SELECT (p_agents + p_batch - 1) / p_batch / 2 * 2 + 2 AS funding) f) d) r`

const FUNCTIONS = `
CREATE SCHEMA bulk;
CREATE FUNCTION bulk.book(p_shard smallint, p_from integer, p_to integer, p_batch integer,
  p_agents integer, p_providers integer, p_start timestamptz, p_step_ms integer
) RETURNS void LANGUAGE plpgsql SET synchronous_commit = off AS $$
DECLARE
  p_step interval := make_interval(secs => p_step_ms / 1000.0);
  link bytea;
  next bytea;
BEGIN
  INSERT INTO ledger.journal SELECT x.*, sha256(record_send(ROW(x.*))) FROM (${ROWS}) x;
  SELECT hash INTO link FROM ledger.head WHERE shard = p_shard;
  FOR b IN p_from..p_to - 1 LOOP
    SELECT sha256(link || string_agg(j.leaf, '' ORDER BY j.seq)) INTO next FROM ledger.journal j
      WHERE j.shard = p_shard AND j.seq > b::bigint * p_batch AND j.seq <= (b + 1)::bigint * p_batch
        AND j.id >= ledger.first_id(p_start + (b - 1) * p_step)
        AND j.id < ledger.first_id(p_start + (b + 1) * p_step);
    INSERT INTO ledger.seal VALUES (p_shard, b::bigint * p_batch + 1, (b + 1)::bigint * p_batch,
      p_start + b * p_step, link, next);
    link := next;
  END LOOP;
  UPDATE ledger.head SET seq = p_to::bigint * p_batch, hash = link,
    at = p_start + (p_to - 1) * p_step WHERE shard = p_shard;
END $$;

CREATE FUNCTION bulk.balance(p_shard smallint, p_after bigint) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN
  WITH change AS (
    SELECT j.owner AS account, sum(CASE j.phase WHEN 1 THEN -j.amount ELSE j.rest END) AS amount
      FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.phase > 0 GROUP BY 1
    UNION ALL
    SELECT 2, sum(CASE j.phase WHEN 1 THEN j.amount ELSE -j.rest - j.amount END)
      FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.phase > 0
    UNION ALL
    SELECT j.payee, sum(j.amount - j.fee)
      FROM ledger.journal j WHERE j.shard = p_shard AND j.seq > p_after AND j.phase = 2 GROUP BY 1
    UNION ALL
    SELECT 1, sum(j.fee) FROM ledger.journal j
      WHERE j.shard = p_shard AND j.seq > p_after AND j.phase = 2
    UNION ALL
    SELECT u.account, sum(u.amount)
      FROM ledger.journal j, unnest(j.accounts, j.amounts) u(account, amount)
      WHERE j.shard = p_shard AND j.seq > p_after AND j.phase = 0 GROUP BY 1)
  UPDATE ledger.balance b SET balance = b.balance + c.amount
    FROM (SELECT account, sum(amount)::bigint AS amount FROM change GROUP BY 1) c
    WHERE b.account = c.account AND b.shard = p_shard;
END $$;`
