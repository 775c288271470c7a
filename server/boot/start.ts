import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, sleep, withTimeout } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { loadSigningKey, type SigningKey } from '../../core/crypto/signing-key.ts'
import { createPool } from '../../core/db/pool.ts'
import type { Egress } from '../../core/egress/http.ts'
import { createContractVerifier } from '../../core/identity/wallet-signature.ts'
import { derivedUuid } from '../../core/ids.ts'
import { SPEND } from '../../core/ledger/postings.ts'
import type { Log } from '../../core/log.ts'
import type { MailSender } from '../../core/mail/queue.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import type { PayoutDeps } from '../../core/payments/payouts/payout.ts'
import { createOffers, type Offers } from '../../core/payments/receiving/offers.ts'
import type { Plugin } from '../../core/plugin/index.ts'
import { drain, listen, reachableHost } from '../http/listen.ts'
import { sellSamplePages } from '../sandbox/sell-pages.ts'
import { joinSandbox, type Sandbox, type SandboxPlace, startSandbox } from '../sandbox/start.ts'
import { listSampleSeller } from './discovery.ts'
import { type Hub, openHub } from './hub.ts'
import { openMailing } from './mail.ts'
import type { HubOptions, Money } from './options.ts'
import { openRealMoney } from './production-money.ts'

/** What jobs need beside what resolves payments. */
interface JobExtras {
  readonly signingKey: SigningKey
  readonly mailing: MailSender
  readonly egress: Egress
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  /** Undefined where somebody else settles. */
  readonly gas: ({ readonly wallet: GasWallet } & Config['gas']) | undefined
  readonly payouts: Pick<PayoutDeps, 'account' | 'settle' | 'minimum'>
}

/** What main.ts hands on, since it alone sees plugins and jobs. */
export interface Parts {
  readonly plugins: readonly Plugin[]
  readonly privileged: readonly Plugin[]
  readonly startJobs: (
    databaseUrl: string,
    ports: Hub['ports'] &
      Pick<Hub, 'pool' | 'services' | 'families' | 'catalog' | 'onSold' | 'discovery'> &
      JobExtras,
  ) => Promise<{ stop(): Promise<void> }>
}

export interface StartOptions {
  readonly config: Config
  readonly parts: Parts
  readonly log: Log
  /** @defaultValue that of the database */
  readonly clock?: Clock | undefined
  /** See HubOptions. */
  readonly cacheNow?: HubOptions['cacheNow']
  /** Shows who started it what no log may show: mails of a sandbox. @defaultValue silence */
  readonly print?: (text: string) => void
  /** Whether to listen; a process for the jobs alone does not. @defaultValue true */
  readonly doors?: boolean
  /** The sandbox that another process of this hub has started. */
  readonly place?: SandboxPlace | undefined
  /** See HubOptions. */
  readonly together?: HubOptions['together']
  /** See HubOptions. @defaultValue 60 */
  readonly holdMarginSeconds?: number
}

export interface RunningHub {
  readonly url: string
  /** Where it listens; 0: nowhere. */
  readonly port: number
  readonly hub: Hub
  readonly databaseUrl: string
  /** Undefined in production. */
  readonly sandbox: Sandbox | undefined
  /** Stops taking requests, finishes those at work, and ends whatever was started. */
  stop(): Promise<void>
}

/** Before every other entry; only the order within its month matters. */
const BOOKS_OPENED = new Date('2026-11-01T00:00:00Z')

/**
 * Starts a hub: its surroundings, its doors and its jobs.
 * @throws ConfigError when the port is taken
 */
export async function startHub(options: StartOptions): Promise<RunningHub> {
  const { config, parts, log } = options
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const { sandbox, money, url, ...around } = await surroundingsOf(options)
    stops.push(() => around.stop())
    const signingKey = await loadSigningKey(config)
    const spans = await spansOf(config)
    if (spans) stops.push(() => spans.close())
    let port = 0
    let address = config.port === 0 ? '' : addressOf(config, config.port)
    let draining = false
    const hub = await openHub({
      ...config,
      ...parts,
      databaseUrl: url,
      signingKey,
      money,
      sandbox: sandbox !== undefined,
      admins: adminsOf(config, sandbox),
      contracts: config.contractWallets ? createContractVerifier(around.rpcUrl) : undefined,
      holdMarginSeconds: options.holdMarginSeconds ?? 60,
      baseUrl: () => config.baseUrl ?? address,
      draining: () => draining,
      spans,
      ...(options.together && { together: options.together }),
      egress: egressOf(config, sandbox),
      clock: options.clock,
      cacheNow: options.cacheNow,
      log,
    })
    stops.push(() => hub.close())
    if (sandbox && !options.place) {
      await openBooks(hub, sandbox)
      await listSampleSeller(hub.discovery, sandbox.sellerUrl, log)
      const secret = signingKey.deriveSecret('listing-owner')
      await sellSamplePages({ ...hub, secret }, sandbox)
    }
    if (config.jobs) {
      const baseUrl = () => config.baseUrl ?? address
      const jobs = await runJobs(options, hub, { url, money, signingKey, baseUrl })
      stops.push(() => jobs.stop())
    }
    if (options.doors ?? true) {
      const server = await listen(hub.handler, config)
      stops.push(() => {
        draining = true
        return close(server, hub, config.drain)
      })
      port = (server.address() as AddressInfo).port
      address = addressOf(config, port)
    }
    return { url: config.baseUrl ?? address, port, hub, databaseUrl: url, sandbox, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Lets load balancers notice, and then callers finish, also those that have hung up. */
async function close(
  server: Server,
  hub: Hub,
  { delaySeconds: delay, graceSeconds: grace }: Config['drain'],
): Promise<void> {
  await sleep(delay * 1_000)
  await Promise.all([
    drain(server, { graceSeconds: grace }),
    withTimeout(grace * 1_000, hub.idle()),
  ])
}

interface Surroundings {
  readonly url: string
  readonly rpcUrl: string
  readonly money: Money
  readonly sandbox: Sandbox | undefined
  stop(): Promise<void>
}

async function surroundingsOf({ config, log, place }: StartOptions): Promise<Surroundings> {
  const { production, dataDir, databaseUrl, databaseDirectUrl } = config
  if (production) {
    const pooled = databaseDirectUrl !== undefined
    const { money, stop } = await openRealMoney(production, databaseUrl!, log, pooled)
    const { rpcUrl } = production
    return { url: databaseUrl!, rpcUrl, money, sandbox: undefined, stop }
  }
  const direct = { dataDir, databaseUrl: databaseDirectUrl ?? databaseUrl, log }
  const sandbox = await (place ? joinSandbox(dataDir, place) : startSandbox(direct))
  const { money, rpcUrl } = sandbox
  const url = databaseUrl ?? sandbox.databaseUrl
  return { url, rpcUrl, money, sandbox, stop: () => sandbox.stop() }
}

async function spansOf({ otlpEndpoint, version }: Config) {
  if (otlpEndpoint === undefined) return undefined
  // Loaded only when spans are wanted, so that other hubs start faster.
  const { openSpans } = await import('../observability/telemetry.ts')
  return openSpans(otlpEndpoint, version)
}

/** The jobs need sessions that last: their queue has locks, and readers of the journal listen. */
async function runJobs(
  { config, parts, log, print }: StartOptions,
  hub: Hub,
  surroundings: {
    readonly url: string
    readonly money: Money
    readonly signingKey: SigningKey
    readonly baseUrl: () => string
  },
): Promise<{ stop(): Promise<void> }> {
  const { url, money, signingKey, baseUrl } = surroundings
  const { databaseDirectUrl: direct } = config
  const pool = direct === undefined ? hub.pool : createPool(direct, { max: 10, role: 'hub_app' })
  const wallets = { treasury: money.treasury, spend: money.spend.address }
  const gas = money.gas && { wallet: money.gas, ...config.gas }
  const payouts = payoutsOf(config, hub, money)
  const mailing = openMailing({ config, pool, signingKey, baseUrl, log, print })
  const { services, families, catalog, onSold, discovery, egress, embedding } = hub
  const sold = { services, families, catalog, onSold }
  const found = { discovery, embedding }
  const extras = { pool, ...sold, ...found, egress, mailing, signingKey, wallets, gas, payouts }
  const running = await parts.startJobs(direct ?? url, { ...hub.ports, ...extras })
  return {
    async stop() {
      await running.stop()
      await mailing.transport.close()
      if (pool !== hub.pool) await pool.end()
    },
  }
}

/** Payouts are paid by the wallet that pays sellers, and settled as what callers pay is. */
function payoutsOf(
  { payouts }: Config,
  { ports: { clock } }: Hub,
  { facilitator, treasury: payTo, spend: account }: Money,
): JobExtras['payouts'] {
  const { network } = USDC_BASE
  const offers = createOffers({ facilitator, payTo, network, clock })
  const settle: Offers['settle'] = (...payment) => offers.settle(...payment)
  return { account, settle, minimum: payouts.minimum }
}

const addressOf = ({ host }: Config, port: number): string =>
  `http://${reachableHost(host)}:${port}`

const egressOf = (config: Config, sandbox: Sandbox | undefined) => ({
  sandboxHosts: new Map([...(sandbox?.hosts ?? []), ...config.sandboxHosts]),
  allowedPorts: config.egressPorts,
  httpsOnly: sandbox === undefined,
})

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
