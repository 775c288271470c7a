import { performance } from 'node:perf_hooks'
import { type Clock, Failure, type Host, Refusal } from 'agenthub/plugin'
import type { Costs, EngineCall } from './costs.ts'
import type { EngineResult, Envelope } from './envelope.ts'
import { EngineError, type EngineErrorReason } from './llm/engine-error.ts'
import { type Prices, Spending } from './llm/spending.ts'
import type { ParsedRequest, Request } from './request.ts'

/** One engine of the operator's list. */
export type ConfiguredEngine =
  /** Runs in a thread of this process, free of charge. */
  | {
      readonly name: string
      readonly kind: 'local'
      readonly answer: (request: Request, signal: AbortSignal) => Promise<Envelope>
    }
  /** Calls a remote model that is billed by the token. */
  | {
      readonly name: string
      readonly kind: 'remote'
      readonly model: string
      readonly prices: Prices & { readonly max_cost_per_day?: bigint | undefined }
      readonly answer: (
        parsed: ParsedRequest,
        spending: Spending,
        signal: AbortSignal,
      ) => Promise<EngineResult>
    }

type RemoteConfiguration = Extract<ConfiguredEngine, { readonly kind: 'remote' }>

interface EnginesDeps {
  readonly costs: Costs
  readonly clock: Clock
  readonly log: Host['log']
}

interface Attempt {
  readonly engine: string
  readonly reason: EngineErrorReason
  readonly retryAfterMs?: number | undefined
}

/** Failures in a row after which an engine is tried last during a cooldown. */
const FAILURES_MAX = 3
const COOLDOWN_MS = 30_000
const COOLDOWN_MAX_MS = 300_000

/** Answers each call with the first engine that can, in the configured order. */
export class Engines {
  readonly #engines: readonly ConfiguredEngine[]
  readonly #deps: EnginesDeps
  readonly #failures = new Map<string, number>()
  readonly #cooldownUntil = new Map<string, number>()

  constructor(engines: readonly ConfiguredEngine[], deps: EnginesDeps) {
    this.#engines = engines
    this.#deps = deps
  }

  /** @throws Refusal if no engine supports it, Failure if all failed, or the signal's reason */
  async answer(request: Request, signal: AbortSignal): Promise<Envelope> {
    const began = performance.now()
    const attempts: Attempt[] = []
    let unsupported: Refusal | undefined
    for (const engine of this.#byAvailability()) {
      try {
        const envelope = await this.#call(engine, request, began, signal)
        this.#failures.delete(engine.name)
        return withFailoverWarning(envelope, attempts)
      } catch (error) {
        if (error instanceof Refusal && !ENGINE_REFUSALS.has(error.code)) throw error
        if (error instanceof Refusal) unsupported = error
        if (signal.aborted) throw abortError(attempts, engine.name, signal)
        attempts.push(this.#recordFailure(engine.name, error))
      }
    }
    throw failureOf(attempts, unsupported)
  }

  /** Engines in cooldown come last, because trying one too early is better than trying none. */
  #byAvailability(): readonly ConfiguredEngine[] {
    const now = this.#deps.clock.now().getTime()
    const isCooling = ({ name }: ConfiguredEngine): boolean =>
      (this.#cooldownUntil.get(name) ?? 0) > now
    return [...this.#engines.filter((one) => !isCooling(one)), ...this.#engines.filter(isCooling)]
  }

  async #call(engine: ConfiguredEngine, request: Request, began: number, signal: AbortSignal) {
    if (engine.kind === 'local') return engine.answer(request, signal)
    // Loaded when used: the embedded engine reads requests in its threads.
    const { readRequest } = await import('./request.ts')
    const { envelopeOf } = await import('./envelope.ts')
    const parsed = readRequest(request)
    return envelopeOf(parsed, await this.#callRemote(engine, parsed, signal), began)
  }

  async #callRemote(
    engine: RemoteConfiguration,
    parsed: ParsedRequest,
    signal: AbortSignal,
  ): Promise<EngineResult> {
    const { prices, name, model } = engine
    const { max_cost_per_day: most } = prices
    if (most !== undefined && (await this.#deps.costs.today(name)) >= most) {
      throw new EngineError('spent', 'the daily cost limit of this engine is reached')
    }
    const spending = new Spending(prices)
    let outcome: EngineCall['outcome'] = 'aborted'
    try {
      const result = await engine.answer(parsed, spending, signal)
      outcome = 'answered'
      return result
    } catch (error) {
      if (!signal.aborted) outcome = error instanceof EngineError ? error.reason : 'unavailable'
      throw error
    } finally {
      const { id: callId, endpoint } = parsed
      await this.#record({ callId, endpoint, engine: name, model, outcome, spending })
    }
  }

  /** Records the cost. A failure to record is logged and does not fail the call. */
  async #record(spent: EngineCall): Promise<void> {
    const { requests, input, output, cost } = spent.spending
    if (requests === 0) return
    const { spending: _, ...rest } = spent
    const entry = { ...rest, requests, input, output, cost_microdollars: String(cost) }
    this.#deps.log('engine called', entry)
    await this.#deps.costs.record(spent).catch((error: unknown) => {
      this.#deps.log('failed to record the cost of an engine', { ...entry, error: String(error) })
    })
  }

  #recordFailure(engine: string, error: unknown): Attempt {
    const engineError = error instanceof EngineError ? error : undefined
    const reason = engineError?.reason ?? (error instanceof Refusal ? 'unsupported' : 'unavailable')
    const isDown = reason === 'unavailable' || reason === 'timeout'
    // For other reasons, the message may quote the caller's text.
    const message = isDown && error instanceof Error ? { error: error.message } : {}
    if (reason !== 'unsupported') {
      this.#deps.log('engine failed', { engine, reason, ...message })
    }
    if (!isDown) return { engine, reason }
    const failures = (this.#failures.get(engine) ?? 0) + 1
    this.#failures.set(engine, failures)
    const requestedMs = engineError?.retryAfterMs
    const waitMs = requestedMs ?? (failures >= FAILURES_MAX ? COOLDOWN_MS : undefined)
    if (waitMs !== undefined) {
      const until = this.#deps.clock.now().getTime() + Math.min(waitMs, COOLDOWN_MAX_MS)
      this.#cooldownUntil.set(engine, until)
    }
    return { engine, reason, retryAfterMs: requestedMs }
  }
}

const UNSUPPORTED = 'unsupported_by_engine'
/** Refusals of one engine after which the next one is tried. */
const ENGINE_REFUSALS = new Set([UNSUPPORTED, 'language_not_supported', 'format_not_understood'])

const withFailoverWarning = (envelope: Envelope, attempts: readonly Attempt[]): Envelope => {
  if (attempts.length === 0) return envelope
  const tried = attempts.map(({ engine, reason }) => `${engine} (${reason})`).join(', ')
  const warning = {
    code: 'engine_failed_over',
    message: `These engines failed first: ${tried}.`,
  }
  return { ...envelope, warnings: [...envelope.warnings, warning] }
}

const abortError = (attempts: readonly Attempt[], engine: string, signal: AbortSignal): unknown =>
  signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
    ? new Failure(504, 'engine_timeout', 'No engine answered in time. You were not charged.', {
        attempts: attemptsOf([...attempts, { engine, reason: 'timeout' }]),
      })
    : signal.reason

interface AttemptDetails extends Record<string, unknown> {
  readonly attempts: readonly object[]
}
type ErrorBuilder = (tried: AttemptDetails, retryAfterSeconds: number) => Error

const unavailable =
  (detail: string): ErrorBuilder =>
  (tried, retryAfterSeconds) =>
    new Failure(503, 'engine_unavailable', detail, { ...tried, retryAfterSeconds })

/** Errors by reason, most temporary first; the first one that any engine had is thrown. */
const ERRORS_BY_REASON: readonly (readonly [EngineErrorReason, ErrorBuilder])[] = [
  ['unavailable', unavailable('No engine can be reached.')],
  ['busy', unavailable('All engines are busy.')],
  ['spent', unavailable('All engines have reached their daily cost limit.')],
  ['timeout', (tried) => new Failure(504, 'engine_timeout', 'No engine answered in time.', tried)],
  [
    'bad_output',
    (tried) => new Failure(502, 'engine_bad_output', 'No engine returned a valid result.', tried),
  ],
  [
    'refused',
    (tried) => new Refusal('engine_refused', 'The model refused to process this text.', tried),
  ],
  [
    'over_budget',
    (tried) =>
      new Refusal(
        'text_too_costly',
        'This text costs more to process than the call pays. Send less.',
        tried,
      ),
  ],
]

const RETRY_SECONDS = 5

const failureOf = (attempts: readonly Attempt[], unsupported: Refusal | undefined): Error => {
  const waits = attempts.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
  const seconds = waits.length > 0 ? Math.ceil(Math.min(...waits) / 1_000) : RETRY_SECONDS
  for (const [reason, ending] of ERRORS_BY_REASON) {
    if (!attempts.some((one) => one.reason === reason)) continue
    return ending({ attempts: attemptsOf(attempts) }, seconds)
  }
  if (unsupported !== undefined) return unsupported
  const detail = 'No engine can process this request.'
  return new Refusal(UNSUPPORTED, detail, { attempts: attemptsOf(attempts) })
}

const attemptsOf = (attempts: readonly Attempt[]): readonly object[] =>
  attempts.map(({ engine, reason }) => ({ engine, reason }))
