import { performance } from 'node:perf_hooks'
import { type Clock, Failure, type Host, Refusal } from 'agenthub/plugin'
import { type Envelope, envelopeOf, type Told } from './answer.ts'
import type { Costs, Spent } from './costs.ts'
import { type Prices, Spending } from './llm/spending.ts'
import { Trouble, type TroubleReason } from './llm/trouble.ts'
import { type Asked, type Request, readRequest } from './request.ts'

/** One engine of the operator's list. */
export type Listed =
  /** In this process: it answers in a thread, and costs nothing. */
  | {
      readonly name: string
      readonly kind: 'local'
      readonly answer: (request: Request, signal: AbortSignal) => Promise<Envelope>
    }
  /** Somewhere else, by the token. */
  | {
      readonly name: string
      readonly kind: 'remote'
      readonly model: string
      readonly prices: Prices & { readonly max_cost_per_day?: bigint | undefined }
      readonly answer: (asked: Asked, spending: Spending, signal: AbortSignal) => Promise<Told>
    }

type Remote = Extract<Listed, { readonly kind: 'remote' }>

interface Ports {
  readonly costs: Costs
  readonly clock: Clock
  readonly log: Host['log']
}

interface Attempt {
  readonly engine: string
  readonly reason: TroubleReason
  readonly restMs?: number | undefined
}

/** After so many failures in a row an engine is asked last for a while. */
const FAILURES_MAX = 3
const REST_MS = 30_000
const REST_MAX_MS = 300_000

/** Answers each call by the first engine that can, in the operator's order. */
export class Engines {
  readonly #listed: readonly Listed[]
  readonly #ports: Ports
  readonly #failures = new Map<string, number>()
  readonly #restsUntil = new Map<string, number>()

  constructor(listed: readonly Listed[], ports: Ports) {
    this.#listed = listed
    this.#ports = ports
  }

  /**
   * @throws Refusal for what no engine can serve, Failure when those that could did not; either is
   * refunded. The signal's reason when the call was given up.
   */
  async answer(request: Request, signal: AbortSignal): Promise<Envelope> {
    const began = performance.now()
    const attempts: Attempt[] = []
    let unsupported: Refusal | undefined
    for (const engine of this.#inOrder()) {
      try {
        const envelope = await this.#ask(engine, request, began, signal)
        this.#failures.delete(engine.name)
        return withFailOver(envelope, attempts)
      } catch (error) {
        if (error instanceof Refusal && error.code !== UNSUPPORTED) throw error
        if (error instanceof Refusal) unsupported = error
        if (signal.aborted) throw lateFailure(attempts, engine.name, signal)
        attempts.push(this.#note(engine.name, error))
      }
    }
    throw failureOf(attempts, unsupported)
  }

  /** Those that rest come last: to be asked by nobody is worse than to be asked too soon. */
  #inOrder(): readonly Listed[] {
    const now = this.#ports.clock.now().getTime()
    const rests = ({ name }: Listed): boolean => (this.#restsUntil.get(name) ?? 0) > now
    return [...this.#listed.filter((one) => !rests(one)), ...this.#listed.filter(rests)]
  }

  async #ask(engine: Listed, request: Request, began: number, signal: AbortSignal) {
    if (engine.kind === 'local') return engine.answer(request, signal)
    const asked = readRequest(request)
    return envelopeOf(asked, await this.#askRemote(engine, asked, signal), began)
  }

  async #askRemote(engine: Remote, asked: Asked, signal: AbortSignal): Promise<Told> {
    const { prices, name, model } = engine
    const { max_cost_per_day: most } = prices
    if (most !== undefined && (await this.#ports.costs.today(name)) >= most) {
      throw new Trouble('spent', 'what this engine may cost in a day is spent')
    }
    const spending = new Spending(prices)
    let outcome: Spent['outcome'] = 'aborted'
    try {
      const told = await engine.answer(asked, spending, signal)
      outcome = 'answered'
      return told
    } catch (error) {
      if (!signal.aborted) outcome = error instanceof Trouble ? error.reason : 'unavailable'
      throw error
    } finally {
      const { id: callId, endpoint } = asked
      await this.#record({ callId, endpoint, engine: name, model, outcome, spending })
    }
  }

  /** A call is answered though its cost could not be written down: the log has it then. */
  async #record(spent: Spent): Promise<void> {
    const { requests, input, output, cost } = spent.spending
    if (requests === 0) return
    const { spending: _, ...rest } = spent
    const told = { ...rest, requests, input, output, cost_microdollars: String(cost) }
    this.#ports.log('an engine was asked', told)
    await this.#ports.costs.record(spent).catch((error: unknown) => {
      this.#ports.log('the cost of an engine was not recorded', { ...told, error: String(error) })
    })
  }

  #note(engine: string, error: unknown): Attempt {
    const trouble = error instanceof Trouble ? error : undefined
    const reason = trouble?.reason ?? (error instanceof Refusal ? 'unsupported' : 'unavailable')
    const isDown = reason === 'unavailable' || reason === 'timeout'
    // Of other reasons the message may quote the text, which is the caller's.
    const message = isDown && error instanceof Error ? { error: error.message } : {}
    if (reason !== 'unsupported') {
      this.#ports.log('an engine did not answer', { engine, reason, ...message })
    }
    if (!isDown) return { engine, reason }
    const failures = (this.#failures.get(engine) ?? 0) + 1
    this.#failures.set(engine, failures)
    const asked = trouble?.restMs
    const restMs = asked ?? (failures >= FAILURES_MAX ? REST_MS : undefined)
    if (restMs !== undefined) {
      const until = this.#ports.clock.now().getTime() + Math.min(restMs, REST_MAX_MS)
      this.#restsUntil.set(engine, until)
    }
    return { engine, reason, restMs: asked }
  }
}

const UNSUPPORTED = 'unsupported_by_engine'

const withFailOver = (envelope: Envelope, attempts: readonly Attempt[]): Envelope => {
  if (attempts.length === 0) return envelope
  const tried = attempts.map(({ engine, reason }) => `${engine} (${reason})`).join(', ')
  const warning = {
    code: 'engine_failed_over',
    message: `Asked before, without an answer: ${tried}.`,
  }
  return { ...envelope, warnings: [...envelope.warnings, warning] }
}

const lateFailure = (attempts: readonly Attempt[], engine: string, signal: AbortSignal): unknown =>
  signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
    ? new Failure(504, 'engine_timeout', 'No engine answered in time. You were not charged.', {
        attempts: told([...attempts, { engine, reason: 'timeout' }]),
      })
    : signal.reason

interface Tried extends Record<string, unknown> {
  readonly attempts: readonly object[]
}
type Ending = (tried: Tried, retryAfterSeconds: number) => Error

const later =
  (detail: string): Ending =>
  (tried, retryAfterSeconds) =>
    new Failure(503, 'engine_unavailable', detail, { ...tried, retryAfterSeconds })

/**
 * How a failure is told; the first of these that any engine had. What may be over soon comes first.
 */
const ENDINGS: readonly (readonly [TroubleReason, Ending])[] = [
  ['unavailable', later('No engine can be reached.')],
  ['busy', later('All engines are busy.')],
  ['spent', later('The engines have spent what they may in a day.')],
  ['timeout', (tried) => new Failure(504, 'engine_timeout', 'No engine answered in time.', tried)],
  [
    'bad_output',
    (tried) =>
      new Failure(502, 'engine_bad_output', 'No engine gave an answer fit to sell.', tried),
  ],
  [
    'refused',
    (tried) => new Refusal('engine_refused', 'The model refuses to work on this text.', tried),
  ],
  [
    'over_budget',
    (tried) =>
      new Refusal('text_too_costly', 'The call costs more than its price. Send less.', tried),
  ],
]

const LATER_SECONDS = 5

const failureOf = (attempts: readonly Attempt[], unsupported: Refusal | undefined): Error => {
  const rests = attempts.flatMap(({ restMs }) => restMs ?? [])
  const seconds = rests.length > 0 ? Math.ceil(Math.min(...rests) / 1_000) : LATER_SECONDS
  for (const [reason, ending] of ENDINGS) {
    if (!attempts.some((one) => one.reason === reason)) continue
    return ending({ attempts: told(attempts) }, seconds)
  }
  if (unsupported !== undefined) return unsupported
  const detail = 'No engine can do this with this text.'
  return new Refusal(UNSUPPORTED, detail, { attempts: told(attempts) })
}

const told = (attempts: readonly Attempt[]): readonly object[] =>
  attempts.map(({ engine, reason }) => ({ engine, reason }))
