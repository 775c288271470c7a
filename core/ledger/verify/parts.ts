import type { PoolClient } from 'pg'
import { isDistributed } from '../../db/citus/is-distributed.ts'
import { type Scope, shardScope, WHOLE_LEDGER } from './checks.ts'

/**
 * Returns the parts of the ledger that one statement can check: all of it on one server, each shard
 * by itself if Citus distributes them.
 */
export async function readParts(
  client: PoolClient,
  shards: readonly number[],
): Promise<readonly Scope[]> {
  if (!(await isDistributed(client))) return [WHOLE_LEDGER]
  return shards.map((shard) => shardScope(shard, { after: 0n, hash: Buffer.of(0) }))
}

/** Reads the closed months, and returns them as a query: (month, at). */
export async function readPeriods(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ month: string; at: string }>(
    'SELECT p.month::text AS month, p.at::text AS at FROM ledger.period p ORDER BY p.month',
  )
  const values = rows.map(({ month, at }) => `('${month}'::date, '${at}'::timestamptz)`)
  return values.length === 0
    ? 'SELECT NULL::date AS month, NULL::timestamptz AS at WHERE false'
    : `SELECT v.month, v.at FROM (VALUES ${values.join(', ')}) v(month, at)`
}

/** Reads the last sequence number of each shard. */
export async function readHeads(client: PoolClient): Promise<ReadonlyMap<number, bigint>> {
  const { rows } = await client.query<{ shard: number; seq: bigint }>(
    'SELECT shard, seq FROM ledger.head',
  )
  return new Map(rows.map(({ shard, seq }) => [shard, seq]))
}
