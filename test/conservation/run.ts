import { randomBytes } from 'node:crypto'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { Miner, weather } from './faults.ts'
import { type Deed, KEYED_DEEDS, SLOW_DEEDS } from './keyed.ts'
import { KEYLESS_DEEDS } from './keyless.ts'
import { type Crowd, gather } from './load.ts'
import { Market } from './market.ts'
import { Desk } from './operators.ts'
import { dealt, Random } from './random.ts'
import { Service, stranger } from './service.ts'
import { Tally } from './tally.ts'
import type { Outside, Venue } from './venue.ts'

export interface RunOptions {
  /** What happens follows from it, though not when. @defaultValue one by chance */
  readonly seed?: string | undefined
  /** Of trade; whatever has begun is finished, and everything is done once at least. */
  readonly seconds: number
  /** How many buyers with a key, and how many without. */
  readonly keyed: number
  readonly keyless: number
  /** Wallets of each buyer without a key. */
  readonly purses: number
  /** The longest time without a block, in milliseconds. */
  readonly stallMs: number
  /** The longest time without trouble, in milliseconds. */
  readonly calmMs: number
  readonly venue: (outside: Outside) => Promise<Venue>
}

/** What a deed takes at most for which a seller never answers. */
const SLOW_MS = 35_000
const RESOLVE_MS = 500

/** Buyers, sellers and troubles around a hub. */
export interface Run extends Crowd {
  readonly seed: string
  readonly venue: Venue
  readonly tally: Tally
  readonly market: Market
  readonly service: Service
  readonly desk: Desk
  readonly miner: Miner
  readonly random: Random
  readonly stop: () => Promise<void>
}

export async function prepare(options: RunOptions): Promise<Run> {
  const seed = options.seed ?? randomBytes(6).toString('hex')
  const random = new Random(seed)
  const tally = new Tally()
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const market = await Market.open(random.of('market'), tally)
    stops.push(() => market.close())
    const service = new Service(random.of('service'))
    await service.up()
    stops.push(() => service.down())
    const venue = await options.venue({ hosts: market.hosts, serviceUrl: service.url })
    stops.push(() => venue.stop())
    const { rpcUrl, wallets } = venue
    const miner = new Miner(rpcUrl)
    await miner.start()
    stops.push(() => miner.stop())
    market.trade(await stranger(rpcUrl), [wallets.treasury, wallets.spend])
    service.use(await stranger(rpcUrl))
    const desk = new Desk(venue.url, tally)
    const crowd = await gather({ ...options, random, venue, market, desk })
    return { seed, venue, tally, market, service, desk, miner, random, stop, ...crowd }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Everybody trades, in all weathers, for so long; then everything that has begun is finished. */
export async function trade(run: Run, { seconds, ...times }: RunOptions): Promise<void> {
  const { tally, market, service, venue, keyed, keyless } = run
  const end = elapsedMs() + seconds * 1_000
  const players = { random: run.random, tally, left: () => end - elapsedMs() }
  let isOver = false
  const over = (): boolean => isOver
  const { disasters, ports } = venue
  const random = run.random.of('weather')
  const traders = Promise.all([
    everybody('buyers with keys', keyed, KEYED_DEEDS, players),
    everybody('buyers without', keyless, KEYLESS_DEEDS, players),
    ...SLOW_DEEDS.map((deed, n) => wait(deed, keyed[n % keyed.length]!, players)),
  ]).finally(() => (isOver = true))
  const beside = [
    weather({ ...times, miner: run.miner, service, random, tally, disasters }, over),
    resolveAlways(ports, over),
  ]
  try {
    await Promise.all([traders, ...beside])
  } catch (error) {
    isOver = true
    run.desk.close()
    throw error
  }
  await market.idle()
  await service.idle()
}

/** As a second hub with the same database would, and in more haste. */
async function resolveAlways(ports: Venue['ports'], over: () => boolean): Promise<void> {
  while (!over()) {
    await resolvePayments(ports, 0).catch((error: unknown) => ports.log.warn({ err: error }))
    await sleep(RESOLVE_MS)
  }
}

interface Players {
  readonly random: Random
  readonly tally: Tally
  readonly left: () => number
}

/** Each plays its cards, all of its first round at least. */
async function everybody<Buyer>(
  kind: string,
  buyers: readonly Buyer[],
  deeds: readonly Deed<Buyer>[],
  { random, tally, left }: Players,
): Promise<void> {
  const names = deeds.flatMap(({ name }) => name ?? [])
  tally.expect(kind, names)
  const round = Math.ceil(deeds.length / buyers.length)
  const live = async (buyer: Buyer, player: number): Promise<void> => {
    const cards = dealt(random.of(kind), deeds, { players: buyers.length, player })
    for (let played = 0; played < round || left() > 0; played++) {
      const { name, play } = cards.next().value
      await play(buyer)
      if (name) tally.add(kind, name)
    }
  }
  await Promise.all(buyers.map(live))
}

/** Again and again, one after the other, while there is time. */
async function wait<Buyer>({ play }: Deed<Buyer>, buyer: Buyer, { left }: Players): Promise<void> {
  do {
    await play(buyer)
    await sleep(RESOLVE_MS)
  } while (left() > SLOW_MS)
}
