import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { homeOf, nodeOf } from './home.ts'

/**
 * Runs the conformance suite over a plugin. The hub's own program does it, in a process of its own:
 * the command line has no sandbox.
 * @throws Failure where the plugin does not meet every demand
 */
export async function testPlugin(
  { terminal, settings }: Context,
  plugin: string,
  { runs, home: named }: { readonly runs?: string; readonly home?: string },
): Promise<void> {
  const home = homeOf(named ?? settings.env['HUB_HOME'])
  const spec = existsSync(plugin) ? resolve(plugin) : plugin
  const entry = runs === undefined ? spec : `${spec}=${runs}`
  const args = [join(home, 'server/main.ts'), 'plugins', 'test', entry]
  const child = spawn(nodeOf(home), terminal.json ? [...args, '--json'] : args, {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === 2) throw new Failure('usage', `${plugin} is no plugin that could be named so.`)
  if (code !== 0) throw new Failure('error', 'It does not do all that a plugin must.')
}
