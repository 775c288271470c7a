import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { BucketOptions } from '../egress/bucket.ts'
import { openStore } from './backup-store.ts'
import { recordBackup } from './create-backup.ts'
import { removeRestored, restoreBackup } from './restore-backup.ts'
import { verifyRestored } from './verify-restored.ts'

const DUE_DAYS = 7

export interface DrillSettings extends BucketOptions {
  readonly target: string
  readonly passphrase: string
}

/**
 * Rehearses a restore once a week: restores the newest backup into a temporary folder, verifies its
 * whole ledger, and removes it.
 * @throws Error if it cannot be restored, or is not sound
 */
export async function drillRestore(
  pool: Pool,
  { target, passphrase, ...options }: DrillSettings,
): Promise<void> {
  const { rows } = await pool.query<{ rested: boolean }>(
    `SELECT coalesce(max(succeeded_at), '-infinity') > now() - make_interval(days => $1) AS rested
     FROM hub.backup_run WHERE kind = 'drill'`,
    [DUE_DAYS],
  )
  if (rows[0]!.rested) return
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-drill-'))
  const { store, name } = await openStore(target, options)
  try {
    await chmod(folder, 0o711) // root runs the server as another user
    const restored = await restoreBackup({ store, name, passphrase }, join(folder, 'hub'))
    try {
      const { ok, verification, incompleteShards } = await verifyRestored(restored, {
        isDisposable: true,
      })
      const bad = verification.checks.filter((check) => check.bad > 0n).map((check) => check.name)
      if (!ok) {
        const faults = [...bad, ...incompleteShards.map((shard) => `shard ${shard} is incomplete`)]
        throw new Error(`The backup ${restored.manifest.name} is not sound: ${faults.join('; ')}`)
      }
      await recordBackup(pool, 'drill', restored.manifest)
    } finally {
      await removeRestored(restored)
    }
  } finally {
    store.close()
    await rm(folder, { recursive: true, force: true })
  }
}
