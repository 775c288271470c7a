import type { RetentionDays } from '../audit/retention-policy.ts'
import type { Environment } from './environment.ts'

/** Place, encryption and login of backups. */
export interface BackupSettings {
  /** Folder, or `s3://bucket/prefix`; undefined: the hub rehearses no restore. */
  readonly target: string | undefined
  readonly passphrase: string | undefined
  /** Login with REPLICATION; undefined: that of the owner. */
  readonly databaseUrl: string | undefined
  /** Address of an S3-compatible server; undefined: AWS. */
  readonly endpoint: string | undefined
}

export const backupSettings = (e: Environment): BackupSettings => ({
  target: e.HUB_BACKUP_TARGET,
  passphrase: e.HUB_BACKUP_PASSPHRASE,
  databaseUrl: e.HUB_BACKUP_DATABASE_URL ?? e.DATABASE_OWNER_URL,
  endpoint: e.HUB_BACKUP_ENDPOINT,
})

/** Settings of jobs: what they delete, and of which backups they rehearse a restore. */
export function settingsOfJobs({
  backup,
  retention,
}: {
  readonly backup: BackupSettings
  readonly retention: RetentionDays
}) {
  const { target, passphrase, endpoint } = backup
  const drill =
    target === undefined || passphrase === undefined ? undefined : { target, passphrase, endpoint }
  return { retention, drill }
}
