import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { findNode, resolveHome } from './home.ts'

/** Runs the conformance suite in a process of the hub's own program. @throws Failure if it fails */
export async function testPlugin(
  { terminal, settings }: Context,
  plugin: string,
  { runs, home: named }: { readonly runs?: string; readonly home?: string },
): Promise<void> {
  const home = resolveHome(named ?? settings.env['HUB_HOME'])
  const spec = existsSync(plugin) ? resolve(plugin) : plugin
  const entry = runs === undefined ? spec : `${spec}=${runs}`
  const args = [join(home, 'server/main.ts'), 'plugins', 'test', entry]
  const child = spawn(findNode(home), terminal.json ? [...args, '--json'] : args, {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === 2) throw new Failure('usage', `${plugin} is not a valid plugin specifier.`)
  if (code !== 0) throw new Failure('error', 'The plugin fails the conformance suite.')
}
