import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { versionOf } from '../package.ts'
import { ownHome } from './home.ts'
import { filesOf } from './template.ts'

interface Asked {
  readonly name: string
  readonly folder: string | undefined
  /** Who earns. @defaultValue me */
  readonly provider?: string
}

/** As slugs and providers are written. */
const NAME = /^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/

/**
 * Makes a folder with a service, its test and all that it needs.
 * @throws Failure where there is something already
 */
export async function newPlugin(
  { terminal }: Pick<Context, 'terminal'>,
  { name, folder = name, provider = 'me' }: Asked,
): Promise<void> {
  for (const each of [name, provider]) {
    if (NAME.test(each)) continue
    throw new Failure('usage', `Not a name: ${each}`, 'Take 2 to 40 of a-z, 0-9, inner hyphens.')
  }
  const place = resolve(folder)
  const there = await readdir(place).catch(() => [])
  if (there.length > 0) throw new Failure('usage', `${place} is not empty.`, 'Name another folder.')
  const home = ownHome()
  const agenthub = home === undefined ? `^${versionOf()}` : `file:${relative(place, home)}`
  const files = filesOf({ name, provider, agenthub })
  await mkdir(place, { recursive: true })
  for (const [file, text] of Object.entries(files)) await writeFile(join(place, file), text)
  await terminal.result({ folder: place, files: Object.keys(files) }, () =>
    [
      `Made ${place}: ${Object.keys(files).join(', ')}`,
      '',
      `  cd ${relative('.', place) || '.'}`,
      '  npm install',
      '  npm test                  # a paid call in a sandbox',
      '  npx hub plugin test       # all that a plugin must do',
    ].join('\n'),
  )
}
