import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { openStore } from '../../../core/backup/backup-store.ts'
import { createBackup } from '../../../core/backup/create-backup.ts'
import { removeRestored, restoreBackup } from '../../../core/backup/restore-backup.ts'
import type { LogArchive } from '../../../core/backup/restored-server.ts'
import { verifyRestored } from '../../../core/backup/verify-restored.ts'
import { systemClock } from '../../../core/clock.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { order, sampleLedger } from '../ledger/fixture.ts'

const PASSPHRASE = 'correct horse battery staple'

describe('a backup with a log archive', () => {
  let database: FreshDatabase
  let folder: string
  before(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-backup-'))
    await chmod(folder, 0o711) // root runs the server as another user
  })
  after(async () => {
    await rm(folder, { recursive: true, force: true })
    await database.drop()
  })

  const query = async <T extends object>(sql: string): Promise<T> =>
    (await database.admin.query<T>(sql)).rows[0]!
  const entries = async (): Promise<bigint> =>
    (await query<{ n: bigint }>('SELECT count(*) AS n FROM ledger.journal')).n

  it('recovers what was posted after it, up to an instant', async () => {
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    const call = async (): Promise<void> => {
      const made = order(owner, payee, 50n)
      await ledger.reserve(made)
      await ledger.settle(made, 40n)
    }
    const { store } = await openStore(join(folder, 'store'))
    await createBackup({
      store,
      passphrase: PASSPHRASE,
      databaseUrl: database.url,
      dataDir: join(folder, 'data'),
      version: '0.0.0-test',
      clock: systemClock,
    })
    await call()
    const early = await entries()
    const { at: until } = await query<{ at: Date }>('SELECT clock_timestamp() AS at')
    await query('SELECT pg_sleep(0.02)')
    await call()
    const late = await entries()
    await query('SELECT pg_switch_wal()')
    const { path } = await query<{ path: string }>(
      "SELECT current_setting('data_directory') AS path",
    )
    const archive = join(folder, 'archive')
    await mkdir(archive)
    await cp(join(path, 'pg_wal'), archive, {
      recursive: true,
      filter: (file) => !file.endsWith('archive_status') && !file.endsWith('summaries'),
    })
    await chmod(archive, 0o755)
    const recovered = async (log: LogArchive): Promise<bigint> => {
      const restored = await restoreBackup({ store, passphrase: PASSPHRASE }, join(folder, 'hub'))
      try {
        const empty = await verifyRestored(restored, { archive: { folder } }).then(
          () => 'accepted',
          (error: Error) => error.message,
        )
        expect(empty).to.match(/has no log segment that .* can read\.$/)
        const report = await verifyRestored(restored, { archive: log, isDisposable: true })
        expect(report).to.include({ ok: true, outgoingPaused: true })
        return report.entries
      } finally {
        await removeRestored(restored)
      }
    }
    expect(await recovered({ folder: relative('.', archive) })).to.equal(late)
    expect(await recovered({ folder: archive, until: new Date(until.getTime() + 1) })).to.equal(
      early,
    )
  })
})
