import { type ClientOptions, HubClient } from '../../core/client/index.ts'
import { readSettings, type Settings } from './config.ts'
import { Store } from './store.ts'
import { Terminal } from './terminal.ts'

/** What every command works with. */
export interface Context {
  readonly settings: Settings
  readonly store: Store
  readonly terminal: Terminal
  /** The hub's origin. */
  readonly hub: string
  /** A client of that hub, without a key unless one is given. */
  readonly client: (more?: Partial<ClientOptions>) => HubClient
}

/** Flags that every command has. */
export interface CommonFlags {
  readonly hub?: string
  readonly json?: boolean
  readonly yes?: boolean
  readonly color?: boolean
}

export async function createContext(flags: CommonFlags): Promise<Context> {
  const settings = readSettings(flags)
  const store = new Store(settings)
  const hub = await store.hub()
  const { proxyUrl } = settings
  return {
    settings,
    store,
    terminal: new Terminal(settings, flags),
    hub,
    client: (more) => new HubClient({ baseUrl: hub, proxyUrl, ...more }),
  }
}

/** A client with the key of this hub. @throws Failure when there is none */
export const clientWithKey = async ({ client, store }: Context): Promise<HubClient> =>
  client({ apiKey: await store.apiKey() })

/** Whether the hub's money is worth nothing. */
export async function isSandbox({ client }: Context): Promise<boolean> {
  const { body } = await client().send('/health')
  return body['sandbox'] === true
}
