import { Worker } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'

/** What a worker says of one request. Before the first, it says `ready`. */
export type Outcome =
  | { readonly value: unknown }
  | {
      readonly refusal: {
        readonly code: string
        readonly detail: string
        readonly extras: Readonly<Record<string, unknown>>
      }
    }
  | { readonly failure: string }

interface Job {
  readonly request: unknown
  readonly settle: (outcome: Outcome) => void
  /** Set while a worker has the job. */
  seat?: Seat
}

/** A worker, what it does, and the timer that ends it when it does that for too long. */
interface Seat {
  readonly worker: Worker
  job?: Job | undefined
  timer?: NodeJS.Timeout | undefined
  ready: boolean
}

interface Limits {
  readonly size: number
  /** Requests that may wait; one more fails at once. */
  readonly queue: number
  /** How long a worker may take for one request, in milliseconds. */
  readonly deadline: number
}

/**
 * A few worker threads that answer one request each at a time. They are started when there is
 * something to do, replaced when they crash or exceed the deadline, and do not keep the
 * process alive while idle.
 */
export class Pool {
  readonly #script: URL
  readonly #limits: Limits
  readonly #seats = new Set<Seat>()
  readonly #waiting: Job[] = []

  constructor(script: URL, limits: Limits) {
    this.#script = script
    this.#limits = limits
  }

  /**
   * Hands a request (a structured-cloneable value) to a worker and resolves with its answer.
   * Rejects with the `Refusal` of the worker, or with an `Error` when the queue is full, the
   * worker fails, the deadline passes, or `signal` aborts.
   */
  async run(request: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#waiting.length >= this.#limits.queue) throw new Error('The queue is full.')
    const outcome = await new Promise<Outcome>((resolve) => {
      const job: Job = {
        request,
        settle: (told) => {
          signal.removeEventListener('abort', abort)
          resolve(told)
        },
      }
      const abort = (): void => this.#abandon(job)
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.push(job)
      this.#dispatch()
    })
    if ('value' in outcome) return outcome.value
    if ('failure' in outcome) throw new Error(outcome.failure)
    throw new Refusal(outcome.refusal.code, outcome.refusal.detail, outcome.refusal.extras)
  }

  /** Ends all workers; what they were doing fails. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#seats, ({ worker }) => worker.terminate()))
  }

  #dispatch(): void {
    for (const seat of this.#seats) {
      if (!seat.ready || seat.job !== undefined) continue
      const job = this.#waiting.shift()
      if (job === undefined) return
      this.#give(seat, job)
    }
    const starting = Array.from(this.#seats).filter(({ ready }) => !ready).length
    if (this.#waiting.length > starting && this.#seats.size < this.#limits.size) this.#start()
  }

  #give(seat: Seat, job: Job): void {
    seat.job = job
    job.seat = seat
    seat.worker.ref()
    seat.timer = setTimeout(
      () => this.#end(seat, 'The deadline has passed.'),
      this.#limits.deadline,
    )
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    seat.worker.postMessage(job.request)
  }

  #start(): void {
    const seat: Seat = { worker: new Worker(this.#script), ready: false }
    this.#seats.add(seat)
    seat.worker.on('message', (message: Outcome | 'ready') => {
      seat.ready = true
      if (message !== 'ready') this.#finish(seat, message)
      if (seat.job === undefined) seat.worker.unref()
      this.#dispatch()
    })
    seat.worker.on('error', (error) => this.#end(seat, error.message))
    seat.worker.on('exit', () => this.#end(seat, 'The worker ended.'))
  }

  #finish(seat: Seat, outcome: Outcome): void {
    clearTimeout(seat.timer)
    const { job } = seat
    seat.job = undefined
    job?.settle(outcome)
  }

  /** Ends a worker and fails its job; one that never got ready fails the job that waited. */
  #end(seat: Seat, failure: string): void {
    if (!this.#seats.delete(seat)) return
    if (!seat.ready && seat.job === undefined) seat.job = this.#waiting.shift()
    this.#finish(seat, { failure })
    void seat.worker.terminate()
    this.#dispatch()
  }

  /** The caller has gone: a waiting job is dropped, a running one ends its worker. */
  #abandon(job: Job): void {
    const at = this.#waiting.indexOf(job)
    if (at >= 0) this.#waiting.splice(at, 1)
    if (job.seat?.job === job) this.#end(job.seat, 'The call was aborted.')
    else job.settle({ failure: 'The call was aborted.' })
  }
}
