import { chmod, cp, mkdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { openStore } from '../../../core/backup/backup-store.ts'
import { createBackup } from '../../../core/backup/create-backup.ts'
import { removeRestored, restoreBackup } from '../../../core/backup/restore-backup.ts'
import type { LogArchive } from '../../../core/backup/restored-server.ts'
import { verifyRestored } from '../../../core/backup/verify-restored.ts'
import { systemClock } from '../../../core/clock.ts'
import { order, sampleLedger } from '../ledger/fixture.ts'
import { PASSPHRASE, useBackups } from './fixture.ts'

describe('a backup with a log archive', () => {
  const { database, at } = useBackups()

  const query = async <T extends object>(sql: string): Promise<T> =>
    (await database().admin.query<T>(sql)).rows[0]!
  const entries = async (): Promise<bigint> =>
    (await query<{ n: bigint }>('SELECT count(*) AS n FROM ledger.journal')).n

  it('recovers what was posted after it, up to an instant', async () => {
    const { ledger, owner, payee } = await sampleLedger(database().pool)
    const call = async (): Promise<void> => {
      const made = order(owner, payee, 50n)
      await ledger.reserve(made)
      await ledger.settle(made, 40n)
    }
    const { store } = await openStore(at('store'))
    await createBackup({
      store,
      passphrase: PASSPHRASE,
      databaseUrl: database().url,
      dataDir: at('data'),
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
    const archive = at('archive')
    await mkdir(archive)
    await cp(join(path, 'pg_wal'), archive, {
      recursive: true,
      filter: (file) => !file.endsWith('archive_status') && !file.endsWith('summaries'),
    })
    await chmod(archive, 0o755)
    const recovered = async (log: LogArchive): Promise<bigint> => {
      const restored = await restoreBackup({ store, passphrase: PASSPHRASE }, at('hub'))
      try {
        const empty = await verifyRestored(restored, { archive: { folder: at() } }).then(
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
