import { Proxy } from '../egress/proxy.ts'
import type { Chromium, ChromiumOptions } from './chromium.ts'
import { findPlace, type Place, sweepProfiles } from './place.ts'
import type { PoolOptions } from './pool.ts'
import { bundledProgram, type Program, systemProgram } from './program.ts'
import type { BrowserSettings } from './settings.ts'

interface Ground {
  readonly place: Place
  /** The proxy of what belongs to no page: it leads nowhere. */
  readonly nowhere: Proxy
  readonly program: Program
}

/** Starts browsers, and knows after the first one how they start on this machine. */
export class Starter {
  readonly #settings: BrowserSettings
  readonly #log: PoolOptions['log']
  #ground: Promise<Ground> | undefined
  #sandbox: boolean

  constructor(settings: BrowserSettings, log: PoolOptions['log']) {
    this.#settings = settings
    this.#log = log
    this.#sandbox = settings.sandbox
  }

  /** @throws Error when none starts */
  async start(): Promise<Chromium> {
    this.#ground ??= this.#prepare()
    const { place, nowhere, program } = await this.#ground.catch((error) => {
      this.#ground = undefined
      throw error
    })
    const options = { place, program, proxyUrl: nowhere.url }
    try {
      return await launch({ ...options, sandbox: this.#sandbox })
    } catch (error) {
      // As an identity that owns nothing, a page may do without; as a user of the machine, never.
      if (!place.user || !this.#sandbox) throw error
      const chromium = await launch({ ...options, sandbox: false })
      this.#sandbox = false
      this.#log('the machine lets no sandbox be made for pages', { err: error })
      return chromium
    }
  }

  async close(): Promise<void> {
    const ground = await this.#ground?.catch(() => undefined)
    await ground?.nowhere.close()
  }

  async #prepare(): Promise<Ground> {
    const place = await findPlace(this.#settings.home)
    await sweepProfiles(place)
    const program = await this.#program(place)
    return { place, program, nowhere: await Proxy.open({ maxBytes: 0, maxRequests: 0 }) }
  }

  /** A headless shell opens a fresh context in a fifth of the time that a whole Chrome takes. */
  async #program({ home }: Place): Promise<Program> {
    const { path } = this.#settings
    if (path !== undefined) return { path, env: {} }
    return (await bundledProgram(home)) ?? (await systemProgram())
  }
}

/** Puppeteer takes a third of a second to load: who renders nothing does not wait for it. */
async function launch(options: ChromiumOptions): Promise<Chromium> {
  const { Chromium } = await import('./chromium.ts')
  return Chromium.start(options)
}
