import type { PoolClient } from 'pg'
import { type IdRange, rangeScope, rowChecks, type Scope, singleOutcomeChecks } from './checks.ts'
import type { Findings } from './findings.ts'
import { runChecks } from './run-checks.ts'

const CONTROL = 'the control accounts equal the sum of open holds'

/**
 * Checks the rows of the journal, their references and their holds, partition by partition: a join
 * over all of them would hold the calls of every month in memory at once.
 * @param parts parts of the ledger that one statement can check
 */
export async function checkPartitions(
  client: PoolClient,
  shards: readonly number[],
  parts: readonly Scope[],
  findings: Findings,
): Promise<void> {
  const ranges = await readRanges(client)
  for (const range of ranges) {
    for (const part of parts) {
      const scope = rangeScope(range, part)
      await runChecks(client, { ...rowChecks(scope), ...singleOutcomeChecks(scope) }, findings)
    }
  }
  findings.list(CONTROL)
  for (const shard of shards) await checkControlAccounts(client, shard, ranges, findings)
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
     WHERE i.inhparent = $1::regclass ORDER BY 1`,
    ['ledger.journal'],
  )
  const bounds = [null, ...rows.map(({ bound }) => bound), null]
  return bounds.slice(1).map((next, i) => ({ first: bounds[i] ?? null, next }))
}

async function checkControlAccounts(
  client: PoolClient,
  shard: number,
  ranges: readonly IdRange[],
  findings: Findings,
): Promise<void> {
  const held = new Map<number, bigint>()
  for (const range of ranges) {
    const { rows } = await client.query<{ asset: number; held: string }>(
      `SELECT u.asset, sum(u.held)::text AS held FROM ledger.open_hold o
       CROSS JOIN LATERAL (VALUES (o.asset, o.amount::numeric),
         (4, o.amount::numeric * coalesce(cardinality(o.guards), 0))) u(asset, held)
       WHERE o.shard = $1 AND ${rangeScope(range).rows('o')} GROUP BY u.asset`,
      [shard],
    )
    for (const { asset, held: sum } of rows) held.set(asset, (held.get(asset) ?? 0n) + BigInt(sum))
  }
  const { rows } = await client.query<{ asset: number; code: string; balance: bigint }>(
    `SELECT s.id AS asset, a.code, b.balance
     FROM ledger.asset s JOIN ledger.account a ON a.id = ledger.holds_account(s.id)
     JOIN ledger.balance b ON b.account = a.id WHERE b.shard = $1 ORDER BY a.code`,
    [shard],
  )
  for (const { asset, code, balance } of rows) {
    const sum = held.get(asset) ?? 0n
    if (balance !== sum) findings.add(CONTROL, `${code}: balance ${balance}, open holds ${sum}`)
  }
}
