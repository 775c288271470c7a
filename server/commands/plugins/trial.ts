import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { HubClient } from '../../../core/client/index.ts'
import { type Config, readConfig } from '../../../core/config.ts'
import type { PluginEntry } from '../../../core/hosting/entry.ts'
import { createLog } from '../../../core/log.ts'
import type { AnyService, Host } from '../../../core/plugin/index.ts'
import { CREDITS_ONLY } from '../../boot/options.ts'
import { type Parts, type RunningHub, startHub } from '../../boot/start.ts'
import { registerFirstAgent } from '../../sandbox/agent.ts'
import type { Write } from '../command.ts'

export interface PluginsCommandDeps {
  readonly config: Config
  readonly loadParts: () => Promise<Parts>
  /** Capabilities injected into a plugin while it is examined. */
  readonly host: Host
  /** Opens connections of the database owner, the only role that may change plugins. */
  readonly connect: () => Promise<Pool>
  readonly write: Write
  readonly tell: Write
}

export interface TrialHub {
  readonly running: RunningHub
  readonly service: AnyService
  /** Client with $5 of credits. */
  readonly client: HubClient
  readonly apiKey: string
  stop(): Promise<void>
}

/**
 * Starts a sandbox with its own database, never a real wallet. @param out receives the log
 * @throws Error if the plugin cannot be sold
 */
export async function startTrial(
  loadParts: () => Promise<Parts>,
  config: Config,
  entry: PluginEntry,
  out: { write(line: string): unknown } = process.stderr,
): Promise<TrialHub> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-trial-'))
  const { secret, secrets, pluginHosts, sandboxHosts, hosting } = config
  const own = {
    secret,
    secrets,
    pluginHosts,
    sandboxHosts,
    hosting: { ...hosting, entries: [entry] },
  }
  const remove = () => rm(dataDir, { recursive: true, force: true })
  let running: RunningHub | undefined
  const stop = async (): Promise<void> => {
    await running?.stop()
    await remove()
  }
  try {
    const log = createLog('warn', out, secrets)
    const loadAlone = async () => ({ ...(await loadParts()), plugins: [] })
    const tried = { ...readConfig({}), ...own, dataDir, port: 0 }
    running = await startHub({ config: tried, loadParts: loadAlone, log })
    const { hub, url, sandbox } = running
    const service = hub.services.find(({ slug }) => !CREDITS_ONLY.has(slug))
    if (!service) throw new Error(`${entry.spec} sells no service that could be tested`)
    const apiKey = await registerFirstAgent(dataDir, url, sandbox!.wallets.agent)
    return { running, service, apiKey, client: new HubClient({ baseUrl: url, apiKey }), stop }
  } catch (error) {
    await stop()
    throw error
  }
}
