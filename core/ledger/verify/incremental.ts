import type { Pool, PoolClient } from 'pg'
import type { SigningKey } from '../../crypto/signing-key.ts'
import { isDistributed } from '../../db/citus/is-distributed.ts'
import { knownKeys, type Note } from '../checkpoint.ts'
import type { RetainedCheckpoints } from '../retained-checkpoints.ts'
import { readShards } from '../shards.ts'
import {
  auditChainCheck,
  CheckpointVerifier,
  readLedgerId,
  SIGNED,
  signedBalancesCheck,
  type TrustAnchors,
} from './checkpoints.ts'
import { balanceChecks, balanceSumChecks, periodChecks, shardScope } from './checks.ts'
import { Findings, type Verification } from './findings.ts'
import { computeRoot } from './merkle-tree.ts'
import { readPeriods } from './parts.ts'
import { inSnapshot, runChecks } from './run-checks.ts'
import { checkNewEntries } from './screen.ts'
import { signNewHeads } from './sign-heads.ts'
import { addCheckpoint, restoreCheckpoint } from './store-checkpoint.ts'

export interface VerifySinceOptions extends TrustAnchors {
  /** Signs a checkpoint at the end of a sound run; if omitted, nothing is written. */
  readonly key?: SigningKey
  /** Checkpoints outside the database, with which the history must agree. */
  readonly retained?: RetainedCheckpoints
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
 * the postings since. The seal signed by the checkpoint proves that earlier history is unchanged,
 * and the retained checkpoints prove that no other history was signed before. A shard with a large
 * backlog takes several runs; the last one compares its balances. One process at a time verifies a
 * shard; others skip it.
 *
 * Only `verifyLedger` detects older rows changed without their seals, changed snapshots, and
 * changed older checkpoints.
 * @throws Error if the database cannot be read or written; a broken ledger is not an error
 */
export async function verifySince(
  pool: Pool,
  options: VerifySinceOptions = {},
): Promise<IncrementalVerification> {
  const { key, retained } = options
  if (key) {
    await pool.query('SELECT ledger.add_signing_key($1, $2)', [key.id, key.publicKey])
  }
  const findings = new Findings()
  const trust = await resolveTrust(pool, findings, options)
  const { key: _, ...readOnly } = { ...options, ...trust }
  const signer = findings.isSound ? key : undefined
  const shardOptions: VerifySinceOptions = signer ? { ...readOnly, key: signer } : readOnly
  const shards: ShardProgress[] = []
  for (const shard of await readShards(pool)) {
    const shardFindings = new Findings()
    try {
      const verified = await inSnapshot(pool, 'READ WRITE', (client) =>
        verifyShard(client, shard, shardFindings, shardOptions),
      )
      findings.include(shardFindings)
      if (!verified) continue
      shards.push(verified.progress)
      if (signer && verified.newest !== undefined) await retained?.retain(verified.newest)
    } catch (error) {
      if (!CONFLICT_STATES.has((error as { code?: string }).code ?? '')) throw error
    }
  }
  if (signer && findings.isSound) {
    await signNewHeads(pool, { key: signer, retained }, findings)
  }
  return { ...findings.result(), shards }
}

/**
 * Returns the trusted keys: those of the retained checkpoints, because an administrator of the
 * database could add a key to it. Checks that the database is the ledger of these checkpoints.
 */
async function resolveTrust(
  pool: Pool,
  findings: Findings,
  { key, retained, keys }: VerifySinceOptions,
): Promise<TrustAnchors> {
  if (!retained) return keys ? { keys } : {}
  const ledger = await readLedgerId(pool)
  const known = await retained.keys(ledger)
  if (known.length === 0) await checkIdentity(pool, findings, retained, ledger)
  const first = known.length > 0 ? known : await knownKeys(pool)
  const trusted = new Set([...first, ...(key ? [key.publicKey.toString('base64')] : [])])
  if (key && findings.isSound) await retained.addKeys(ledger, [...trusted])
  return { keys: keys ?? [...trusted] }
}

/** Reports a ledger without retained checkpoints that is older than those of another ledger. */
async function checkIdentity(
  pool: Pool,
  findings: Findings,
  retained: RetainedCheckpoints,
  ledger: string,
): Promise<void> {
  for (const other of await retained.ledgers()) {
    if (other === ledger) continue
    const newest = await retained.newest(other)
    const { rowCount } = await pool.query(
      'SELECT FROM ledger.seal WHERE seq_from = 1 AND at < ANY ($1::timestamptz[]) LIMIT 1',
      [newest.map(({ at }) => at)],
    )
    if (rowCount === 0) continue
    findings.add(SIGNED, `the database names ledger ${ledger}; it was ${other} before`)
  }
}

interface VerifiedShard {
  readonly progress: ShardProgress
  /** Newest sound checkpoint in the database. */
  readonly newest: string | undefined
}

async function verifyShard(
  client: PoolClient,
  shard: number,
  findings: Findings,
  { key, retained, limit = ROWS_PER_RUN, ...trust }: VerifySinceOptions,
): Promise<VerifiedShard | undefined> {
  const { rows: lock } = await client.query<{ mine: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtext('ledger.verify_since'), $1) AS mine`,
    [shard],
  )
  if (!lock[0]!.mine) return undefined
  const reader = await CheckpointVerifier.open(client, findings, trust)
  const newest = await reader.checkNewest(shard)
  if (trust.checkpoints !== undefined) await reader.checkExternal(trust.checkpoints, shard)
  const missing = await reader.checkRetained(newest, await retained?.read(reader.ledger, shard))
  const { seq: from } = newest ?? JOURNAL_START
  const { head, to: end } = await findEnd(client, shard, from, limit)
  const to = missing?.note.seq ?? end
  await runChecks(
    client,
    { ...signedBalancesCheck(shard, newest), ...auditChainCheck(newest) },
    findings,
  )
  await checkRows(client, findings, { shard, newest, to, reachesHead: to === head })
  const root = await computeRoot(client, { shard, to }, newest, findings)
  const progress = { shard, from, to, behind: head - to }
  if (!key || !findings.isSound) return { progress, newest: newest?.note }
  const { ledger } = reader
  const signing = { client, ledger, shard, from, to, root, key, retained }
  const checkpoint = missing
    ? await restoreCheckpoint(signing, missing, findings)
    : await addCheckpoint(signing, newest)
  if (checkpoint === undefined) return { progress, newest: newest?.note }
  return { progress: { ...progress, checkpoint }, newest: checkpoint }
}

interface ShardRows {
  readonly shard: number
  readonly newest: Note | undefined
  readonly to: bigint
  readonly reachesHead: boolean
}

/**
 * Returns SQL of the sums of postings at `to`, by account. On a cluster it has them as literals: a
 * query of a shard would call the function on the worker, which cannot run it.
 */
async function selectSums(
  client: PoolClient,
  shard: number,
  { from, to }: { readonly from: bigint; readonly to: bigint },
): Promise<string> {
  const source = `ledger.verified_at(${shard}::smallint, ${from}, ${to}) v`
  if (!(await isDistributed(client))) {
    return `SELECT ${shard} AS shard, v.account, v.balance AS total FROM ${source}`
  }
  const { rows } = await client.query<{ accounts: string; totals: string }>(
    `SELECT coalesce(array_agg(v.account), '{}')::text AS accounts,
       coalesce(array_agg(v.balance), '{}')::text AS totals FROM ${source}`,
  )
  const { accounts, totals } = rows[0]!
  return `SELECT ${shard} AS shard, v.account, v.total
    FROM unnest('${accounts}'::bigint[], '${totals}'::numeric[]) v(account, total)`
}

/** Checks the rows after the newest checkpoint, and the balances if they reach the head. */
async function checkRows(
  client: PoolClient,
  findings: Findings,
  { shard, newest, to, reachesHead }: ShardRows,
): Promise<void> {
  const { seq: from, hash } = newest ?? JOURNAL_START
  const scope = shardScope(shard, { after: from, hash, ...(reachesHead ? {} : { upto: to }) })
  await runChecks(client, balanceChecks(scope), findings)
  if (reachesHead) {
    const sums = await selectSums(client, shard, { from, to })
    await runChecks(client, balanceSumChecks(sums, scope), findings)
  }
  // Statistics of a young journal make a sequential scan look cheap.
  await client.query('SET LOCAL enable_seqscan = off')
  await checkNewEntries(client, { shard, scope }, findings)
  await runChecks(client, periodChecks(scope, await readPeriods(client)), findings)
}

/** Returns the head and the end of the run: the head if it is near, else the end of a seal. */
async function findEnd(
  client: PoolClient,
  shard: number,
  from: bigint,
  limit: bigint,
): Promise<{ head: bigint; to: bigint }> {
  const { rows } = await client.query<{ head: string; seal: string | null }>(
    `SELECT h.seq::text AS head, coalesce(
       (SELECT max(s.seq_to) FROM ledger.seal s
         WHERE s.shard = $1 AND s.seq_to > $2 AND s.seq_to <= $3),
       (SELECT min(s.seq_to) FROM ledger.seal s WHERE s.shard = $1 AND s.seq_to > $3))::text
       AS seal
     FROM ledger.head h WHERE h.shard = $1`,
    [shard, from, from + limit],
  )
  const head = BigInt(rows[0]!.head)
  const seal = rows[0]!.seal
  return { head, to: head <= from + limit || seal === null ? head : BigInt(seal) }
}
