import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns the process id of the PostgreSQL server of a data directory. */
export async function postmasterOf(dataDir: string): Promise<number> {
  const file = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')
  return Number(file.split('\n')[0])
}
