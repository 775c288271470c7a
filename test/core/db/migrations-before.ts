import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../../core/db/migrations')

/** Copies the migrations below a number to a folder that is removed when disposed. */
export async function migrationsBefore(
  number: string,
): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-migrations-'))
  for (const name of await readdir(FOLDER)) {
    if (name < number) await copyFile(join(FOLDER, name), join(path, name))
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
