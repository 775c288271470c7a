import { elapsedMs } from '../core/clock.ts'
import type { Exchange } from './exchange.ts'

/** One step of a request, from and until in milliseconds of `elapsedMs`. */
export interface TracedStep {
  readonly name: string
  readonly from: number
  readonly until: number
}

/** What one request goes through, for its `Server-Timing`, the log, the metrics and spans. */
export class Trace {
  readonly from = elapsedMs()
  readonly steps: TracedStep[] = []
  /** As declared, such as `/v1/services/{slug}`: of those there are few. */
  route = 'none'
  keyId: string | undefined
  /** The service that was called, once it was found. */
  service: string | undefined
  /** Microdollars, where a call was made or refused. */
  charged: bigint | undefined

  /** Does the work, and notes how long it took, whatever comes of it. */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const from = elapsedMs()
    try {
      return await work()
    } finally {
      this.steps.push({ name, from, until: elapsedMs() })
    }
  }

  /** The value of the header (W3C Server Timing), in milliseconds. */
  get serverTiming(): string {
    return this.steps
      .map(({ name, from, until }) => `${name};dur=${(until - from).toFixed(2)}`)
      .join(', ')
  }
}

/** The trace that the outermost middleware gave the request. */
export const traceOf = (ctx: Exchange): Trace => ctx.state['trace'] as Trace
