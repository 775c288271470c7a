import { createBackup } from '../../../core/backup/create-backup.ts'
import { elapsedMs, systemClock } from '../../../core/clock.ts'
import { joinDatabase } from '../../../core/db/open.ts'
import type { Command } from '../command.ts'
import { type BackupConfig, openConfiguredStore, passphraseOf } from './open-backups.ts'
import { formatBytes } from './report.ts'

/** `npm run backup`. */
export const backupCommand = (config: BackupConfig): Command => ({
  usage: '[DIR | s3://BUCKET/PREFIX]',
  description: `back up the database and the keys of HUB_DATA_DIR into a new folder of that place,
encrypted with HUB_BACKUP_PASSPHRASE, while the hub serves (default: HUB_BACKUP_TARGET)`,
  options: {},
  words: 1,
  async run({ write }, _, [place]) {
    const passphrase = passphraseOf(config)
    const { store } = await openConfiguredStore(config, place)
    const { dataDir, version, databaseDirectUrl, databaseUrl } = config
    const url = config.backup.databaseUrl ?? databaseDirectUrl ?? databaseUrl
    const database = await joinDatabase(url ? { url } : { dataDir })
    const start = elapsedMs()
    try {
      const { name, bytes, parts } = await createBackup({
        store,
        passphrase,
        databaseUrl: database.url,
        dataDir,
        version,
        clock: systemClock,
      })
      const stored = parts.database.reduce((sum, part) => sum + part.bytes, 0)
      const seconds = ((elapsedMs() - start) / 1_000).toFixed(1)
      await write(
        `${store.place}/${name}: ${formatBytes(bytes)} of data, ${formatBytes(stored)} stored, ` +
          `in ${seconds} s.\n`,
      )
      return 0
    } finally {
      store.close()
      await database.close()
    }
  },
})
