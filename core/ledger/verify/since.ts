import type { Pool, PoolClient } from 'pg'
import type { SigningKey } from '../../crypto/signing-key.ts'
import { type Note, signCheckpoint } from '../checkpoint.ts'
import { CheckpointReader, carried, type Trust } from './checkpoints.ts'
import { balancesAgainst, ofBalances, ofOrder, ofRows, outcomesOf, partOf } from './checks.ts'
import { Findings, type Verification } from './findings.ts'
import { onSnapshot, runChecks } from './run.ts'

export interface SinceOptions extends Trust {
  /** Signs a checkpoint where the run ends, if all is sound; left out: nothing is written. */
  readonly key?: SigningKey
  /** About how many rows of a shard a run looks at. @defaultValue 200000 */
  readonly limit?: bigint
}

/** What a run came to on one shard. */
export interface Progress {
  readonly shard: number
  /** Rows after `from` were looked at, up to `to`. */
  readonly from: bigint
  readonly to: bigint
  /** Rows that the next run goes on with. */
  readonly behind: bigint
  /** The checkpoint that it signed. */
  readonly checkpoint?: string
}

export interface VerificationSince extends Verification {
  readonly shards: readonly Progress[]
}

const LIMIT = 200_000n
const START: Pick<Note, 'seq' | 'hash'> = { seq: 0n, hash: Buffer.of(0) }
/** Another process verified the shard in the meantime. */
const OVERTAKEN = new Set(['40001', '23505'])

/**
 * Verifies what was booked since the newest checkpoint, and then signs the next: a checkpoint means
 * verified up to here. Rows, order, rules and outcomes are checked as in `verifyLedger`, of what is
 * new; each balance against the sums at the checkpoint, which it signs, and the postings since;
 * that history before it is the same, by the seal that it signs. A shard with a large backlog is
 * done in several runs, and its balances are compared in the last of them. One process at a time
 * verifies a shard; another one passes it over.
 *
 * Only the whole run finds rows before the checkpoint that were changed while their seals were not,
 * and changed snapshots and older checkpoints.
 * @throws Error when the database cannot be read or written; broken books are no error
 */
export async function verifySince(
  pool: Pool,
  options: SinceOptions = {},
): Promise<VerificationSince> {
  const { key } = options
  if (key) {
    await pool.query('SELECT ledger.add_signing_key($1, $2)', [key.id, key.publicKey])
  }
  const findings = new Findings()
  const shards: Progress[] = []
  const { rows } = await pool.query<{ shard: number }>(
    'SELECT shard FROM ledger.head ORDER BY shard',
  )
  for (const { shard } of rows) {
    const own = new Findings()
    try {
      const progress = await onSnapshot(pool, 'READ WRITE', (client) =>
        step(client, shard, own, options),
      )
      findings.include(own)
      if (progress) shards.push(progress)
    } catch (error) {
      if (!OVERTAKEN.has((error as { code?: string }).code ?? '')) throw error
    }
  }
  return { ...findings.result(), shards }
}

async function step(
  client: PoolClient,
  shard: number,
  findings: Findings,
  { key, limit = LIMIT, ...trust }: SinceOptions,
): Promise<Progress | undefined> {
  const { rows: lock } = await client.query<{ mine: boolean }>(
    `SELECT pg_try_advisory_xact_lock(hashtext('ledger.verify_since'), $1) AS mine`,
    [shard],
  )
  if (!lock[0]!.mine) return undefined
  const reader = await CheckpointReader.open(client, findings, trust)
  const newest = await reader.newest(shard)
  if (trust.checkpoints !== undefined) await reader.elsewhere(trust.checkpoints, shard)
  await runChecks(client, carried(shard, newest), findings)
  const { seq: from, hash } = newest ?? START
  const { head, to } = await end(client, shard, from, limit)
  const whole = to === head
  const scope = partOf(shard, { after: from, hash, ...(whole ? {} : { upto: to }) })
  const sums = `SELECT ${shard} AS shard, v.account, v.balance AS total
    FROM ledger.verified_at(${shard}::smallint, ${from}, ${to}) v`
  await runChecks(client, ofBalances(scope), findings)
  if (whole) await runChecks(client, balancesAgainst(sums, scope), findings)
  // The statistics of a young journal make a scan of all of it look cheap.
  await client.query('SET LOCAL enable_seqscan = off')
  await runChecks(client, { ...ofRows(scope), ...ofOrder(scope), ...outcomesOf(scope) }, findings)
  const progress = { shard, from, to, behind: head - to }
  if (!key || !findings.sound || to === from) return progress
  const checkpoint = await sign(client, { shard, from, to, ledger: reader.ledger }, key)
  return { ...progress, checkpoint }
}

/** The head, and how far a run goes: to the head when that is near, else to the end of a seal. */
async function end(
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

async function sign(
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
