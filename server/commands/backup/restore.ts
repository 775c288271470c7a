import { type RestoredBackup, restoreBackup } from '../../../core/backup/restore-backup.ts'
import type { LogArchive } from '../../../core/backup/restored-server.ts'
import { verifyRestored } from '../../../core/backup/verify-restored.ts'
import {
  type Command,
  EXIT_FAILED,
  type OptionValues,
  optional,
  parseInstant,
  required,
  toJson,
  UsageError,
} from '../command.ts'
import { type BackupConfig, openConfiguredStore, passphraseOf } from './open-backups.ts'
import { describeReport, formatBytes } from './report.ts'

/** `npm run restore`. */
export const restoreCommand = (config: BackupConfig): Command => ({
  usage: '[SOURCE] --to DIR [--verify] [--log-archive DIR [--until INSTANT]] [--json]',
  description: `restore a backup into a new data directory; nothing else is changed
SOURCE      one backup, or a place with backups: its newest one (default: HUB_BACKUP_TARGET)
--verify    starts the restored database, verifies the whole ledger, and reports; exit code 1 if
            anything is wrong
--log-archive  folder of the server's log archive (archive_command, pg_receivewal): recovers
            what was committed after the backup, up to --until; verifies too`,
  options: {
    to: { type: 'string' },
    verify: { type: 'boolean' },
    'log-archive': { type: 'string' },
    until: { type: 'string' },
    json: { type: 'boolean' },
  },
  words: 1,
  async run({ write, log }, values, [source]) {
    const target = required(values['to'], '--to')
    const archive = archiveOf(values)
    const passphrase = passphraseOf(config)
    const { store, name } = await openConfiguredStore(config, source)
    let restored: RestoredBackup
    try {
      restored = await restoreBackup({ store, name, passphrase }, target)
    } finally {
      store.close()
    }
    const { manifest, dataDir, location } = restored
    const { postgres, bytes, migrations } = manifest
    await log(
      `Restored ${manifest.name}: PostgreSQL ${postgres.version}, ${formatBytes(bytes)}, ` +
        `migration ${migrations.newest}\n  hub data  ${dataDir}\n  database  ${location.cluster}\n`,
    )
    if (values['verify'] !== true && !archive) return 0
    const report = await verifyRestored(restored, { archive })
    await write(values['json'] === true ? toJson({ manifest, ...report }) : describeReport(report))
    return report.ok ? 0 : EXIT_FAILED
  },
})

function archiveOf(values: OptionValues): LogArchive | undefined {
  const [folder, until] = [optional(values['log-archive']), optional(values['until'])]
  if (folder === undefined && until !== undefined)
    throw new UsageError('--until needs --log-archive')
  if (folder === undefined) return undefined
  return { folder, until: until === undefined ? undefined : parseInstant(until) }
}
