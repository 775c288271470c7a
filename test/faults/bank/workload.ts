import { elapsedMs, patience, sleep, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { type Bank, isDone, type Step, type Told } from './bank.ts'
import type { Tellers } from './tellers.ts'

/** Long enough that few calls lose their hold to a database that is away. */
const TTL_SECONDS = 10
const ABANDONED_TTL_SECONDS = 1
const OPENING = 20_000n
const TOP_UP = 60_000n
const FINISH_MS = 60_000

const below = (limit: number): number => Math.floor(Math.random() * limit)
const oneIn = (odds: number): boolean => below(odds) === 0

/**
 * Callers that reserve, settle, release and abandon calls of a set of agents, now and then without
 * enough money. A step whose answer did not come is asked again with the same id, of another
 * teller; some are asked of two tellers at once, and some calls are settled and released at once.
 */
export class Workload {
  /** What was said about every step. */
  readonly told: Told[] = []
  readonly #tellers: Tellers
  readonly #agents: number
  #callers: Promise<void>[] = []
  #over = false

  constructor(tellers: Tellers, agents: number) {
    this.#tellers = tellers
    this.#agents = agents
  }

  /** Puts money on every account, and lets so many callers begin. */
  async start(callers: number): Promise<void> {
    const agents = Array.from({ length: this.#agents }, (_, agent) => agent)
    await Promise.all(agents.map((agent) => this.#fund(agent, OPENING)))
    this.#callers = Array.from({ length: callers }, () => this.#call())
  }

  /** Lets the callers finish what they have begun. */
  async finish(): Promise<void> {
    this.#over = true
    const finished = Promise.all(this.#callers).then(() => true)
    if (await Promise.race([finished, patience(FINISH_MS).then(() => false)])) return
    throw new Error('steps are still without an answer')
  }

  async #call(): Promise<void> {
    while (!this.#over) {
      const agent = below(this.#agents)
      if (oneIn(20)) await this.#fund(agent, TOP_UP)
      const abandoned = oneIn(30)
      const call = {
        id: newId(),
        agent,
        amount: BigInt(1 + below(9_999)),
        ttlSeconds: abandoned ? ABANDONED_TTL_SECONDS : TTL_SECONDS,
      }
      const reserved = await this.#ask({ ...call, what: 'reserve' })
      if (abandoned || !isDone(reserved)) continue
      const settle = (amount: bigint) => this.#ask({ ...call, what: 'settle', amount })
      const release = () => this.#ask({ ...call, what: 'release', amount: 0n })
      const end = below(100)
      if (end < 60) await settle(call.amount)
      else if (end < 80) await settle(1n + BigInt(below(Number(call.amount))))
      else if (end < 95) await release()
      else await Promise.all([settle(call.amount), release()])
    }
  }

  #fund(agent: number, amount: bigint): Promise<Told> {
    return this.#ask({ what: 'fund', id: newId(), agent, amount, ttlSeconds: 0 })
  }

  async #ask(step: Step): Promise<Told> {
    const told: Told = { step, applied: 0, replayed: 0, refused: [], lost: 0 }
    this.told.push(told)
    const twice = oneIn(8)
    await Promise.all([this.#tellers.ask(told), ...(twice ? [this.#tellers.ask(told)] : [])])
    return told
  }
}

/** Expires what was abandoned; what was retried late may have been held a little ago. */
export async function settleDown(bank: Bank): Promise<void> {
  const end = elapsedMs() + (TTL_SECONDS + 5) * 1_000
  while ((await bank.expire()) > 0n && elapsedMs() < end) await sleep(500)
}

const newId = (): string => uuidv7(systemClock.now().getTime())
