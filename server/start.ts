import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, patience, systemClock } from '../core/clock.ts'
import { type Config, ConfigError } from '../core/config.ts'
import { derivedUuid } from '../core/ids.ts'
import { SPEND } from '../core/ledger/postings.ts'
import type { Log } from '../core/log.ts'
import type { Hex } from '../core/payments/asset.ts'
import type { GasWallet } from '../core/payments/facilitators/gas-wallet.ts'
import type { Plugin } from '../core/plugin.ts'
import { loadSigningKey, type SigningKey } from '../core/signing-key.ts'
import { type Hub, openHub } from './hub.ts'
import { openRealMoney } from './real-money.ts'
import { type Sandbox, startSandbox } from './sandbox/start.ts'

/** What jobs need beside what resolves payments. */
interface JobExtras {
  readonly signingKey: SigningKey
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  /** Undefined where somebody else settles. */
  readonly gas: ({ readonly wallet: GasWallet } & Config['gas']) | undefined
}

/** What main.ts hands on, since it alone sees plugins and jobs. */
export interface Parts {
  readonly plugins: readonly Plugin[]
  readonly privileged: readonly Plugin[]
  readonly startJobs: (
    databaseUrl: string,
    ports: Hub['ports'] & Pick<Hub, 'pool'> & JobExtras,
  ) => Promise<{ stop(): Promise<void> }>
}

export interface StartOptions {
  readonly config: Config
  readonly parts: Parts
  readonly log: Log
  readonly clock?: Clock
  /** Whether to listen; a process for the jobs alone does not. @defaultValue true */
  readonly doors?: boolean
  /** See HubOptions. @defaultValue 60 */
  readonly holdMarginSeconds?: number
}

export interface RunningHub {
  readonly url: string
  readonly hub: Hub
  readonly databaseUrl: string
  /** Undefined in production. */
  readonly sandbox: Sandbox | undefined
  /** Stops taking requests, finishes those at work, and ends whatever was started. */
  stop(): Promise<void>
}

/** Requests at work get this long to finish when the hub stops. */
const DRAIN_MS = 10_000
/** Before every other entry; only the order within its month matters. */
const BOOKS_OPENED = new Date('2026-11-01T00:00:00Z')

/**
 * Starts a hub: its surroundings, its doors and its jobs.
 * @throws ConfigError when the port is taken
 */
export async function startHub(options: StartOptions): Promise<RunningHub> {
  const { config, parts, log, clock = systemClock } = options
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const { production, dataDir, databaseUrl } = config
    const sandbox = production ? undefined : await startSandbox({ dataDir, databaseUrl, log })
    if (sandbox) stops.push(() => sandbox.stop())
    const url = sandbox?.databaseUrl ?? databaseUrl!
    const real = production && (await openRealMoney(production, url, log))
    if (real) stops.push(() => real.stop())
    const money = sandbox?.money ?? real!.money
    const signingKey = await loadSigningKey(config)
    let address = ''
    const hub = await openHub({
      ...config,
      ...parts,
      databaseUrl: url,
      signingKey,
      money,
      sandbox: sandbox !== undefined,
      admins: adminsOf(config, sandbox),
      holdMarginSeconds: options.holdMarginSeconds ?? 60,
      baseUrl: () => config.baseUrl ?? address,
      egress: {
        sandboxHosts: new Map([...(sandbox?.hosts ?? []), ...config.sandboxHosts]),
        allowedPorts: config.egressPorts,
        httpsOnly: sandbox === undefined,
      },
      clock,
      log,
    })
    stops.push(() => hub.close())
    if (sandbox) await openBooks(hub, sandbox)
    if (config.jobs) {
      const wallets = { treasury: money.treasury, spend: money.spend.address }
      const gas = money.gas && { wallet: money.gas, ...config.gas }
      const extras = { pool: hub.pool, signingKey, wallets, gas }
      const running = await parts.startJobs(url, { ...hub.ports, ...extras })
      stops.push(() => running.stop())
    }
    if (options.doors ?? true) {
      const server = await listen(hub, config)
      stops.push(() => drain(server))
      address = `http://${hostOf(config.host)}:${(server.address() as AddressInfo).port}`
    }
    return { url: config.baseUrl ?? address, hub, databaseUrl: url, sandbox, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** In a sandbox, where nobody is named, the first agent: so that everything can be tried. */
const adminsOf = ({ admins }: Config, sandbox: Sandbox | undefined): readonly string[] =>
  admins.length > 0 || !sandbox ? admins : [sandbox.wallets.agent.account.address.toLowerCase()]

/**
 * The test money that the spend wallet was given is there before the books: their opening. The
 * block that it names tells reconciliation which transfers came before.
 */
async function openBooks({ ledger }: Hub, { money, spendOpening }: Sandbox): Promise<void> {
  const owner = await ledger.account(SPEND)
  const { number } = await money.chain.head()
  const id = derivedUuid(BOOKS_OPENED, money.spend.address)
  const event = { type: 'balance.opened', account: SPEND, amount: spendOpening } as const
  await ledger.post(event, { owner, id, meta: { block: String(number) } })
}

async function listen(hub: Hub, { host, port }: Config): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 32_768,
    },
    hub.handler,
  )
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new ConfigError(`Port ${port} is taken: set HUB_PORT to another one.`, { cause: error })
  }
  return server
}

async function drain(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  await Promise.race([closed, patience(DRAIN_MS)])
  server.closeAllConnections()
}

/** How to reach an address that one listens on: "all of them" is reached on loopback. */
const hostOf = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
