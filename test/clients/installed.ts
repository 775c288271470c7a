import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Folder of the manifest and the lock file of the clients. */
export const MANIFEST = import.meta.dirname
/** Environment variable that names the folder in which the clients are installed. */
export const CLIENTS_FOLDER = 'HUB_TEST_CLIENTS'
/** File that a finished installation leaves in its folder. */
export const COMPLETE = '.complete'

/** Returns the folder of an installation that outlives a run; it is named after the lock file. */
export function cachedFolder(): string {
  const lock = readFileSync(join(MANIFEST, 'package-lock.json'))
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'agenthub', `test-clients-${digest}`)
}

export const isComplete = (folder: string): boolean => existsSync(join(folder, COMPLETE))

/** Folder in which the clients are installed; undefined if they are not. */
export const installed = ((): string | undefined => {
  const folder = process.env[CLIENTS_FOLDER]
  return folder !== undefined && isComplete(folder) ? folder : undefined
})()

/** Declares a test of an installed package; without it, one that is skipped and says why. */
export function withClient(name: string, title: string, test: () => Promise<void>): void {
  if (installed !== undefined && existsSync(join(installed, 'node_modules', name))) it(title, test)
  else it.skip(`${title} (skipped: ${name} is not installed; npm run test:clients installs it)`)
}
