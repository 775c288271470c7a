import { elapsedMs, sleep, systemClock, unrefSleep } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { type Bank, isDone, type Step, type StepRecord } from './bank.ts'
import type { BankWorkers } from './workers.ts'

/** Long enough that few holds expire while the database is unavailable. */
const TTL_SECONDS = 10
const ABANDONED_TTL_SECONDS = 1
const OPENING = 20_000n
const TOP_UP = 60_000n
const FINISH_MS = 60_000

const below = (limit: number): number => Math.floor(Math.random() * limit)
const oneIn = (odds: number): boolean => below(odds) === 0

/**
 * Callers that reserve, settle, release and abandon calls of several agents, sometimes with
 * insufficient funds. A step without a response is retried with the same id on another worker; some
 * steps are sent to two workers at once, and some calls are settled and released concurrently.
 */
export class Workload {
  /** Responses to every step. */
  readonly records: StepRecord[] = []
  readonly #workers: BankWorkers
  readonly #agents: number
  #callers: Promise<void>[] = []
  #hasEnded = false

  constructor(workers: BankWorkers, agents: number) {
    this.#workers = workers
    this.#agents = agents
  }

  /** Funds every account and starts the callers. */
  async start(callers: number): Promise<void> {
    const agents = Array.from({ length: this.#agents }, (_, agent) => agent)
    await Promise.all(agents.map((agent) => this.#fund(agent, OPENING)))
    this.#callers = Array.from({ length: callers }, () => this.#call())
  }

  /** Stops the callers after their current steps. Throws if steps remain without a response. */
  async finish(): Promise<void> {
    this.#hasEnded = true
    const finished = Promise.all(this.#callers).then(() => true)
    if (await Promise.race([finished, unrefSleep(FINISH_MS).then(() => false)])) return
    throw new Error('steps remain without a response')
  }

  async #call(): Promise<void> {
    while (!this.#hasEnded) {
      const agent = below(this.#agents)
      if (oneIn(20)) await this.#fund(agent, TOP_UP)
      const abandoned = oneIn(30)
      const call = {
        id: newId(),
        agent,
        amount: BigInt(1 + below(9_999)),
        ttlSeconds: abandoned ? ABANDONED_TTL_SECONDS : TTL_SECONDS,
      }
      const reserved = await this.#execute({ ...call, what: 'reserve' })
      if (abandoned || !isDone(reserved)) continue
      const settle = (amount: bigint) => this.#execute({ ...call, what: 'settle', amount })
      const release = () => this.#execute({ ...call, what: 'release', amount: 0n })
      const end = below(100)
      if (end < 60) await settle(call.amount)
      else if (end < 80) await settle(1n + BigInt(below(Number(call.amount))))
      else if (end < 95) await release()
      else await Promise.all([settle(call.amount), release()])
    }
  }

  #fund(agent: number, amount: bigint): Promise<StepRecord> {
    return this.#execute({ what: 'fund', id: newId(), agent, amount, ttlSeconds: 0 })
  }

  async #execute(step: Step): Promise<StepRecord> {
    const record: StepRecord = { step, applied: 0, replayed: 0, refused: [], lost: 0 }
    this.records.push(record)
    const twice = oneIn(8)
    await Promise.all([this.#workers.send(record), ...(twice ? [this.#workers.send(record)] : [])])
    return record
  }
}

/** Expires abandoned holds; late retries may have created holds until recently. */
export async function settleDown(bank: Bank): Promise<void> {
  const end = elapsedMs() + (TTL_SECONDS + 5) * 1_000
  while ((await bank.expire()) > 0n && elapsedMs() < end) await sleep(500)
}

const newId = (): string => uuidv7(systemClock.now().getTime())
