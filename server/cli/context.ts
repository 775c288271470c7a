import { type ClientOptions, type ClientWait, HubClient } from '../../core/client/index.ts'
import { readSettings, type Settings } from './config.ts'
import { Store } from './store.ts'
import { Terminal } from './terminal.ts'

export interface Context {
  readonly settings: Settings
  readonly store: Store
  readonly terminal: Terminal
  /** Origin of the hub. */
  readonly hub: string
  /** Client of that hub, without a key unless one is configured. */
  readonly client: (more?: Partial<ClientOptions>) => HubClient
}

export interface CommonFlags {
  readonly hub?: string
  readonly configDir?: string
  readonly json?: boolean
  readonly yes?: boolean
  readonly color?: boolean
  /** Seconds to wait for a hub that does not respond. @defaultValue 60 */
  readonly wait?: number
}

export async function createContext(flags: CommonFlags): Promise<Context> {
  const settings = readSettings(flags)
  const store = new Store(settings)
  const hub = await store.hub()
  const { proxyUrl } = settings
  const terminal = new Terminal(settings, flags)
  const waiting = {
    onWait: showWaits(terminal),
    ...(flags.wait !== undefined && { waitMs: flags.wait * 1_000 }),
  }
  return {
    settings,
    store,
    terminal,
    hub,
    client: (more) => new HubClient({ baseUrl: hub, proxyUrl, ...waiting, ...more }),
  }
}

/** Shows what the client waits for, each reason once. */
function showWaits(terminal: Terminal): (wait: ClientWait) => void {
  const shown = new Set<string>()
  return ({ reason }) => {
    if (!shown.has(reason)) terminal.note(`${reason}: waiting for the response …`)
    shown.add(reason)
  }
}

/** Wraps a command, whose modules are loaded when it runs, so that help stays fast. */
export type Run = (
  work: (context: Context, flags: CommonFlags, ...args: never) => Promise<unknown>,
) => (...given: unknown[]) => Promise<void>

/** Returns a client with the key for this hub. @throws Failure if there is none */
export const clientWithKey = async ({ client, store }: Context): Promise<HubClient> =>
  client({ apiKey: await store.apiKey() })

/** Returns true if the hub is a sandbox with test money. */
export async function isSandbox({ client }: Context): Promise<boolean> {
  const { body } = await client().send('/health')
  return body['sandbox'] === true
}
