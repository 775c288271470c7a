import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HubClient } from '../client/index.ts'

/** Local hub with test money that sells one plugin. */
export interface Sandbox {
  readonly url: string
  /** Slug of the plugin's service. */
  readonly service: string
  readonly apiKey: string
  /** Client with five test dollars of credits. */
  readonly client: HubClient
  /** Stops the hub and deletes its data. It also stops when this process exits. */
  stop(): Promise<void>
}

export interface SandboxOptions {
  /** Folder, file or package name of the plugin. */
  readonly plugin: URL | string
  /** Isolation and capabilities, as in `process+secret:NAME`. @defaultValue of the package */
  readonly runs?: string
  /** Environment of the hub, such as `HUB_SECRET_NAME`. */
  readonly env?: Readonly<Record<string, string>>
  /** Clone of the hub with its packages installed. @defaultValue the one that contains this file */
  readonly home?: string | undefined
}

/** Starts a sandbox that sells a plugin, in seconds. @throws Error if it cannot be sold */
export async function startSandbox({ plugin, runs, env, home }: SandboxOptions): Promise<Sandbox> {
  const place = hubFolder(home)
  const spec = plugin instanceof URL ? fileURLToPath(plugin) : plugin
  const entry = runs === undefined ? spec : `${spec}=${runs}`
  const node = join(place, 'node_modules/.bin/node')
  const hub = spawn(
    existsSync(node) ? node : process.execPath,
    [join(place, 'server/main.ts'), 'plugins', 'sandbox', entry],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: '/usr/bin:/bin', ...env } },
  )
  const ended = once(hub, 'exit')
  const started = await Promise.race([
    once(createInterface({ input: hub.stdout }), 'line').then(([line]) => JSON.parse(line)),
    ended.then(() => ({ problem: 'the sandbox ended before it was ready' })),
  ])
  const { url, apiKey, service, problem } = started as Record<string, string>
  if (url === undefined || apiKey === undefined || service === undefined) {
    await ended
    throw new Error(problem ?? 'the sandbox printed nothing')
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

/** @throws Error with instructions if there is no clone of the hub */
function hubFolder(home: string | undefined): string {
  const place = home ?? PACKAGE_FOLDER
  if (existsSync(join(place, 'server/main.ts'))) return place
  throw new Error(
    `a sandbox requires a clone of the hub with its packages (npm ci): ${
      home === undefined ? 'set home or HUB_HOME' : `there is none at ${home}`
    }`,
  )
}
