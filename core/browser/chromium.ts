import { rm } from 'node:fs/promises'
import {
  type Browser,
  type BrowserContext,
  type CDPSession,
  type Connection,
  connect,
  TargetType,
} from 'puppeteer-core'
import { patience, within } from '../clock.ts'
import { type Kept, keep } from '../runtime/managed-process.ts'
import { chromiumFlags } from './flags.ts'
import { makeProfile, type Place } from './place.ts'
import type { Program } from './program.ts'
import { PipeTransport } from './transport.ts'
import { SCREEN } from './visit.ts'

export interface ChromiumOptions {
  readonly program: Program
  /** Its profile lies there for as long as it runs. */
  readonly place: Place
  readonly sandbox: boolean
  /** The proxy of what belongs to no page: the browser's own wishes. */
  readonly proxyUrl: string
}

/** One page of its own context: nothing in it is shared, and nothing outlives it. */
export interface Tab {
  readonly context: BrowserContext
  readonly session: CDPSession
  /** The id of its main frame, which Chromium gives to the page as well. */
  readonly frame: string
}

const START_MS = 20_000
/** A browser that is well closes a context, or itself, in a fraction of this. */
const CLOSE_MS = 3_000

/** One running browser, which ends with the hub, however the hub ends. */
export class Chromium {
  /** Pages that it has opened, ever. */
  opened = 0
  readonly #kept: Kept
  readonly #browser: Browser
  readonly #profile: string
  readonly #root: Connection

  private constructor(kept: Kept, browser: Browser, root: Connection, profile: string) {
    this.#kept = kept
    this.#browser = browser
    this.#root = root
    this.#profile = profile
  }

  /** @throws Error with the browser's own words when it does not start */
  static async start(options: ChromiumOptions): Promise<Chromium> {
    const { program, place } = options
    const profile = await makeProfile(place)
    const kept = keep(program.path, chromiumFlags({ ...options, ...place, profile }), {
      cwd: profile,
      env: { ...ENVIRONMENT, HOME: profile, XDG_CACHE_HOME: profile, ...program.env },
      pipes: true,
      ...(place.user && { user: place.user }),
    })
    const connected = connect({
      transport: new PipeTransport(kept.pipes!),
      defaultViewport: null,
      // Only the browser itself: puppeteer's pages would relay to us whatever a page says or asks.
      targetFilter: (target) => target.type() === TargetType.BROWSER,
      networkEnabled: false,
      issuesEnabled: false,
      protocolTimeout: START_MS,
    })
    const failed = kept.exited.then(() => undefined)
    const browser = await Promise.race([within(START_MS, connected), failed])
    const root = browser && (await within(START_MS, rootOf(browser)))
    if (root) return new Chromium(kept, browser, root, profile)
    await kept.stop(0)
    await remove(profile)
    throw new Error(`${program.path} does not start. It said:\n${kept.tail()}`)
  }

  get pid(): number {
    return this.#kept.pid
  }

  /** Resolves when it has ended, whatever the reason. */
  get gone(): Promise<unknown> {
    return this.#kept.exited.catch(() => -1)
  }

  /** Opens an empty page whose every byte goes by `proxyUrl`, with permission for nothing. */
  async open(proxyUrl: string): Promise<Tab> {
    this.opened += 1
    const root = this.#root
    const context = await this.#browser.createBrowserContext({
      proxyServer: proxyUrl,
      proxyBypassList: ['<-loopback>'],
      downloadBehavior: { policy: 'deny' },
    })
    const browserContextId = context.id!
    const [{ targetId }] = await Promise.all([
      root.send('Target.createTarget', { url: 'about:blank', browserContextId, ...SCREEN }),
      root.send('Browser.grantPermissions', { permissions: [], browserContextId }),
    ])
    const session = await root.createSession({ ...EMPTY_PAGE, targetId })
    return { context, session, frame: targetId }
  }

  /**
   * Ends a page with all that it opened.
   * @returns whether that succeeded: a browser that cannot close a page has to go
   */
  async close({ context, session }: Tab, hung: boolean): Promise<boolean> {
    // A script that never ends cannot be asked to: its process is ended. Nobody answers that.
    if (hung) session.send('Page.crash').catch(() => undefined)
    return (
      (await within(
        CLOSE_MS,
        context.close().then(() => true),
      )) ?? false
    )
  }

  async stop(): Promise<void> {
    await Promise.race([this.#browser.close().catch(() => undefined), patience(CLOSE_MS)])
    await this.kill()
  }

  /** Ends it at once, with all its processes. */
  async kill(): Promise<void> {
    await this.#kept.stop(0)
    await remove(this.#profile)
  }
}

/** Commands all pages. What a page opens by itself is closed as soon as it is seen. */
async function rootOf(browser: Browser): Promise<Connection> {
  const root = (await browser.target().createCDPSession()).connection()!
  // Puppeteer would stop every new window until somebody has looked at it.
  const autoAttach = { autoAttach: false, waitForDebuggerOnStart: false, flatten: true }
  await root.send('Target.setAutoAttach', autoAttach)
  root.on('Target.targetCreated', ({ targetInfo: { targetId, openerId } }) => {
    if (openerId) root.send('Target.closeTarget', { targetId }).catch(() => undefined)
  })
  return root
}

const EMPTY_PAGE = {
  type: 'page',
  title: '',
  url: 'about:blank',
  attached: false,
  canAccessOpener: false,
}

/** Nothing of the hub's environment, with its secrets, reaches a browser. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', TZ: 'UTC' }

/** What its last processes still write is tried again. */
const remove = (profile: string): Promise<void> =>
  rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
