import { BATCH_MAX, QUEUE_MAX, RESERVE_TICKS } from '../../../core/ledger/batch.ts'
import { Fifo } from './event-queue.ts'

/** Call of an agent, which reserves and settles; a reserve that is too late is released. */
export interface Call {
  step: 'reserve' | 'settle' | 'release'
  /** When it began to wait, for its reserve or its settlement. */
  begunAt: number
  waitedMs: number
  /** Checks of waiting reserves since its reserve was queued. */
  ticks: number
}

const isLate = ({ step, ticks }: Call): boolean => step === 'reserve' && ticks >= RESERVE_TICKS

/** Model of a `Batcher`: the queue of one hub for one shard, with one batch in flight at a time. */
export class Lane<Shard> {
  readonly shard: Shard
  readonly #queue = new Fifo<Call>()
  /** Reserves without a result. */
  readonly #reserves = new Set<Call>()
  isBusy = false

  constructor(shard: Shard) {
    this.shard = shard
  }

  /** Queues the step of a call. Returns false for a reserve if the queue is full. */
  push(call: Call): boolean {
    const isReserve = call.step === 'reserve'
    if (isReserve && this.#queue.size >= QUEUE_MAX) return false
    if (isReserve) this.#reserves.add(call)
    this.#queue.push(call)
    return true
  }

  /** Removes the next batch, without reserves that are late; empty if nothing else waits. */
  take(): readonly Call[] {
    while (this.#queue.size > 0) {
      const batch = this.#queue.take(BATCH_MAX).filter((call) => !isLate(call))
      if (batch.length > 0) return batch
    }
    return []
  }

  /** Checks the reserves that wait. @returns those that are late from now on */
  tick(): readonly Call[] {
    return [...this.#reserves].filter((call) => {
      call.ticks++
      return isLate(call) && this.#reserves.delete(call)
    })
  }

  /**
   * Records that a step is stored. Releases a reserve that was late before.
   * @returns false for a late reserve, whose caller was refused
   */
  finish(call: Call): boolean {
    this.#reserves.delete(call)
    if (!isLate(call)) return true
    call.step = 'release'
    this.push(call)
    return false
  }
}
