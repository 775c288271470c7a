import { Worker } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'

/** Message of a worker for one request. Before the first request, the worker sends `ready`. */
export type WorkerResult =
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
  readonly settle: (outcome: WorkerResult) => void
  /** Slot that runs the job. */
  slot?: Slot
}

/** A worker thread with its current job and the deadline timer of that job. */
interface Slot {
  readonly worker: Worker
  job?: Job | undefined
  timer?: NodeJS.Timeout | undefined
  ready: boolean
}

interface Limits {
  readonly size: number
  /** Maximum queued requests; further ones fail immediately. */
  readonly queue: number
  /** Maximum time per request in milliseconds. */
  readonly deadlineMs: number
}

/** One request per thread at a time. Threads are replaced after a crash or a missed deadline. */
export class WorkerPool {
  readonly #script: URL
  readonly #limits: Limits
  readonly #slots = new Set<Slot>()
  readonly #waiting: Job[] = []

  constructor(script: URL, limits: Limits) {
    this.#script = script
    this.#limits = limits
  }

  /** Rejects with the worker's `Refusal`, or an `Error` (full queue, crash, deadline, abort). */
  async run(request: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#waiting.length >= this.#limits.queue) throw new Error('The queue is full.')
    const outcome = await new Promise<WorkerResult>((resolve) => {
      const job: Job = {
        request,
        settle: (outcome) => {
          signal.removeEventListener('abort', abort)
          resolve(outcome)
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

  /** Terminates all workers; running jobs fail. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#slots, ({ worker }) => worker.terminate()))
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (!slot.ready || slot.job !== undefined) continue
      const job = this.#waiting.shift()
      if (job === undefined) return
      this.#assign(slot, job)
    }
    const starting = Array.from(this.#slots).filter(({ ready }) => !ready).length
    if (this.#waiting.length > starting && this.#slots.size < this.#limits.size) this.#start()
  }

  #assign(slot: Slot, job: Job): void {
    slot.job = job
    job.slot = slot
    slot.worker.ref()
    slot.timer = setTimeout(
      () => this.#terminate(slot, 'The deadline has passed.'),
      this.#limits.deadlineMs,
    )
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    slot.worker.postMessage(job.request)
  }

  #start(): void {
    const slot: Slot = { worker: new Worker(this.#script), ready: false }
    this.#slots.add(slot)
    slot.worker.on('message', (message: WorkerResult | 'ready') => {
      slot.ready = true
      if (message !== 'ready') this.#finish(slot, message)
      if (slot.job === undefined) slot.worker.unref()
      this.#dispatch()
    })
    slot.worker.on('error', (error) => this.#terminate(slot, error.message))
    slot.worker.on('exit', () => this.#terminate(slot, 'The worker ended.'))
  }

  #finish(slot: Slot, outcome: WorkerResult): void {
    clearTimeout(slot.timer)
    const { job } = slot
    slot.job = undefined
    job?.settle(outcome)
  }

  /** Fails the worker's job, or the first queued one if the worker never became ready. */
  #terminate(slot: Slot, failure: string): void {
    if (!this.#slots.delete(slot)) return
    if (!slot.ready && slot.job === undefined) slot.job = this.#waiting.shift()
    this.#finish(slot, { failure })
    void slot.worker.terminate()
    this.#dispatch()
  }

  /** Handles an aborted call: removes a queued job or terminates the worker of a running one. */
  #abandon(job: Job): void {
    const at = this.#waiting.indexOf(job)
    if (at >= 0) this.#waiting.splice(at, 1)
    if (job.slot?.job === job) this.#terminate(job.slot, 'The call was aborted.')
    else job.settle({ failure: 'The call was aborted.' })
  }
}
