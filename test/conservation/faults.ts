import { elapsedMs, sleep } from '../../core/clock.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import type { Counters } from './counters.ts'
import type { ForeignFacilitator } from './foreign-facilitator.ts'
import { assignInRounds, type Random } from './random.ts'

/** Interval of empty blocks, as in the sandbox. */
const TICK_MS = 2_000
const POLL_MS = 50

/** Mines the blocks of a chain: one per transaction, and one every two seconds. */
export class Miner {
  readonly #rpcUrl: string
  #isTicking = false
  #isStopped = false
  #ticking: Promise<void> | undefined

  constructor(rpcUrl: string) {
    this.#rpcUrl = rpcUrl
  }

  /** Takes over mining from the node. */
  async start(): Promise<void> {
    await this.resume(1)
    this.#ticking = this.#tick()
  }

  /** Mines `blocks` at once and resumes mining. */
  async resume(blocks: number): Promise<void> {
    await this.#rpc('anvil_mine', `0x${blocks.toString(16)}`)
    await this.#rpc('evm_setAutomine', true)
    this.#isTicking = true
  }

  /** Stops mining. */
  async halt(): Promise<void> {
    this.#isTicking = false
    await this.#rpc('evm_setIntervalMining', 0)
    await this.#rpc('evm_setAutomine', false)
  }

  /** Mines only every two seconds, with all transactions received meanwhile. */
  async slow(): Promise<void> {
    await this.#rpc('evm_setAutomine', false)
    this.#isTicking = true
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#ticking
  }

  async #tick(): Promise<void> {
    for (let next = elapsedMs() + TICK_MS; !this.#isStopped; await sleep(POLL_MS)) {
      if (elapsedMs() < next) continue
      next = elapsedMs() + TICK_MS
      if (this.#isTicking) await this.#rpc('evm_mine').catch(() => undefined)
    }
  }

  #rpc(method: string, ...params: unknown[]): Promise<unknown> {
    return callRpc(this.#rpcUrl, method, params)
  }
}

/** Fault that can be injected into the environment of the hub. */
export interface Fault {
  readonly name: string
  readonly inject: () => Promise<void>
}

export interface FaultDeps {
  readonly miner: Miner
  readonly foreignFacilitator: ForeignFacilitator
  readonly random: Random
  readonly counters: Counters
  readonly hubFaults: readonly Fault[]
  /** Maximum time without a block, in milliseconds. */
  readonly stallMs: number
  /** Maximum time between faults, in milliseconds. */
  readonly calmMs: number
}

/**
 * Injects faults one after another, with pauses, until `hasEnded`; each fault is reverted at its
 * end.
 */
export async function injectFaults(deps: FaultDeps, hasEnded: () => boolean): Promise<void> {
  const { miner, foreignFacilitator, random, counters, hubFaults, stallMs, calmMs } = deps
  const wait = async (ms: number): Promise<void> => {
    for (const end = elapsedMs() + ms; elapsedMs() < end && !hasEnded(); ) await sleep(POLL_MS)
  }
  const faults: readonly Fault[] = [
    {
      name: 'no blocks, then several at once',
      inject: async () => {
        await miner.halt()
        await wait(random.between(stallMs / 2, stallMs))
        await miner.resume(random.between(2, 20))
      },
    },
    {
      name: 'blocks every two seconds only',
      inject: async () => {
        await miner.slow()
        await wait(random.between(2_000, 5_000))
        await miner.resume(1)
      },
    },
    {
      name: 'foreign facilitator down',
      inject: async () => {
        await foreignFacilitator.down()
        await wait(random.between(1_000, 2_500))
        await foreignFacilitator.up()
      },
    },
    ...hubFaults,
  ]
  counters.expect(
    'faults',
    faults.map(({ name }) => name),
  )
  const order = assignInRounds(random, faults, { participants: 1, participant: 0 })
  const isDue = () => !hasEnded() || counters.missing().some((name) => name.startsWith('faults'))
  for (const { name, inject } of order) {
    await wait(random.between(500, calmMs))
    if (!isDue()) return
    await inject()
    counters.add('faults', name)
  }
}
