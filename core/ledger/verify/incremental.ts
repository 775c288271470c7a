import type { Pool, PoolClient } from 'pg'
import type { SigningKey } from '../../crypto/signing-key.ts'
import { type Note, signCheckpoint } from '../checkpoint.ts'
import { CheckpointVerifier, signedBalancesCheck, type TrustAnchors } from './checkpoints.ts'
import {
  balanceChecks,
  balanceSumChecks,
  orderChecks,
  outcomeChecks,
  rowChecks,
  shardScope,
} from './checks.ts'
import { Findings, type Verification } from './findings.ts'
import { inSnapshot, runChecks } from './run-checks.ts'

export interface VerifySinceOptions extends TrustAnchors {
  /** Signs a checkpoint at the end of a sound run; if omitted, nothing is written. */
  readonly key?: SigningKey
  /** Approximate number of rows per shard and run. @defaultValue 200000 */
  readonly limit?: bigint
}

export interface ShardProgress {
  readonly shard: number
  /** Exclusive start of the verified rows. */
  readonly from: bigint
  /** Inclusive end of the verified rows. */
  readonly to: bigint
  /** Rows left for the next run. */
  readonly behind: bigint
  readonly checkpoint?: string
}

export interface IncrementalVerification extends Verification {
  readonly shards: readonly ShardProgress[]
}

const ROWS_PER_RUN = 200_000n
const JOURNAL_START: Pick<Note, 'seq' | 'hash'> = { seq: 0n, hash: Buffer.of(0) }
/** SQLSTATEs raised when another process verified the shard in the meantime. */
const CONFLICT_STATES = new Set(['40001', '23505'])

/**
 * Verifies the entries posted since the newest checkpoint, and signs the next checkpoint. New rows
 * are checked as in `verifyLedger`. Balances must equal the signed balances of the checkpoint plus
 * the postings since. The seal signed by the checkpoint proves that earlier history is unchanged.
 * A shard with a large backlog takes several runs; the last one compares its balances. One process
 * at a time verifies a shard; others skip it.
 *
 * Only `verifyLedger` detects older rows changed without their seals, changed snapshots, and
 * changed older checkpoints.
 * @throws Error if the database cannot be read or written; a broken ledger is not an error
 */
export async function verifySince(
  pool: Pool,
  options: VerifySinceOptions = {},
): Promise<IncrementalVerification> {
  const { key } = options
  if (key) {
    await pool.query('SELECT ledger.add_signing_key($1, $2)', [key.id, key.publicKey])
  }
  const findings = new Findings()
  const shards: ShardProgress[] = []
  const { rows } = await pool.query<{ shard: number }>(
    'SELECT shard FROM ledger.head ORDER BY shard',
  )
  for (const { shard } of rows) {
    const shardFindings = new Findings()
    try {
      const progress = await inSnapshot(pool, 'READ WRITE', (client) =>
        verifyShard(client, shard, shardFindings, options),
      )
      findings.include(shardFindings)
      if (progress) shards.push(progress)
    } catch (error) {
      if (!CONFLICT_STATES.has((error as { code?: string }).code ?? '')) throw error
    }
  }
  return { ...findings.result(), shards }
}

async function verifyShard(
  client: PoolClient,
  shard: number,
  findings: Findings,
  { key, limit = ROWS_PER_RUN, ...trust }: VerifySinceOptions,
): Promise<ShardProgress | undefined> {
  const { rows: lock } = await client.query<{ mine: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtext('ledger.verify_since'), $1) AS mine`,
    [shard],
  )
  if (!lock[0]!.mine) return undefined
  const reader = await CheckpointVerifier.open(client, findings, trust)
  const newest = await reader.checkNewest(shard)
  if (trust.checkpoints !== undefined) await reader.checkExternal(trust.checkpoints, shard)
  await runChecks(client, signedBalancesCheck(shard, newest), findings)
  const { seq: from, hash } = newest ?? JOURNAL_START
  const { head, to } = await findEnd(client, shard, from, limit)
  const reachesHead = to === head
  const scope = shardScope(shard, { after: from, hash, ...(reachesHead ? {} : { upto: to }) })
  const sums = `SELECT ${shard} AS shard, v.account, v.balance AS total
    FROM ledger.verified_at(${shard}::smallint, ${from}, ${to}) v`
  await runChecks(client, balanceChecks(scope), findings)
  if (reachesHead) await runChecks(client, balanceSumChecks(sums, scope), findings)
  // Statistics of a young journal make a sequential scan look cheap.
  await client.query('SET LOCAL enable_seqscan = off')
  await runChecks(
    client,
    { ...rowChecks(scope), ...orderChecks(scope), ...outcomeChecks(scope) },
    findings,
  )
  const progress = { shard, from, to, behind: head - to }
  if (!key || !findings.isSound || to === from) return progress
  const checkpoint = await addCheckpoint(client, { shard, from, to, ledger: reader.ledger }, key)
  return { ...progress, checkpoint }
}

/** Returns the head and the end of the run: the head if it is near, else the end of a seal. */
async function findEnd(
  client: PoolClient,
  shard: number,
  from: bigint,
  limit: bigint,
): Promise<{ head: bigint; to: bigint }> {
  const { rows } = await client.query<{ head: string; seal: string | null }>(
    `SELECT h.seq::text AS head, (SELECT coalesce(
       (SELECT max(s.seq_to) FROM ledger.seal s
         WHERE s.shard = h.shard AND s.seq_to > $2 AND s.seq_to <= $3),
       (SELECT min(s.seq_to) FROM ledger.seal s WHERE s.shard = h.shard AND s.seq_to > $3)))::text
       AS seal
     FROM ledger.head h WHERE h.shard = $1`,
    [shard, from, from + limit],
  )
  const head = BigInt(rows[0]!.head)
  const seal = rows[0]!.seal
  return { head, to: head <= from + limit || seal === null ? head : BigInt(seal) }
}

async function addCheckpoint(
  client: PoolClient,
  { shard, from, to, ledger }: { shard: number; from: bigint; to: bigint; ledger: string },
  key: SigningKey,
): Promise<string> {
  const { rows } = await client.query<{ hash: Buffer; balances: Buffer; at: string }>(
    `SELECT s.hash, ledger.balances_hash($1, $2, $3) AS balances,
       to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
     FROM ledger.seal s WHERE s.shard = $1 AND s.seq_to = $3`,
    [shard, from, to],
  )
  const { hash, balances, at } = rows[0]!
  const note = await signCheckpoint({ ledger, shard, seq: to, hash, at, balances }, key)
  await client.query('SELECT ledger.add_checkpoint($1, $2, $3, $4, $5, $6)', [
    shard,
    to,
    hash,
    at,
    key.id,
    note,
  ])
  return note
}
