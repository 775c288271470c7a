import { elapsedMs } from '../../core/clock.ts'
import type { Exchange } from '../http/exchange.ts'

/** One step of a request; start and end in milliseconds of `elapsedMs`. */
export interface TracedStep {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** Records the consecutive steps of a request, for `Server-Timing`, log, metrics and spans. */
export class Trace {
  readonly startedAt = elapsedMs()
  readonly steps: TracedStep[] = []
  /** The current step; empty between steps. */
  #stepName = ''
  #stepStart = 0
  /** The route as declared, such as `/v1/services/{slug}`: a label with few values. */
  route = 'none'
  keyId: string | undefined
  /** Owner of the key. */
  principal: string | undefined
  /** Slug of the called service, once found. */
  service: string | undefined
  /** Microdollars of credits or of a payment that pay for the call unless it fails. */
  reserved: bigint | undefined
  /** Microdollars charged, if the request was a call. */
  charged: bigint | undefined

  /** Sets the caller. */
  identify({ keyId, principal }: { readonly keyId: string; readonly principal: string }): void {
    this.keyId = keyId
    this.principal = principal
  }

  /** Starts a step and ends the one before. */
  begin(name: string): void {
    const now = elapsedMs()
    this.#end(now)
    this.#stepName = name
    this.#stepStart = now
  }

  end(): void {
    this.#end(elapsedMs())
  }

  /** Runs work as a step. */
  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    this.begin(name)
    try {
      return await work()
    } finally {
      this.end()
    }
  }

  /** Value of the Server-Timing header, in milliseconds. */
  get serverTiming(): string {
    return this.steps
      .map(({ name, start, end }) => `${name};dur=${(end - start).toFixed(2)}`)
      .join(', ')
  }

  #end(until: number): void {
    if (this.#stepName !== '')
      this.steps.push({ name: this.#stepName, start: this.#stepStart, end: until })
    this.#stepName = ''
  }
}

/** Returns the trace that the outermost middleware stored for the request. */
export const traceOf = (ctx: Exchange): Trace => ctx.state['trace'] as Trace
