import type { Pool } from 'pg'
import { createPool } from '../db/pool.ts'
import { type OperatingFigures, readOperatingFigures } from '../finance/operating-figures.ts'
import { RetainedCheckpoints } from '../ledger/retained-checkpoints.ts'
import { readHeads } from '../ledger/shards.ts'
import type { Verification } from '../ledger/verify/findings.ts'
import { trustRetained } from '../ledger/verify/trust-retained.ts'
import { verifyLedger } from '../ledger/verify.ts'
import { OutgoingSwitch } from '../payments/operations/outgoing-switch.ts'
import type { Manifest } from './manifest.ts'
import type { RestoredBackup } from './restore-backup.ts'
import { type RecoveryOptions, startRestored } from './restored-server.ts'

/** State of a restored hub, before it serves. */
export interface RestoreReport {
  /** True if the ledger is sound and has all entries of the backup. */
  readonly ok: boolean
  readonly verification: Verification
  readonly entries: bigint
  /** Time of the newest entry; null without entries. */
  readonly newestEntry: Date | null
  /** Shards whose newest entries are missing. */
  readonly incompleteShards: readonly number[]
  /** True if payments are off; they are until the ledger is reconciled with the chain. */
  readonly outgoingPaused: boolean
  readonly reconciliation: Pick<OperatingFigures, 'reconciled' | 'exceptions'>
}

/**
 * Starts a restored database, recovers it, verifies all entries against the checkpoints that were
 * restored with it, and compares it with the manifest. Stops it again.
 * @throws ConfigError as `startRestored`
 */
export async function verifyRestored(
  { manifest, dataDir, location }: RestoredBackup,
  options?: RecoveryOptions,
): Promise<RestoreReport> {
  await using server = await startRestored(location, manifest, options)
  const pool = createPool(server.url, { role: 'hub_finance', max: 4, statementMs: 3_600_000 })
  try {
    const trust = await trustRetained(pool, new RetainedCheckpoints(dataDir))
    const verification = await verifyLedger(pool, trust)
    const incompleteShards = await findIncomplete(pool, manifest)
    const { rows } = await pool.query<{ entries: bigint; newest: Date | null }>(
      'SELECT count(*) AS entries, max(at) AS newest FROM ledger.journal',
    )
    const { reconciled, exceptions } = await readOperatingFigures(pool)
    return {
      ok: verification.ok && incompleteShards.length === 0,
      verification,
      entries: rows[0]!.entries,
      newestEntry: rows[0]!.newest,
      incompleteShards,
      outgoingPaused: (await new OutgoingSwitch(pool).state())?.paused ?? false,
      reconciliation: { reconciled, exceptions },
    }
  } finally {
    await pool.end()
  }
}

/** Returns the shards that lack entries which were posted before the backup. */
async function findIncomplete(pool: Pool, { ledger }: Manifest): Promise<readonly number[]> {
  const heads = await readHeads(pool)
  const lost = ledger.heads.filter(({ shard, seq }) => (heads.get(shard) ?? -1n) < BigInt(seq))
  return lost.map(({ shard }) => shard)
}
