import { elapsedMs } from '../../core/clock.ts'
import type { Exchange } from '../http/exchange.ts'

/** One step of a request, from and until in milliseconds of `elapsedMs`. */
export interface TracedStep {
  readonly name: string
  readonly start: number
  readonly end: number
}

/**
 * What one request goes through, for its `Server-Timing`, the log, the metrics and spans. Its steps
 * come one after the other.
 */
export class Trace {
  readonly startedAt = elapsedMs()
  readonly steps: TracedStep[] = []
  /** The step that is under way, and since when. */
  #stepName = ''
  #stepStart = 0
  /** As declared, such as `/v1/services/{slug}`: of those there are few. */
  route = 'none'
  keyId: string | undefined
  /** The service that was called, once it was found. */
  service: string | undefined
  /** Microdollars, where a call was made or refused. */
  charged: bigint | undefined

  /** Begins a step. The one before it is over. */
  begin(name: string): void {
    const now = elapsedMs()
    this.#end(now)
    this.#stepName = name
    this.#stepStart = now
  }

  /** Ends the step that is under way, whatever came of it. */
  end(): void {
    this.#end(elapsedMs())
  }

  /** Does the work as a step. */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    this.begin(name)
    try {
      return await work()
    } finally {
      this.end()
    }
  }

  /** The value of the header (W3C Server Timing), in milliseconds. */
  get serverTiming(): string {
    return this.steps
      .map(({ name, start: from, end: until }) => `${name};dur=${(until - from).toFixed(2)}`)
      .join(', ')
  }

  #end(until: number): void {
    if (this.#stepName !== '')
      this.steps.push({ name: this.#stepName, start: this.#stepStart, end: until })
    this.#stepName = ''
  }
}

/** The trace that the outermost middleware gave the request. */
export const traceOf = (ctx: Exchange): Trace => ctx.state['trace'] as Trace
