import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
/** Also readable by `sha256sum -c`. */
export const LANDED = join(ROOT, 'core/db/landed.sha256')

/** Returns the hash of each released migration, including plugins', by path. */
export async function landedMigrations(): Promise<ReadonlyMap<string, string>> {
  const lines = (await readFile(LANDED, 'utf8')).split('\n').filter(Boolean)
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]))
}

/** Returns the hashes of the current migration files. */
export async function migrationsNow(): Promise<ReadonlyMap<string, string>> {
  const patterns = ['core/db/migrations/*.sql', 'plugins/**/migrations/*.sql']
  const paths = globSync(patterns, { cwd: ROOT })
  const hash = async (path: string) =>
    createHash('sha256')
      .update(await readFile(join(ROOT, path)))
      .digest('hex')
  return new Map(
    await Promise.all(paths.sort().map(async (path) => [path, await hash(path)] as const)),
  )
}
