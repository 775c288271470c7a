import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../failure.ts'

/** Where the command line lies, if it lies in a clone of the hub. */
const CLI = fileURLToPath(new URL('../', import.meta.url))
const OWN = join(CLI, '../..')
const PROGRAM = 'server/main.ts'

/** A clone of the hub that this command line belongs to; undefined for what was published. */
export const ownHome = (): string | undefined => (existsSync(join(OWN, PROGRAM)) ? OWN : undefined)

/**
 * A clone of the hub, which has what a sandbox needs.
 * @throws Failure that says how to come to one
 */
export function homeOf(named: string | undefined): string {
  const home = named ?? ownHome()
  if (home !== undefined && existsSync(join(home, PROGRAM))) return home
  throw new Failure(
    'usage',
    home === undefined ? 'A sandbox needs a clone of the hub.' : `${home} is no clone of the hub.`,
    'Clone it, run `npm ci` in it, and name it by --home or HUB_HOME.',
  )
}

/** A Node that reads TypeScript: the one that the clone has installed. */
export function nodeOf(home: string): string {
  const own = join(home, 'node_modules/.bin/node')
  return existsSync(own) ? own : process.execPath
}
