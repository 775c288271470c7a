import { join } from 'node:path'
import { DEFAULT_HUB, type Settings } from './config.ts'
import { Failure } from './failure.ts'
import { readJson, readText, replaceJson, storeBackup, withFileLock } from './files.ts'

export interface Credential {
  readonly api_key: string
  readonly key_id: string
  readonly wallet_address: string
  readonly sandbox: boolean
}

/** Keys by hub origin; a key is never sent to another hub, and never removed. */
interface Credentials {
  readonly current?: string
  /** The key in use. */
  readonly hubs: Readonly<Record<string, Credential>>
  /** The other stored keys. */
  readonly others?: Readonly<Record<string, readonly Credential[]>>
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

  /** Lists the stored keys of a hub, the one in use first. */
  async credentialsOf(hub: string): Promise<readonly Credential[]> {
    return listCredentials(await this.#credentials(), hub)
  }

  /**
   * Stores a key and puts it in use. All other keys stay stored; one with the same id is updated.
   * The previous file is backed up, and concurrent commands wait for each other.
   */
  async saveCredential(hub: string, credential: Credential): Promise<void> {
    const path = this.path('credentials.json')
    await withFileLock(path, async () => {
      const before = await this.#credentials()
      const others = listCredentials(before, hub).filter(
        ({ key_id: id }) => id !== credential.key_id,
      )
      const next: Credentials = {
        current: hub,
        hubs: { ...before.hubs, [hub]: credential },
        others: { ...before.others, [hub]: others },
      }
      const text = await readText(path)
      if (text !== undefined) await storeBackup(path, text)
      await replaceJson(path, next)
    })
  }

  async tools(): Promise<Readonly<Record<string, Tool>>> {
    return (await readJson<Tools>(this.path('tools.json')))?.tools ?? {}
  }

  async saveTools(tools: Readonly<Record<string, Tool>>): Promise<void> {
    await replaceJson(this.path('tools.json'), { tools })
  }

  async #credentials(): Promise<Credentials> {
    const hint = `Fix it, or restore it from ${this.path('backups')}.`
    return (await readJson<Credentials>(this.path('credentials.json'), hint)) ?? { hubs: {} }
  }
}

function listCredentials({ hubs, others }: Credentials, hub: string): readonly Credential[] {
  const inUse = hubs[hub]
  return [...(inUse ? [inUse] : []), ...(others?.[hub] ?? [])]
}
