import { type BackupStore, openStore } from '../../../core/backup/backup-store.ts'
import { type Config, ConfigError } from '../../../core/config.ts'

/** Configuration that the commands need. */
export type BackupConfig = Pick<
  Config,
  'backup' | 'dataDir' | 'databaseUrl' | 'databaseDirectUrl' | 'version'
>

/** Opens the store of a place, with the name of the backup if the place is one. */
export const openConfiguredStore = (
  { backup }: Pick<BackupConfig, 'backup'>,
  place: string | undefined,
): Promise<{ readonly store: BackupStore; readonly name: string | undefined }> => {
  const chosen = place ?? backup.target
  if (chosen !== undefined) return openStore(chosen, { endpoint: backup.endpoint })
  throw new ConfigError('Name a folder or s3://bucket/prefix, or set HUB_BACKUP_TARGET.')
}

export function passphraseOf({ backup }: Pick<BackupConfig, 'backup'>): string {
  if (backup.passphrase !== undefined) return backup.passphrase
  throw new ConfigError(
    'Set HUB_BACKUP_PASSPHRASE: it encrypts the backup, and nothing can be restored without it. ' +
      'Store it apart from the backups, for example: openssl rand -base64 32',
  )
}
