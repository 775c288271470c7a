import type { Pool, PoolClient } from 'pg'

/** One invariant of the books, and how often it is broken. */
export interface Check {
  readonly name: string
  /** How many rows, accounts or links break it; 0 when it holds. */
  readonly bad: bigint
  /** The first offender: a row as `shard 0 seq 17 id …`, or an account by its code. */
  readonly example?: string
}

export interface Verification {
  readonly ok: boolean
  readonly checks: readonly Check[]
}

/**
 * Each answers the offenders as (shard, seq, example). All work is done by aggregates and joins of
 * the database, which spill to its disk; one row of each comes back.
 */
const CHECKS: Readonly<Record<string, string>> = {
  'balances sum to zero for each asset': `
    SELECT b.shard, NULL::bigint AS seq,
      format('%s: the balances sum to %s', s.code, sum(b.balance)) AS example
    FROM ledger.balance b JOIN ledger.asset s ON s.id = b.asset
    GROUP BY b.shard, s.code HAVING sum(b.balance) <> 0`,

  'each balance is the sum of its postings': `
    SELECT coalesce(b.shard, p.shard) AS shard, NULL::bigint AS seq,
      format('%s: balance %s, postings %s', coalesce(a.code, 'account ' || p.account),
        coalesce(b.balance::text, 'missing'), coalesce(p.total, 0)) AS example
    FROM (SELECT j.shard, l.account, sum(l.amount) AS total
      FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(j) l GROUP BY j.shard, l.account) p
    FULL JOIN ledger.balance b ON b.account = p.account AND b.shard = p.shard
    LEFT JOIN ledger.account a ON a.id = b.account
    WHERE b.account IS NULL OR b.balance <> coalesce(p.total, 0) OR b.asset <> a.asset`,

  'every entry is balanced for each asset': `
    SELECT e.shard, e.seq, format('shard %s seq %s id %s: %s in asset %s', e.shard, e.seq, e.id,
      e.total, coalesce(e.asset::text, 'unknown')) AS example
    FROM (SELECT j.shard, j.seq, j.id, a.asset, sum(l.amount) AS total
      FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(j) l
      LEFT JOIN ledger.account a ON a.id = l.account
      GROUP BY j.shard, j.seq, j.id, a.asset) e
    WHERE e.total <> 0 OR e.asset IS NULL`,

  'the control accounts hold what open holds hold': `
    SELECT b.shard, NULL::bigint AS seq,
      format('%s: balance %s, open holds %s', a.code, b.balance, coalesce(h.held, 0)) AS example
    FROM ledger.asset s
    JOIN ledger.account a ON a.id = ledger.holds_account(s.id)
    JOIN ledger.balance b ON b.account = a.id
    LEFT JOIN (SELECT o.shard, u.asset, sum(u.held) AS held FROM ledger.open_hold o
      CROSS JOIN LATERAL (VALUES (o.asset, o.amount::numeric),
        (4, o.amount::numeric * coalesce(cardinality(o.guards), 0))) u(asset, held)
      GROUP BY o.shard, u.asset) h ON h.shard = b.shard AND h.asset = s.id
    WHERE b.balance <> coalesce(h.held, 0)`,

  'no balance is below its floor': `
    SELECT b.shard, NULL::bigint AS seq,
      format('%s: balance %s, floor %s', a.code, b.balance, b.floor) AS example
    FROM ledger.balance b LEFT JOIN ledger.account a ON a.id = b.account
    WHERE b.balance < b.floor`,

  'every outcome has its reserve, and the same terms': `
    SELECT s.shard, s.seq, format('shard %s seq %s id %s: %s', s.shard, s.seq, s.id,
      CASE WHEN r.id IS NULL THEN 'no reserve' ELSE format('charged %s, given back %s of %s, or '
        'other terms than the reserve', s.amount, s.rest, r.amount) END) AS example
    FROM ledger.journal s
    LEFT JOIN ledger.journal r ON r.owner = s.owner AND r.id = s.id AND r.phase = 1
    WHERE s.phase = 2 AND (r.id IS NULL OR s.amount::numeric + s.rest <> r.amount
      OR s.fee <> div(s.amount::numeric * s.bps, 10000)
      OR s.seq <= r.seq
      OR (s.shard, s.payee, s.bps, s.asset, s.endpoint, s.price_version, s.guards) IS DISTINCT FROM
        (r.shard, r.payee, r.bps, r.asset, r.endpoint, r.price_version, r.guards))`,

  'a hold has one outcome at most': `
    SELECT min(j.shard) AS shard, min(j.seq) AS seq, format('shard %s seq %s id %s: %s outcomes',
      min(j.shard), min(j.seq), j.id, count(*)) AS example
    FROM ledger.journal j WHERE j.phase = 2 GROUP BY j.owner, j.id HAVING count(*) > 1`,

  'the sequence has no gaps and ends at the head': `
    SELECT o.shard, o.seq, CASE WHEN o.seq <= o.before
        THEN format('shard %s seq %s id %s: a number used twice', o.shard, o.seq, o.id)
      WHEN o.at_head THEN format('shard %s: the head is at %s, the journal at %s', o.shard,
        o.seq - 1, o.before)
      ELSE format('shard %s seq %s is missing', o.shard, o.before + 1) END AS example
    FROM (SELECT r.*, coalesce(lag(r.seq) OVER (PARTITION BY r.shard ORDER BY r.at_head, r.seq), 0)
        AS before
      FROM (SELECT j.shard, j.seq, j.id, false AS at_head FROM ledger.journal j
        UNION ALL SELECT h.shard, h.seq + 1, NULL, true FROM ledger.head h) r) o
    WHERE o.seq <> o.before + 1`,

  'every row is as it was written': `
    SELECT j.shard, j.seq, format('shard %s seq %s id %s', j.shard, j.seq, j.id) AS example
    FROM ledger.journal j WHERE j.leaf IS DISTINCT FROM ledger.leaf(j)`,

  'the seals are one unbroken chain up to the head': `
    SELECT c.shard, c.seq_to AS seq, format('shard %s seal of seq %s to %s', c.shard, c.seq_from,
      c.seq_to) AS example
    FROM (SELECT l.*, coalesce(lag(l.hash) OVER w, '\\x00') AS before,
        coalesce(lag(l.seq_to) OVER w, 0) AS before_to
      FROM (SELECT shard, seq_from, seq_to, prev, hash, false AS at_head FROM ledger.seal
        UNION ALL SELECT shard, seq + 1, NULL, hash, NULL, true FROM ledger.head) l
      WINDOW w AS (PARTITION BY l.shard ORDER BY l.at_head, l.seq_to)) c
    WHERE c.prev <> c.before OR c.seq_from <> c.before_to + 1`,

  // Rows and seals in one order: a row belongs to the last seal that starts at or before it.
  'every row is under its seal': `
    SELECT g.shard, min(g.seq) AS seq, format('shard %s seq %s to %s', g.shard, min(g.seq),
      max(g.seq)) AS example
    FROM (SELECT u.*, count(u.seq_to) OVER (PARTITION BY u.shard
        ORDER BY u.seq, u.leaf IS NOT NULL ROWS UNBOUNDED PRECEDING) AS link
      FROM (SELECT shard, seq_from AS seq, seq_to, prev, hash, NULL::bytea AS leaf FROM ledger.seal
        UNION ALL SELECT shard, seq, NULL, NULL, NULL, leaf FROM ledger.journal) u) g
    GROUP BY g.shard, g.link
    HAVING g.link = 0 OR count(g.leaf) <> max(g.seq_to) - min(g.seq) + 1
      OR sha256(string_agg(g.prev, '') || string_agg(g.leaf, '' ORDER BY g.seq))
        IS DISTINCT FROM string_agg(g.hash, '')`,
}

/**
 * Proves the books: rebuilds every balance from the journal, and checks the holds, the sequence and
 * the chain of seals, on one snapshot and beside running calls. It reads everything: about 20 s on
 * two cores for a million entries.
 * @throws Error when the database cannot be read; broken books are an answer, not an error
 */
export async function verifyLedger(pool: Pool): Promise<Verification> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // Holds and their outcomes share a partition, so that joins need no more than one at a time.
    await client.query(
      `SET LOCAL statement_timeout = 0; SET LOCAL enable_partitionwise_join = on;
       SET LOCAL enable_partitionwise_aggregate = on; SET LOCAL jit = off`,
    )
    const checks: Check[] = []
    for (const [name, sql] of Object.entries(CHECKS)) checks.push(await run(client, name, sql))
    await client.query('COMMIT')
    return { ok: checks.every(({ bad }) => bad === 0n), checks }
  } catch (error) {
    failure = error as Error
    throw error
  } finally {
    client.release(failure)
  }
}

async function run(client: PoolClient, name: string, sql: string): Promise<Check> {
  const { rows } = await client.query<{ bad: string; example: string }>(
    `SELECT (count(*) OVER ())::text AS bad, v.example FROM (${sql}) v
     ORDER BY v.shard, v.seq, v.example LIMIT 1`,
  )
  const [first] = rows
  return first ? { name, bad: BigInt(first.bad), example: first.example } : { name, bad: 0n }
}
