import { rm } from 'node:fs/promises'
import {
  type Browser,
  type BrowserContext,
  type CDPSession,
  type Connection,
  connect,
  TargetType,
} from 'puppeteer-core'
import { unrefSleep, withDeadline, withTimeout } from '../clock.ts'
import { type ManagedProcess, startManagedProcess } from '../runtime/managed-process.ts'
import { type BrowserHome, createProfile } from './browser-home.ts'
import { chromiumFlags, VIEWPORT } from './flags.ts'
import type { Program } from './program.ts'
import { PipeTransport } from './transport.ts'

export interface ChromiumOptions {
  readonly program: Program
  /** Folder of its temporary profile. */
  readonly home: BrowserHome
  readonly sandbox: boolean
  /** Proxy of the browser's own requests, which belong to no page. */
  readonly proxyUrl: string
}

/** Page with its own browser context, which shares nothing and is discarded with it. */
export interface Tab {
  readonly context: BrowserContext
  readonly session: CDPSession
  /** Id of its main frame, equal to the target id of the page. */
  readonly frame: string
}

const START_MS = 20_000
/** Timeout of a command, above the longest deadline of a page, which has errors of its own. */
const COMMAND_MS = 65_000
/** Timeout for closing a context or the browser; normally a fraction of this. */
const CLOSE_MS = 3_000

/** Running browser, which is terminated when the hub exits, including on SIGKILL. */
export class Chromium {
  /** Number of pages opened so far. */
  openedPages = 0
  readonly #process: ManagedProcess
  readonly #browser: Browser
  readonly #profile: string
  readonly #root: Connection

  private constructor(child: ManagedProcess, browser: Browser, root: Connection, profile: string) {
    this.#process = child
    this.#browser = browser
    this.#root = root
    this.#profile = profile
  }

  /** @throws Error with the browser's output if it does not start */
  static async start(options: ChromiumOptions): Promise<Chromium> {
    const { program, home } = options
    const profile = await createProfile(home)
    const child = startManagedProcess(
      program.path,
      chromiumFlags({ ...options, ...home, profile }),
      {
        cwd: profile,
        env: { ...ENVIRONMENT, HOME: profile, XDG_CACHE_HOME: profile, ...program.env },
        pipes: true,
        ...(home.user && { user: home.user }),
      },
    )
    const connected = connect({
      transport: new PipeTransport(child.pipes!),
      defaultViewport: null,
      // Attach to the browser only: puppeteer's pages would relay all console output to the hub.
      targetFilter: (target) => target.type() === TargetType.BROWSER,
      networkEnabled: false,
      issuesEnabled: false,
      protocolTimeout: COMMAND_MS,
    })
    const failed = child.exited.then(() => undefined)
    const browser = await Promise.race([withTimeout(START_MS, connected), failed])
    const root = browser && (await withTimeout(START_MS, openRootConnection(browser)))
    if (root) return new Chromium(child, browser, root, profile)
    await child.stop(0)
    await removeProfile(profile)
    throw new Error(`${program.path} does not start. Its output:\n${child.tail()}`)
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Resolves when the browser has exited. */
  get exited(): Promise<unknown> {
    return this.#process.exited.catch(() => -1)
  }

  /**
   * Opens an empty page without permissions whose traffic goes through `proxyUrl`.
   * @throws Error if the browser does not open it in time
   */
  async open(proxyUrl: string): Promise<Tab> {
    this.openedPages += 1
    return withDeadline(START_MS, this.#open(proxyUrl))
  }

  async #open(proxyUrl: string): Promise<Tab> {
    const root = this.#root
    const context = await this.#browser.createBrowserContext({
      proxyServer: proxyUrl,
      proxyBypassList: ['<-loopback>'],
      downloadBehavior: { policy: 'deny' },
    })
    const browserContextId = context.id!
    const [{ targetId }] = await Promise.all([
      root.send('Target.createTarget', { url: 'about:blank', browserContextId, ...VIEWPORT }),
      root.send('Browser.grantPermissions', { permissions: [], browserContextId }),
    ])
    const session = await root.createSession({ ...EMPTY_PAGE, targetId })
    return { context, session, frame: targetId }
  }

  /** Closes a page and everything it opened. Returns false if the browser must be replaced. */
  async close({ context, session }: Tab, hung: boolean): Promise<boolean> {
    // An endless script blocks closing: crash its process, a command without a response.
    if (hung) session.send('Page.crash').catch(() => undefined)
    return (
      (await withTimeout(
        CLOSE_MS,
        context.close().then(() => true),
      )) ?? false
    )
  }

  async stop(): Promise<void> {
    await Promise.race([this.#browser.close().catch(() => undefined), unrefSleep(CLOSE_MS)])
    await this.kill()
  }

  /** Kills the browser with all its processes. */
  async kill(): Promise<void> {
    await this.#process.stop(0)
    await removeProfile(this.#profile)
  }
}

/** Opens the root connection, which controls all pages and closes popups. */
async function openRootConnection(browser: Browser): Promise<Connection> {
  const root = (await browser.target().createCDPSession()).connection()!
  // By default, puppeteer pauses every new target until a client attaches.
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

/** Environment of the browser: nothing of the hub's, which contains secrets, is inherited. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', TZ: 'UTC' }

/** Removes a profile; retries because exiting processes may still write to it. */
const removeProfile = (profile: string): Promise<void> =>
  rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
