import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { systemClock } from '../clock.ts'
import type { BucketOptions } from '../egress/bucket.ts'
import { openStore } from './backup-store.ts'
import { recordBackup } from './create-backup.ts'
import { removeRestored, restoreBackup } from './restore-backup.ts'
import { verifyRestored } from './verify-restored.ts'

const DUE_DAYS = 7
const FOLDER_PREFIX = 'agenthub-drill-'
/** Age of a folder whose drill has ended: longer than any drill may take. */
const STALE_MS = 86_400_000

export interface DrillSettings extends BucketOptions {
  readonly target: string
  readonly passphrase: string
}

/**
 * Rehearses a restore once a week: restores the newest backup into a temporary folder, verifies its
 * whole ledger, and removes it. Also removes what a process left behind that died in a drill: the
 * whole database, not encrypted.
 * @throws Error if it cannot be restored, or is not sound
 */
export async function drillRestore(
  pool: Pool,
  { target, passphrase, ...options }: DrillSettings,
): Promise<void> {
  await removeStaleFolders()
  const { rows } = await pool.query<{ rested: boolean }>(
    `SELECT coalesce(max(succeeded_at), '-infinity') > now() - make_interval(days => $1) AS rested
     FROM hub.backup_run WHERE kind = 'drill'`,
    [DUE_DAYS],
  )
  if (rows[0]!.rested) return
  const { store, name } = await openStore(target, options)
  const folder = await mkdtemp(join(tmpdir(), FOLDER_PREFIX))
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

/** Removes folders of earlier drills, if they are of this user: others may write there too. */
async function removeStaleFolders(): Promise<void> {
  const since = systemClock.now().getTime() - STALE_MS
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue
    const folder = join(tmpdir(), name)
    const found = await lstat(folder).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue
    if (found.mtimeMs < since) await rm(folder, { recursive: true })
  }
}
