import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../failure.ts'

/** Folder of the command line, if it is in a clone of the hub. */
const CLI = fileURLToPath(new URL('../', import.meta.url))
const OWN = join(CLI, '../..')
const PROGRAM = 'server/main.ts'

/** Returns the clone of the hub that contains this command line; undefined if published. */
export const findOwnHome = (): string | undefined =>
  existsSync(join(OWN, PROGRAM)) ? OWN : undefined

/**
 * Returns a clone of the hub, which contains the sandbox.
 * @throws Failure that says how to get one
 */
export function resolveHome(named: string | undefined): string {
  const home = named ?? findOwnHome()
  if (home !== undefined && existsSync(join(home, PROGRAM))) return home
  throw new Failure(
    'usage',
    home === undefined
      ? 'A sandbox needs a clone of the hub.'
      : `${home} is not a clone of the hub.`,
    'Clone the hub, run `npm ci` in it, and pass it as --home or HUB_HOME.',
  )
}

/** Returns the Node installed in the clone, which runs TypeScript. */
export function findNode(home: string): string {
  const own = join(home, 'node_modules/.bin/node')
  return existsSync(own) ? own : process.execPath
}
