import { join } from 'node:path'
import { DEFAULT_HUB, type Settings } from './config.ts'
import { Failure } from './failure.ts'
import { readJson, replaceFile } from './files.ts'

export interface Credential {
  readonly api_key: string
  readonly key_id: string
  readonly wallet_address: string
  readonly sandbox: boolean
}

/** Keys by hub origin; a key is never sent to another hub. */
interface Credentials {
  readonly current?: string
  readonly hubs: Readonly<Record<string, Credential>>
}

/** A service saved under a name of the user's choice. */
export interface Tool {
  /** URL of a listing, or `slug/path` of a native service. */
  readonly target: string
  readonly method: string
  readonly description?: string | undefined
  /** Price when it was added, in decimal dollars. */
  readonly price_usd?: string | undefined
  readonly hub: string
}

interface Tools {
  readonly tools: Readonly<Record<string, Tool>>
}

/** Credentials and tools, stored in the user's configuration directory. */
export class Store {
  readonly #settings: Settings

  constructor(settings: Settings) {
    this.#settings = settings
  }

  path(name: string): string {
    return join(this.#settings.dir, name)
  }

  async hub(): Promise<string> {
    return this.#settings.hub ?? (await this.#credentials()).current ?? DEFAULT_HUB
  }

  /** Returns the stored credential; undefined if not registered with that hub. */
  async credential(hub: string): Promise<Credential | undefined> {
    return (await this.#credentials()).hubs[hub]
  }

  /** Returns the key in use. @throws Failure if there is none */
  async apiKey(): Promise<string> {
    const hub = await this.hub()
    const kept = (await this.credential(hub))?.api_key
    const { apiKey, isHubFromProject: hubOfProject } = this.#settings
    if (apiKey !== undefined && hubOfProject && kept === undefined) {
      throw new Failure(
        'no_key',
        `A file in this folder selects the hub ${hub}: HUB_API_KEY is not sent there.`,
        `If you trust it: --hub ${hub}, or HUB_BASE_URL.`,
      )
    }
    const key = apiKey ?? kept
    if (key !== undefined) return key
    throw new Failure(
      'no_key',
      `No API key for ${hub}.`,
      'Get one with `hub register`, or set HUB_API_KEY.',
    )
  }

  async saveCredential(hub: string, credential: Credential): Promise<void> {
    const { hubs } = await this.#credentials()
    const next: Credentials = { current: hub, hubs: { ...hubs, [hub]: credential } }
    await replaceFile(this.path('credentials.json'), pretty(next))
  }

  async tools(): Promise<Readonly<Record<string, Tool>>> {
    return (await readJson<Tools>(this.path('tools.json')))?.tools ?? {}
  }

  async saveTools(tools: Readonly<Record<string, Tool>>): Promise<void> {
    await replaceFile(this.path('tools.json'), pretty({ tools }))
  }

  async #credentials(): Promise<Credentials> {
    return (await readJson<Credentials>(this.path('credentials.json'))) ?? { hubs: {} }
  }
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
