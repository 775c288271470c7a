import type { Client, Pool } from 'pg'
import type { Clock } from '../clock.ts'
import { streamBaseBackup } from '../db/base-backup.ts'
import { isDistributed } from '../db/citus/is-distributed.ts'
import { connectClient } from '../db/client.ts'
import { readLedgerId } from '../ledger/verify/checkpoints.ts'
import { ConfigError } from '../runtime/config-error.ts'
import { type BackupStore, backupName } from './backup-store.ts'
import { packDataFiles } from './data-files.ts'
import { createKeys, MANIFEST, type Manifest, writeManifest } from './manifest.ts'
import { storeParts } from './sealed-parts.ts'

export interface BackupDeps {
  readonly store: BackupStore
  readonly passphrase: string
  /** Direct connection of a login with REPLICATION that may read the ledger. */
  readonly databaseUrl: string
  readonly dataDir: string
  /** Version of the hub. */
  readonly version: string
  readonly clock: Clock
}

/**
 * Backs up the database and the keys of the data directory while the hub serves. What was committed
 * when this started is in the backup. A backup that fails is removed; one that is complete stays,
 * even if it cannot be recorded.
 * @throws ConfigError if the login may not, the place has no room, or Citus distributes the ledger
 */
export async function createBackup(deps: BackupDeps): Promise<Manifest> {
  const { store, passphrase, databaseUrl, dataDir, version } = deps
  const now = deps.clock.now()
  const name = backupName(now)
  const keys = await createKeys(passphrase)
  const client = await connectClient(databaseUrl, 'agenthub backup')
  try {
    if (await isDistributed(client)) throw new ConfigError(LEDGER_IS_ELSEWHERE)
    const source = await describeSource(client)
    await store.create(name)
    let manifest: Manifest
    try {
      const stored = { store, key: keys.seal }
      // Files first: a checkpoint must not be newer than the database beside it.
      const files = await storeParts(await packDataFiles(dataDir), {
        ...stored,
        path: `${name}/files`,
      })
      let database: Awaited<ReturnType<typeof storeParts>> | undefined
      const wal = await streamBaseBackup(databaseUrl, name, async (tar) => {
        database = await storeParts(tar, { ...stored, path: `${name}/database` })
      })
      manifest = {
        format: 1,
        name,
        at: now.toISOString(),
        version,
        ...source,
        wal,
        bytes: database!.bytes,
        parts: { files: [...files.parts], database: [...database!.parts] },
        encryption: keys.encryption,
      }
      await store.put(`${name}/${MANIFEST}`, writeManifest(manifest, keys))
    } catch (error) {
      await store.discard(name).catch(() => {})
      throw describeFailure(error as NodeJS.ErrnoException, store)
    }
    await recordBackup(client, 'backup', manifest).catch((cause: Error) => {
      const text = `${store.place}/${name} is complete, but was not recorded: ${cause.message}`
      throw new ConfigError(text, { cause })
    })
    return manifest
  } finally {
    await client.end().catch(() => {})
  }
}

const LEDGER_IS_ELSEWHERE =
  'Citus distributes the ledger of this database: a backup of this server would lack its ' +
  'entries. Back up all servers of the cluster to one restore point, with ' +
  'citus_create_restore_point(). Nothing was stored.'

function describeFailure(error: NodeJS.ErrnoException, { place }: BackupStore): Error {
  if (error.code !== 'ENOSPC' && error.code !== 'EDQUOT') return error
  return new ConfigError(
    `${place} has no room for the backup: it was removed, and earlier ones are complete.`,
    { cause: error },
  )
}

async function describeSource(
  client: Client,
): Promise<Pick<Manifest, 'postgres' | 'database' | 'migrations' | 'ledger'>> {
  const { rows } = await client.query(
    `SELECT current_setting('server_version') AS version, current_database() AS database,
       current_setting('server_version_num')::integer / 10000 AS major,
       (SELECT rolname FROM pg_roles WHERE oid = 10) AS superuser,
       m.number AS count, m.name AS newest,
       (SELECT jsonb_agg(jsonb_build_object('shard', shard, 'seq', seq::text) ORDER BY shard)
        FROM ledger.head) AS heads
     FROM hub.migration m ORDER BY m.number DESC LIMIT 1`,
  )
  const { version, database, major, superuser, count, newest, heads } = rows[0]
  return {
    postgres: { version, major, superuser },
    database,
    migrations: { count, newest },
    ledger: { id: await readLedgerId(client), heads },
  }
}

/** Records the last success for metrics. */
export async function recordBackup(
  on: Pick<Client | Pool, 'query'>,
  kind: 'backup' | 'drill',
  { name, bytes }: Pick<Manifest, 'name' | 'bytes'>,
): Promise<void> {
  await on.query('SELECT hub.record_backup($1, $2, $3)', [kind, name, bytes])
}
