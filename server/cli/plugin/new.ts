import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { versionOf } from '../package.ts'
import { findOwnHome } from './home.ts'
import { templateFiles } from './template.ts'

interface NewPluginOptions {
  readonly name: string
  readonly folder: string | undefined
  /** Provider of the service. @defaultValue me */
  readonly provider?: string
}

/** Pattern of slugs and provider names. */
const NAME = /^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/

/**
 * Creates a folder with a service, its test and its configuration.
 * @throws Failure if the folder is not empty
 */
export async function newPlugin(
  { terminal }: Pick<Context, 'terminal'>,
  { name, folder = name, provider = 'me' }: NewPluginOptions,
): Promise<void> {
  for (const each of [name, provider]) {
    if (NAME.test(each)) continue
    throw new Failure('usage', `Not a name: ${each}`, 'Use 2 to 40 of a-z, 0-9 and inner hyphens.')
  }
  const place = resolve(folder)
  const there = await readdir(place).catch(() => [])
  if (there.length > 0) throw new Failure('usage', `${place} is not empty.`, 'Name another folder.')
  const home = findOwnHome()
  const agenthub = home === undefined ? `^${versionOf()}` : `file:${relative(place, home)}`
  const files = templateFiles({ name, provider, agenthub })
  await mkdir(place, { recursive: true })
  for (const [file, text] of Object.entries(files)) await writeFile(join(place, file), text)
  await terminal.result({ folder: place, files: Object.keys(files) }, () =>
    [
      `Created ${place}: ${Object.keys(files).join(', ')}`,
      '',
      `  cd ${relative('.', place) || '.'}`,
      '  npm install',
      '  npm test                  # a paid call in a sandbox',
      '  npx hub plugin test       # the conformance suite',
    ].join('\n'),
  )
}
