import type { AddressInfo } from 'node:net'
import { type Clock, sleep, withTimeout } from '../../core/clock.ts'
import { settingsOfJobs } from '../../core/config/backup.ts'
import type { Config } from '../../core/config.ts'
import { loadSigningKeys } from '../../core/crypto/signing-key.ts'
import type { HubDatabase } from '../../core/db/logins.ts'
import { createPool } from '../../core/db/pool.ts'
import { replicaUrl } from '../../core/db/recent-reads.ts'
import type { Egress } from '../../core/egress/http.ts'
import { createContractVerifier } from '../../core/identity/wallet-signature.ts'
import { RetainedCheckpoints } from '../../core/ledger/retained-checkpoints.ts'
import type { Log } from '../../core/log.ts'
import type { MailSender } from '../../core/mail/queue.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import type { PayoutDeps } from '../../core/payments/payouts/payout.ts'
import { createOffers, type Offers } from '../../core/payments/receiving/offers.ts'
import type { Plugin } from '../../core/plugin/index.ts'
import type { HubServer } from '../http/hub-server.ts'
import { listen, reachableHost } from '../http/listen.ts'
import type { Sandbox } from '../sandbox/start.ts'
import { type CheckpointReceivers, openCheckpointReceivers } from './checkpoint-destinations.ts'
import { type Environment, type EnvironmentOptions, openEnvironment } from './environment.ts'
import type { Hub } from './hub.ts'
import { openMailing } from './mail.ts'
import type { HubOptions, Money } from './options.ts'

/** Dependencies of jobs, besides those that resolve payments. */
interface JobDeps extends ReturnType<typeof settingsOfJobs>, CheckpointReceivers {
  readonly recentReads: Hub['recentReads']
  readonly secretKeys: Hub['secretKeys']
  readonly retained: RetainedCheckpoints
  readonly mailing: MailSender
  readonly egress: Egress
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  /** Undefined if a remote facilitator settles. */
  readonly gas: ({ readonly wallet: GasWallet } & Config['gas']) | undefined
  readonly environmentKeys: Money['environmentKeys'] | undefined
  readonly payouts: Pick<PayoutDeps, 'pool' | 'account' | 'settle' | 'minimum' | 'rules'>
}

/** Plugins and jobs, which only program.ts imports. */
export interface Parts {
  readonly plugins: readonly Plugin[]
  readonly privileged: readonly Plugin[]
  readonly startJobs: (
    databaseUrl: string,
    ports: Hub['paymentDeps'] &
      Pick<Hub, 'pool' | 'services' | 'families' | 'catalog' | 'onSold' | 'discovery'> &
      JobDeps,
  ) => Promise<Jobs>
}

/** Running jobs. */
interface Jobs {
  stop(): Promise<void>
}

/** Processes that serve instead of the primary process. */
export interface Servers {
  /** Lets them open their hubs: the database is migrated, and the keys of the hub exist. */
  open(sandbox: Sandbox | undefined): void
  /** Makes them listen, once everything is prepared. Resolves when they do. @returns the port */
  listen(): Promise<number>
}

export interface StartOptions extends EnvironmentOptions {
  readonly loadParts: () => Promise<Parts>
  /** @defaultValue the clock of the database */
  readonly clock?: Clock | undefined
  readonly cacheNow?: HubOptions['cacheNow']
  /** Prints what no log may contain: emails of a sandbox. @defaultValue discards it */
  readonly print?: (text: string) => void
  /** Other processes that serve. @defaultValue this process serves */
  readonly servers?: Servers
  /** Resolves when this process may serve. @defaultValue at once */
  readonly mayListen?: () => Promise<void>
  /** Returns true if another process has replaced this one. */
  readonly isReplaced?: () => boolean
  readonly mergeMetrics?: HubOptions['mergeMetrics']
  /** See HubOptions. @defaultValue 60 */
  readonly holdMarginSeconds?: number
}

export interface RunningHub {
  readonly url: string
  /** Port it listens on; 0 if it does not listen. */
  readonly port: number
  readonly hub: Hub
  readonly databaseUrl: string
  /** Undefined in production. */
  readonly sandbox: Sandbox | undefined
  /** Text for the operator of a sandbox, about its chain. */
  readonly notice: string | undefined
  /** Drains requests and stops everything that was started. */
  stop(): Promise<void>
}

/** Maximum milliseconds in which a failed start stops what it has started. */
const STOP_MS = 10_000

/**
 * Starts a hub with its environment, entry points and jobs. It serves as early as possible: parts
 * that callers do not need are opened afterwards.
 * @throws ConfigError if the port is taken
 */
export async function startHub(options: StartOptions): Promise<RunningHub> {
  const { config, log } = options
  const scope = new AsyncDisposableStack()
  const stop = (): Promise<void> => scope.disposeAsync()
  try {
    const loading = options.servers ? undefined : loadHub(options) // while the environment opens
    loading?.catch(() => {})
    const environment = await openEnvironment(options)
    scope.defer(() => environment.stop())
    const { sandbox, database, isPrepared } = environment
    const telemetry = await openConfiguredTelemetry(options)
    scope.defer(() => telemetry?.close())
    let { port } = config
    let draining = false
    const baseUrl = () => config.baseUrl ?? (port === 0 ? '' : localAddress(config, port))
    const signingKeys = await loadSigningKeys(config) // the others find the one that this creates
    const inProcess = { baseUrl, draining: () => draining, telemetry, signingKeys }
    options.servers?.open(sandbox)
    // Leaves the processors to the others: this process loads the rest when they serve.
    if (options.servers && isPrepared) port = await options.servers.listen()
    const { parts, openHub, prepareSandbox } = await (loading ?? loadHub(options))
    const hub = await openHub(createHubOptions(options, parts, environment, inProcess))
    scope.defer(() => hub.close())
    const prepared = options.sandboxPlace ? undefined : sandbox
    const payouts = createPayoutDeps(config, hub, environment.money)
    const notice = await prepareSandbox(prepared, hub, payouts, log)
    let jobs: Jobs | undefined
    scope.defer(async () => jobs?.stop())
    if (options.servers) {
      if (!isPrepared) port = await options.servers.listen()
    } else {
      await options.mayListen?.()
      const server = await listen(hub.handler, config)
      scope.defer(() => {
        draining = true
        return drainAndClose(server, hub, options)
      })
      port = (server.address() as AddressInfo).port
      void loadSearchLater(log)
    }
    if (config.jobs) jobs = await runJobs(options, parts, hub, { ...environment, baseUrl })
    const databaseUrl = database.ownerUrl ?? database.directUrl
    return { url: baseUrl(), port, hub, databaseUrl, sandbox, notice, stop }
  } catch (error) {
    await withTimeout(STOP_MS, stop())
    throw error
  }
}

/** Loads the code that a process does not need to open its environment. */
export async function loadHub({ loadParts }: StartOptions) {
  const [parts, { openHub }, { prepareSandbox }] = await Promise.all([
    loadParts(),
    import('./hub.ts'),
    import('./prepare-sandbox.ts'),
  ])
  return { parts, openHub, prepareSandbox }
}

function createHubOptions(
  { config, log, ...options }: StartOptions,
  parts: Parts,
  { database, money, sandbox, transport }: Environment,
  inProcess: Pick<HubOptions, 'baseUrl' | 'draining' | 'telemetry' | 'signingKeys'>,
): HubOptions {
  const { replica } = config
  return {
    ...config,
    ...parts,
    ...inProcess,
    databaseUrl: database.url,
    databaseDirectUrl: database.pooled ? database.directUrl : undefined,
    financeUrl: database.financeUrl,
    ownerUrl: database.ownerUrl,
    replica: replica && { ...replica, url: replicaUrl(replica.url, database.directUrl) },
    money,
    sandbox: sandbox !== undefined,
    admins: administrators(config, sandbox),
    contracts: config.contractWallets ? createContractVerifier(transport) : undefined,
    holdMarginSeconds: options.holdMarginSeconds ?? 60,
    ...(options.mergeMetrics && { mergeMetrics: options.mergeMetrics }),
    egress: egressRules(config, sandbox),
    clock: options.clock,
    cacheNow: options.cacheNow,
    log,
  }
}

/** Loads the search when the hub serves, so that the first search keeps no request waiting. */
async function loadSearchLater(log: Log): Promise<void> {
  try {
    const { loadSearch } = await import('../../core/catalog/search/load-search.ts')
    await loadSearch()
  } catch (err) {
    log.error({ err }, 'failed to load the search')
  }
}

/** Waits for load balancers to notice, then drains requests and background work. */
async function drainAndClose(
  server: HubServer,
  hub: Hub,
  { config: { drain, inheritsSocket }, isReplaced = () => inheritsSocket }: StartOptions,
): Promise<void> {
  await sleep(drain.delaySeconds * 1_000)
  await Promise.all([
    server.drain({ ...drain, isReplaced: isReplaced() }),
    withTimeout(drain.graceSeconds * 1_000, hub.idle()),
  ])
}

async function openConfiguredTelemetry({ config, log }: StartOptions) {
  const { otlpEndpoint, version } = config
  if (otlpEndpoint === undefined) return undefined
  // Loaded only when a collector is configured, so that other hubs start faster.
  const { openTelemetry } = await import('../observability/telemetry.ts')
  return openTelemetry(otlpEndpoint, version, log)
}

/** Starts the jobs on direct connections: the queue takes locks, and subscribers use LISTEN. */
async function runJobs(
  { config, log, print }: StartOptions,
  parts: Parts,
  hub: Hub,
  surroundings: {
    readonly database: HubDatabase
    readonly money: Money
    readonly baseUrl: () => string
  },
): Promise<Jobs> {
  const { database, money, baseUrl } = surroundings
  const { directUrl: direct, pooled } = database
  await using scope = new AsyncDisposableStack()
  const pool = pooled ? createPool(direct, { max: 10, role: 'hub_app' }) : hub.pool
  if (pooled) scope.defer(() => pool.end())
  const wallets = { treasury: money.treasury, spend: money.spend.address }
  const gas = money.gas && { wallet: money.gas, ...config.gas }
  const payouts = createPayoutDeps(config, hub, money)
  const { services, families, catalog, onSold, discovery, egress, embedding, secretKeys } = hub
  const { recentReads } = hub
  const mailing = openMailing({ config, pool, secretKeys, baseUrl, log, print })
  scope.defer(() => mailing.transport.close())
  const sold = { services, families, catalog, onSold, discovery, embedding }
  const { environmentKeys } = money
  const credits = { policy: config.credits, pool: hub.financePool }
  const paying = { wallets, gas, payouts, credits, environmentKeys, ...settingsOfJobs(config) }
  const retained = new RetainedCheckpoints(config.dataDir)
  const receivers = await openCheckpointReceivers(config, mailing.transport, scope)
  const proof = { secretKeys, retained, ...receivers }
  const extras = { pool, recentReads, ...sold, egress, mailing, ...proof, ...paying }
  const running = await parts.startJobs(direct, { ...hub.paymentDeps, ...extras })
  scope.defer(() => running.stop())
  const opened = scope.move()
  return { stop: () => opened.disposeAsync() }
}

/** Creates the payout dependencies: paid from the spend wallet, settled by the facilitator. */
function createPayoutDeps(
  { payouts }: Config,
  { paymentDeps: { clock }, financePool: pool }: Hub,
  { facilitator, treasury: payTo, spend: account }: Money,
): JobDeps['payouts'] {
  const { network } = USDC_BASE
  const offers = createOffers({ facilitator, payTo, network, clock })
  const settle: Offers['settle'] = (...payment) => offers.settle(...payment)
  return { pool, account, settle, minimum: payouts.minimum, rules: payouts.rules }
}

const localAddress = ({ host }: Config, port: number) => `http://${reachableHost(host)}:${port}`

const egressRules = (config: Config, sandbox: Sandbox | undefined) => ({
  sandboxHosts: new Map([...(sandbox?.hosts ?? []), ...config.sandboxHosts]),
  allowedPorts: config.egressPorts,
  httpsOnly: sandbox === undefined,
})

/** Returns the configured administrators; in a sandbox without any, the sample agent. */
const administrators = ({ admins }: Config, sandbox: Sandbox | undefined): readonly string[] =>
  admins.length > 0 || !sandbox ? admins : [sandbox.wallets.agent.account.address.toLowerCase()]
