import { rmSync } from 'node:fs'
import type { Pool } from 'pg'
import { migrate } from '../../core/db/migrate.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { type BulkLedger, type BulkOptions, bulkLedger } from './bulk-ledger.ts'
import { newFolder } from './folder.ts'

/** Length of a partition of the journal. */
const MONTH_MS = 28 * 86_400_000

interface BulkBench {
  /** Connection string of the owner. */
  readonly url: string
  readonly owner: Pool
  /** Pool with the role `hub_finance`. */
  readonly hub: Pool
  readonly books: BulkLedger
}

/**
 * Runs `work` on an empty ledger in a database of its own, which is deleted afterwards.
 * @param batches that will be loaded, at most
 * @param connections of the hub's pool
 */
export async function withBulkLedger<T>(
  { batches, connections, ...options }: BulkOptions & Record<'batches' | 'connections', number>,
  work: (bench: BulkBench) => Promise<T>,
): Promise<T> {
  const dataDir = newFolder()
  const database = await openDatabase({ dataDir })
  const { url } = database
  const owner = createPool(url, { max: 4, statementMs: 0, applicationName: 'bench' })
  const hub = createPool(url, { max: connections, role: 'hub_finance' })
  try {
    await migrate(url)
    const months = Math.ceil((batches * options.stepMs) / MONTH_MS)
    await owner.query('SELECT ledger.ensure_partitions($1)', [months + 1])
    return await work({ url, owner, hub, books: await bulkLedger(owner, options) })
  } finally {
    await Promise.all([owner.end(), hub.end()])
    await database.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
