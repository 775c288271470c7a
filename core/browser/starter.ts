import { Proxy } from '../egress/proxy.ts'
import { type BrowserHome, prepareBrowserHome, sweepProfiles } from './browser-home.ts'
import type { Chromium, ChromiumOptions } from './chromium.ts'
import type { PoolOptions } from './pool.ts'
import { bundledProgram, type Program, systemProgram } from './program.ts'
import type { BrowserSettings } from './settings.ts'

interface LaunchContext {
  readonly home: BrowserHome
  /** Refuses all requests: proxy of the browser's own traffic, which belongs to no page. */
  readonly deadEndProxy: Proxy
  readonly program: Program
}

/** Starts browsers, and remembers whether the sandbox works on this machine. */
export class Starter {
  readonly #settings: BrowserSettings
  readonly #log: PoolOptions['log']
  #context: Promise<LaunchContext> | undefined
  #sandbox: boolean

  constructor(settings: BrowserSettings, log: PoolOptions['log']) {
    this.#settings = settings
    this.#log = log
    this.#sandbox = settings.sandbox
  }

  /** @throws Error if the browser does not start */
  async start(): Promise<Chromium> {
    this.#context ??= this.#prepare()
    const { home, deadEndProxy, program } = await this.#context.catch((error) => {
      this.#context = undefined
      throw error
    })
    const options = { home, program, proxyUrl: deadEndProxy.url }
    try {
      return await launch({ ...options, sandbox: this.#sandbox })
    } catch (error) {
      // Only the unprivileged user, which owns no files, may run without the sandbox.
      if (!home.user || !this.#sandbox) throw error
      const chromium = await launch({ ...options, sandbox: false })
      this.#sandbox = false
      this.#log('running browsers without a sandbox, which the machine does not support', {
        err: error,
      })
      return chromium
    }
  }

  async close(): Promise<void> {
    const context = await this.#context?.catch(() => undefined)
    await context?.deadEndProxy.close()
  }

  async #prepare(): Promise<LaunchContext> {
    const home = await prepareBrowserHome(this.#settings.home)
    await sweepProfiles(home)
    const program = await this.#program(home)
    return { home, program, deadEndProxy: await Proxy.open({ maxBytes: 0, maxRequests: 0 }) }
  }

  /** Prefers the headless shell: it opens a context in a fifth of the time of Chrome. */
  async #program({ folder }: BrowserHome): Promise<Program> {
    const { path } = this.#settings
    if (path !== undefined) return { path, env: {} }
    return (await bundledProgram(folder)) ?? (await systemProgram())
  }
}

/** Imports puppeteer lazily, because loading it takes a third of a second. */
async function launch(options: ChromiumOptions): Promise<Chromium> {
  const { Chromium } = await import('./chromium.ts')
  return Chromium.start(options)
}
