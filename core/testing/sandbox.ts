import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HubClient } from '../client/index.ts'

/** A hub of your own, with test money, that sells one plugin. */
export interface Sandbox {
  readonly url: string
  /** The slug of what is sold. */
  readonly service: string
  readonly apiKey: string
  /** Has five test dollars of credits. */
  readonly client: HubClient
  /** Ends it, and leaves nothing behind. It ends by itself when this process does. */
  stop(): Promise<void>
}

export interface SandboxOptions {
  /** The folder or file of the plugin, or the name of its package. */
  readonly plugin: URL | string
  /**
   * `worker`, or `process+http+secret:NAME+database:SLUG`: how it runs.
   * @defaultValue as its package says
   */
  readonly runs?: string
  /** Variables of the hub, such as `HUB_SECRET_NAME`. */
  readonly env?: Readonly<Record<string, string>>
  /** A clone of the hub with its packages installed. @defaultValue the one that this package is */
  readonly home?: string | undefined
}

/**
 * Starts a sandbox that sells a plugin: database, chain and money are local. It takes some seconds.
 * @throws Error that says why the plugin cannot be sold
 */
export async function startSandbox({ plugin, runs, env, home }: SandboxOptions): Promise<Sandbox> {
  const place = hubFolder(home)
  const spec = plugin instanceof URL ? fileURLToPath(plugin) : plugin
  const entry = runs === undefined ? spec : `${spec}=${runs}`
  const own = join(place, 'node_modules/.bin/node')
  const hub = spawn(
    existsSync(own) ? own : process.execPath,
    [join(place, 'server/main.ts'), 'plugins', 'sandbox', entry],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: '/usr/bin:/bin', ...env } },
  )
  const ended = once(hub, 'exit')
  const told = await Promise.race([
    once(createInterface({ input: hub.stdout }), 'line').then(([line]) => JSON.parse(line)),
    ended.then(() => ({ problem: 'the sandbox ended before it was ready' })),
  ])
  const { url, apiKey, service, problem } = told as Record<string, string>
  if (url === undefined || apiKey === undefined || service === undefined) {
    await ended
    throw new Error(problem ?? 'the sandbox said nothing')
  }
  return {
    url,
    service,
    apiKey,
    client: new HubClient({ baseUrl: url, apiKey }),
    async stop() {
      hub.stdin.end()
      await ended
    },
  }
}

const PACKAGE_FOLDER = dirname(fileURLToPath(new URL('../../package.json', import.meta.url)))

/** @throws Error that says how to come to one */
function hubFolder(home: string | undefined): string {
  const place = home ?? PACKAGE_FOLDER
  if (existsSync(join(place, 'server/main.ts'))) return place
  throw new Error(
    `a sandbox needs a clone of the hub with its packages (npm ci): ${
      home === undefined ? 'say where with home, or HUB_HOME' : `there is none at ${home}`
    }`,
  )
}
