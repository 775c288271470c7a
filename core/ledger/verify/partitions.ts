import type { PoolClient } from 'pg'
import { type IdRange, rangeScope, rowChecks, singleOutcomeChecks } from './checks.ts'
import type { Findings } from './findings.ts'
import { runChecks } from './run-checks.ts'

const CONTROL = 'the control accounts equal the sum of open holds'

/** Open holds of a shard in one asset. */
interface HeldSum {
  readonly shard: number
  readonly asset: number
  readonly held: string
}

/**
 * Checks the rows of the journal, their references and their holds, partition by partition: a join
 * over all of them would hold the calls of every month in memory at once.
 */
export async function checkPartitions(client: PoolClient, findings: Findings): Promise<void> {
  const held = new Map<string, bigint>()
  for (const range of await readRanges(client)) {
    const scope = rangeScope(range)
    await runChecks(client, { ...rowChecks(scope), ...singleOutcomeChecks(scope) }, findings)
    for (const { shard, asset, held: sum } of await sumOpenHolds(client, range)) {
      const key = `${shard} ${asset}`
      held.set(key, (held.get(key) ?? 0n) + BigInt(sum))
    }
  }
  await checkControlAccounts(client, held, findings)
}

/**
 * Splits all ids at the bounds of the partitions, whatever these are: each row is in one range,
 * also that of a partition which somebody attached.
 */
async function readRanges(client: PoolClient): Promise<readonly IdRange[]> {
  const { rows } = await client.query<{ bound: string }>(
    `SELECT DISTINCT b.found[1]::uuid AS bound
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     CROSS JOIN LATERAL
       regexp_matches(pg_get_expr(c.relpartbound, c.oid), $$'([^']*)'$$, 'g') b(found)
     WHERE i.inhparent = 'ledger.journal'::regclass ORDER BY 1`,
  )
  const bounds = [null, ...rows.map(({ bound }) => bound), null]
  return bounds.slice(1).map((next, i) => ({ first: bounds[i] ?? null, next }))
}

async function sumOpenHolds(client: PoolClient, range: IdRange): Promise<readonly HeldSum[]> {
  const { rows } = await client.query<HeldSum>(
    `SELECT o.shard, u.asset, sum(u.held)::text AS held FROM ledger.open_hold o
     CROSS JOIN LATERAL (VALUES (o.asset, o.amount::numeric),
       (4, o.amount::numeric * coalesce(cardinality(o.guards), 0))) u(asset, held)
     WHERE ${rangeScope(range).rows('o')} GROUP BY o.shard, u.asset`,
  )
  return rows
}

async function checkControlAccounts(
  client: PoolClient,
  held: ReadonlyMap<string, bigint>,
  findings: Findings,
): Promise<void> {
  findings.list(CONTROL)
  const { rows } = await client.query<{ key: string; code: string; balance: bigint }>(
    `SELECT b.shard || ' ' || s.id AS key, a.code, b.balance
     FROM ledger.asset s JOIN ledger.account a ON a.id = ledger.holds_account(s.id)
     JOIN ledger.balance b ON b.account = a.id ORDER BY b.shard, a.code`,
  )
  for (const { key, code, balance } of rows) {
    const sum = held.get(key) ?? 0n
    if (balance !== sum) findings.add(CONTROL, `${code}: balance ${balance}, open holds ${sum}`)
  }
}
