import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import type { LedgerOutcome } from '../../../core/ledger/events.ts'
import type { BankSpec } from '../banks/index.ts'
import type { Step, StepRecord } from './bank.ts'

export interface WorkerRequest {
  readonly n: number
  readonly step: Step
}

/** Response of a worker; without an outcome, the outcome is unknown. */
export interface WorkerResponse {
  readonly n: number
  readonly outcome?: LedgerOutcome
  readonly error?: string
}

const PROGRAM = new URL('./worker-process.ts', import.meta.url)
const RETRY_MS = 20
/** Longer than any fault lasts. */
const RESPONSE_TIMEOUT_MS = 300_000

/**
 * Processes that execute the steps of one bank. A step without a response is retried on another
 * process.
 */
export class BankWorkers {
  /** Number of responses; each is an acknowledgement. */
  responses = 0
  kills = 0
  /**
   * Errors that no injected fault explains: workers that exited unrequested, errors instead of
   * outcomes.
   */
  readonly errors: string[] = []
  readonly #spec: BankSpec
  #workers: BankWorker[]

  constructor(spec: BankSpec, count: number) {
    this.#spec = spec
    this.#workers = Array.from({ length: count }, () => this.#startWorker())
  }

  /** Sends the step to random workers until one responds, and records every attempt in `record`. */
  async send(record: StepRecord): Promise<void> {
    for (const deadline = elapsedMs() + RESPONSE_TIMEOUT_MS; ; ) {
      if (elapsedMs() > deadline) throw new Error('no worker responded in time')
      const worker = this.#workers[Math.floor(Math.random() * this.#workers.length)]!
      const { outcome, error } = await worker.send(record.step)
      if (error !== undefined) this.errors.push(error)
      if (outcome === undefined) {
        record.lost++
        await sleep(RETRY_MS)
        continue
      }
      this.responses++
      if (outcome === 'applied') record.applied++
      else if (outcome === 'replayed') record.replayed++
      else record.refused.push(outcome)
      return
    }
  }

  /** Kills a random worker with SIGKILL and starts a new one. */
  async kill(): Promise<void> {
    const index = Math.floor(Math.random() * this.#workers.length)
    const victim = this.#workers[index]!
    this.#workers[index] = this.#startWorker()
    await victim.kill()
    this.kills++
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()))
    this.#workers = []
  }

  #startWorker(): BankWorker {
    return new BankWorker(this.#spec, (reportError) => this.errors.push(reportError))
  }
}

class BankWorker {
  readonly #child: ChildProcess
  readonly #pending = new Map<number, (answer: WorkerResponse) => void>()
  #requests = 0
  #isDisconnected = false
  #isKilled = false

  constructor(spec: BankSpec, reportError: (text: string) => void) {
    this.#child = fork(PROGRAM, { serialization: 'advanced', execArgv: [], env: {} })
    this.#child.on('message', (answer: WorkerResponse) => {
      this.#pending.get(answer.n)?.(answer)
      this.#pending.delete(answer.n)
    })
    // Follows the last message, so responses sent before the exit count.
    this.#child.on('disconnect', () => {
      this.#isDisconnected = true
      for (const [n, resolve] of this.#pending) resolve({ n })
      this.#pending.clear()
    })
    this.#child.on('exit', (code, signal) => {
      if (!this.#isKilled) reportError(`a worker exited by itself (${code ?? signal})`)
    })
    this.#child.on('error', () => {})
    this.#child.send(spec)
  }

  send(step: Step): Promise<WorkerResponse> {
    const n = ++this.#requests
    if (this.#isDisconnected) return Promise.resolve({ n })
    return new Promise((resolve) => {
      this.#pending.set(n, resolve)
      this.#child.send({ n, step } satisfies WorkerRequest, (error) => {
        if (error) resolve({ n })
      })
    })
  }

  async kill(): Promise<void> {
    this.#isKilled = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }
}
