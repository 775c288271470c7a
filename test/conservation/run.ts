import { randomBytes } from 'node:crypto'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { type Buyers, createBuyers } from './buyers.ts'
import { Counters } from './counters.ts'
import { injectFaults, Miner } from './faults.ts'
import { ForeignFacilitator, fundedFacilitator } from './foreign-facilitator.ts'
import type { ExternalEndpoints, HubEnvironment } from './hub-environment.ts'
import { type BuyerAction, KEYED_ACTIONS, SLOW_ACTIONS } from './keyed-buyer.ts'
import { KEYLESS_ACTIONS } from './keyless-buyer.ts'
import { Market } from './market.ts'
import { assignInRounds, Random } from './random.ts'
import { RequestRecorder } from './request-recorder.ts'

export interface RunOptions {
  /** Seed of all random choices; timing still varies. @defaultValue a random seed */
  readonly seed?: string | undefined
  /** Duration of the load. Started actions finish, and every action runs at least once. */
  readonly seconds: number
  /** Number of buyers with an API key. */
  readonly keyed: number
  readonly keyless: number
  /** Wallets per buyer without an API key. */
  readonly walletsPerBuyer: number
  /** Maximum time without a block, in milliseconds. */
  readonly stallMs: number
  /** Maximum time between faults, in milliseconds. */
  readonly calmMs: number
  readonly environment: (endpoints: ExternalEndpoints) => Promise<HubEnvironment>
}

/** Maximum duration of an action whose seller never responds. */
const SLOW_MS = 35_000
const RESOLVE_MS = 500

/** Running hub with its buyers, sellers and faults. */
export interface Run extends Buyers {
  readonly seed: string
  readonly environment: HubEnvironment
  readonly counters: Counters
  readonly market: Market
  readonly foreignFacilitator: ForeignFacilitator
  readonly recorder: RequestRecorder
  readonly miner: Miner
  readonly random: Random
  readonly stop: () => Promise<void>
}

export async function prepareRun(options: RunOptions): Promise<Run> {
  const seed = options.seed ?? randomBytes(6).toString('hex')
  const random = new Random(seed)
  const counters = new Counters()
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const market = await Market.start(random.fork('market'), counters)
    stops.push(() => market.close())
    const foreignFacilitator = new ForeignFacilitator(random.fork('foreign facilitator'))
    await foreignFacilitator.up()
    stops.push(() => foreignFacilitator.down())
    const environment = await options.environment({
      hosts: market.hosts,
      facilitatorUrl: foreignFacilitator.url,
    })
    stops.push(() => environment.stop())
    const { rpcUrl, wallets } = environment
    const miner = new Miner(rpcUrl)
    await miner.start()
    stops.push(() => miner.stop())
    market.open(await fundedFacilitator(rpcUrl), [wallets.treasury, wallets.spend])
    foreignFacilitator.use(await fundedFacilitator(rpcUrl))
    const recorder = new RequestRecorder(environment.url, counters)
    const buyers = await createBuyers({ ...options, random, environment, market, recorder })
    return {
      seed,
      environment,
      counters,
      market,
      foreignFacilitator,
      recorder,
      miner,
      random,
      stop,
      ...buyers,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Runs the load with faults for `seconds`, then waits until all started work has ended. */
export async function runLoad(run: Run, { seconds, ...times }: RunOptions): Promise<void> {
  const { counters, market, foreignFacilitator, environment, keyed, keyless } = run
  const end = elapsedMs() + seconds * 1_000
  const load = { random: run.random, counters, remainingMs: () => end - elapsedMs() }
  let isDone = false
  const hasEnded = (): boolean => isDone
  const { hubFaults, deps } = environment
  const random = run.random.fork('faults')
  const buyerLoad = Promise.all([
    runBuyers('buyers with API key', keyed, KEYED_ACTIONS, load),
    runBuyers('buyers without API key', keyless, KEYLESS_ACTIONS, load),
    ...SLOW_ACTIONS.map((action, n) => repeat(action, keyed[n % keyed.length]!, load)),
  ]).finally(() => (isDone = true))
  const background = [
    injectFaults(
      { ...times, miner: run.miner, foreignFacilitator, random, counters, hubFaults },
      hasEnded,
    ),
    resolveContinuously(deps, hasEnded),
  ]
  try {
    await Promise.all([buyerLoad, ...background])
  } catch (error) {
    isDone = true
    run.recorder.close()
    throw error
  }
  await market.idle()
  await foreignFacilitator.idle()
}

/** Resolves payments continuously, like a second hub on the same database. */
async function resolveContinuously(
  deps: HubEnvironment['deps'],
  hasEnded: () => boolean,
): Promise<void> {
  while (!hasEnded()) {
    await resolvePayments(deps, 0).catch((error: unknown) => deps.log.warn({ err: error }))
    await sleep(RESOLVE_MS)
  }
}

interface Load {
  readonly random: Random
  readonly counters: Counters
  readonly remainingMs: () => number
}

/** Runs the buyers concurrently, each for at least its share of the first round. */
async function runBuyers<Buyer>(
  kind: string,
  buyers: readonly Buyer[],
  actions: readonly BuyerAction<Buyer>[],
  { random, counters, remainingMs }: Load,
): Promise<void> {
  const names = actions.flatMap(({ name }) => name ?? [])
  counters.expect(kind, names)
  const actionsPerBuyer = Math.ceil(actions.length / buyers.length)
  const runBuyer = async (buyer: Buyer, participant: number): Promise<void> => {
    const actionsInTurn = assignInRounds(random.fork(kind), actions, {
      participants: buyers.length,
      participant,
    })
    for (let performed = 0; performed < actionsPerBuyer || remainingMs() > 0; performed++) {
      const { name, perform } = actionsInTurn.next().value
      await perform(buyer)
      if (name) counters.add(kind, name)
    }
  }
  await Promise.all(buyers.map(runBuyer))
}

/** Repeats an action sequentially while time is left. */
async function repeat<Buyer>(
  { perform }: BuyerAction<Buyer>,
  buyer: Buyer,
  { remainingMs }: Load,
): Promise<void> {
  do {
    await perform(buyer)
    await sleep(RESOLVE_MS)
  } while (remainingMs() > SLOW_MS)
}
