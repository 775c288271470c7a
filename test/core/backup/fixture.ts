import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

export const PASSPHRASE = 'correct horse battery staple'

/** Provides a database, and paths in a folder for its backups, for all tests of a `describe`. */
export function useBackups(): {
  readonly database: () => FreshDatabase
  readonly at: (...path: string[]) => string
} {
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
  return { database: () => database, at: (...path) => join(folder, ...path) }
}
