import { elapsedMs, sleep } from '../../core/clock.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { dealt, type Random } from './random.ts'
import type { Service } from './service.ts'
import type { Tally } from './tally.ts'

/** Between two blocks of a chain on which nothing happens, as in the sandbox. */
const TICK_MS = 2_000
const LOOK_MS = 50

/** Makes the blocks of a chain: one for each transaction, and one every two seconds. */
export class Miner {
  readonly #rpcUrl: string
  #ticks = false
  #over = false
  #ticking: Promise<void> | undefined

  constructor(rpcUrl: string) {
    this.#rpcUrl = rpcUrl
  }

  /** Takes over from the chain itself. */
  async start(): Promise<void> {
    await this.go(1)
    this.#ticking = this.#tick()
  }

  /** Makes so many blocks at once, and goes on. */
  async go(blocks: number): Promise<void> {
    await this.#rpc('anvil_mine', `0x${blocks.toString(16)}`)
    await this.#rpc('evm_setAutomine', true)
    this.#ticks = true
  }

  /** No more blocks. */
  async halt(): Promise<void> {
    this.#ticks = false
    await this.#rpc('evm_setIntervalMining', 0)
    await this.#rpc('evm_setAutomine', false)
  }

  /** Only a block every two seconds, for all that came meanwhile. */
  async slow(): Promise<void> {
    await this.#rpc('evm_setAutomine', false)
    this.#ticks = true
  }

  async stop(): Promise<void> {
    this.#over = true
    await this.#ticking
  }

  async #tick(): Promise<void> {
    for (let next = elapsedMs() + TICK_MS; !this.#over; await sleep(LOOK_MS)) {
      if (elapsedMs() < next) continue
      next = elapsedMs() + TICK_MS
      if (this.#ticks) await this.#rpc('evm_mine').catch(() => undefined)
    }
  }

  #rpc(method: string, ...params: unknown[]): Promise<unknown> {
    return callRpc(this.#rpcUrl, method, params)
  }
}

/** A disaster of the place where the hub runs, such as its sudden death. */
export interface Disaster {
  readonly name: string
  readonly strike: () => Promise<void>
}

export interface WeatherPorts {
  readonly miner: Miner
  readonly service: Service
  readonly random: Random
  readonly tally: Tally
  readonly disasters: readonly Disaster[]
  /** The longest time without a block, in milliseconds. */
  readonly stallMs: number
  /** The longest time without trouble, in milliseconds. */
  readonly calmMs: number
}

/** Troubles one after the other, with pauses, until `over`; leaves fair weather. */
export async function weather(ports: WeatherPorts, over: () => boolean): Promise<void> {
  const { miner, service, random, tally, disasters, stallMs, calmMs } = ports
  const pass = async (ms: number): Promise<void> => {
    for (const end = elapsedMs() + ms; elapsedMs() < end && !over(); ) await sleep(LOOK_MS)
  }
  const troubles: readonly Disaster[] = [
    {
      name: 'no blocks, then several at once',
      strike: async () => {
        await miner.halt()
        await pass(random.between(stallMs / 2, stallMs))
        await miner.go(random.between(2, 20))
      },
    },
    {
      name: 'blocks every two seconds only',
      strike: async () => {
        await miner.slow()
        await pass(random.between(2_000, 5_000))
        await miner.go(1)
      },
    },
    {
      name: 'foreign facilitator down',
      strike: async () => {
        await service.down()
        await pass(random.between(1_000, 2_500))
        await service.up()
      },
    },
    ...disasters,
  ]
  tally.expect(
    'weather',
    troubles.map(({ name }) => name),
  )
  const cards = dealt(random, troubles, { players: 1, player: 0 })
  const isDue = () => !over() || tally.missing().some((name) => name.startsWith('weather'))
  for (const { name, strike } of cards) {
    await pass(random.between(500, calmMs))
    if (!isDue()) return
    await strike()
    tally.add('weather', name)
  }
}
