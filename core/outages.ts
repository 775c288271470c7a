import { elapsedMs, unrefSleep } from './clock.ts'
import type { Log } from './log.ts'
import { memoizeByObject } from './runtime/cache.ts'

/** Something the hub depends on does not respond, or not as it should. */
export abstract class Unavailable extends Error {
  /** Name of the component that failed, such as `database`. */
  abstract readonly component: string
}

/** Fields of a log line. `component` is what failed; default: what `err` says. */
export interface FailureFields {
  readonly err: unknown
  readonly component?: string
  readonly [field: string]: unknown
}

type Level = 'warn' | 'error'

export interface OutageOptions {
  /** Pause between two checks of a component that failed. @defaultValue 1000 */
  readonly checkMs?: number
  /** Time without failures, after a success, that ends an outage. @defaultValue 10000 */
  readonly settleMs?: number
  /** Monotonic time in milliseconds. @defaultValue elapsedMs */
  readonly now?: () => number
}

/** Pause between two log lines about the same outage. */
const SUMMARY_MS = 60_000
/** Lines per outage about different errors; more are only counted. */
const LINES_MAX = 20
/** Time after the last failure in which the stack of the same error is not logged again. */
const RECENT_MS = 600_000

interface Outage {
  startedAt: number
  failures: number
  failedAt: number
  loggedAt: number
  /** When the component was first available after its last failure. */
  availableAt: number
  isOver: boolean
  isChecked: boolean
  /** Ends the outage unless another failure comes first. */
  ending: NodeJS.Timeout | undefined
  /** Messages and errors that were logged. */
  readonly lines: Set<string>
  /** Errors whose stack was logged. */
  readonly errors: Set<string>
}

/**
 * Logs outages instead of each failure that they cause: the first failure with its stack, other
 * errors once each, the number of repetitions once a minute, and the end. Errors of no known
 * component are logged in full. Component names come from code, so that memory is bounded.
 */
export class Outages {
  readonly #log: Log
  readonly #checkMs: number
  readonly #settleMs: number
  readonly #now: () => number
  readonly #outages = new Map<string, Outage>()
  readonly #checks = new Map<string, () => Promise<unknown>>()
  readonly #available = new Set<string>()

  constructor(log: Log, options: OutageOptions = {}) {
    this.#log = log
    this.#checkMs = options.checkMs ?? 1_000
    this.#settleMs = options.settleMs ?? 10_000
    this.#now = options.now ?? elapsedMs
  }

  /** Registers how to find out if a component is available again. @returns removes the check */
  addCheck(component: string, check: () => Promise<unknown>): () => void {
    this.#checks.set(component, check)
    return () => {
      if (this.#checks.get(component) === check) this.#checks.delete(component)
    }
  }

  /** Logs a failure, unless it repeats a known outage. */
  fail(level: Level, fields: FailureFields, message: string): void {
    const { err, component = componentOf(err), ...details } = fields
    if (component === undefined) {
      this.#log[level](fields, message)
      return
    }
    const outage = this.#open(component)
    outage.failures++
    outage.failedAt = this.#now()
    clearTimeout(outage.ending)
    outage.ending = undefined
    this.#report(level, { ...details, component }, message, { outage, err })
    const check = this.#checks.get(component)
    if (check && !outage.isChecked) void this.#poll(component, outage, check)
  }

  /** Components that are known to work or have failed. */
  states(): readonly { readonly component: string; readonly failing: boolean }[] {
    const isFailing = (component: string) => this.#outages.get(component)?.isOver === false
    const known = new Set([...this.#checks.keys(), ...this.#available, ...this.#outages.keys()])
    return [...known].map((component) => ({ component, failing: isFailing(component) }))
  }

  /** Records that a component is available; call it where `addCheck` is not used. */
  succeed(component: string): void {
    this.#available.add(component)
    const outage = this.#outages.get(component)
    if (!outage || outage.isOver || outage.ending) return
    outage.availableAt = this.#now()
    outage.ending = setTimeout(() => this.#end(component, outage), this.#settleMs).unref()
  }

  #open(component: string): Outage {
    const now = this.#now()
    const known = this.#outages.get(component)
    const isRecent = known !== undefined && now - known.failedAt < RECENT_MS
    if (isRecent && !known.isOver) return known
    clearTimeout(known?.ending)
    const outage: Outage = {
      startedAt: now,
      failures: 0,
      failedAt: now,
      loggedAt: now,
      availableAt: now,
      isOver: false,
      isChecked: false,
      ending: undefined,
      lines: new Set(),
      errors: isRecent ? known.errors : new Set(),
    }
    this.#outages.set(component, outage)
    return outage
  }

  #report(
    level: Level,
    fields: { readonly component: string },
    message: string,
    { outage, err }: { readonly outage: Outage; readonly err: unknown },
  ): void {
    const { lines, errors, failures, startedAt } = outage
    const error = describe(err)
    const line = `${message}\n${error}`
    const now = this.#now()
    if (!lines.has(line) && lines.size < LINES_MAX) {
      this.#log[level]({ ...fields, ...(errors.has(error) ? { error } : { err }) }, message)
      lines.add(line)
      if (errors.size < LINES_MAX) errors.add(error)
    } else if (now - outage.loggedAt >= SUMMARY_MS) {
      const { component } = fields
      const seconds = toSeconds(now - startedAt)
      this.#log[level]({ component, failures, seconds, error }, 'still failing')
    } else return
    outage.loggedAt = now
  }

  async #poll(component: string, outage: Outage, check: () => Promise<unknown>): Promise<void> {
    outage.isChecked = true
    while (!outage.isOver && this.#checks.get(component) === check) {
      await unrefSleep(this.#checkMs)
      await check().then(
        () => this.succeed(component),
        () => undefined,
      )
    }
  }

  #end(component: string, outage: Outage): void {
    outage.isOver = true
    const { failures, startedAt, availableAt } = outage
    const seconds = toSeconds(availableAt - startedAt)
    this.#log.warn({ component, failures, seconds }, 'available again')
  }
}

/** The outages of a log, and thus of a process. */
export const outagesOf: (log: Log) => Outages = memoizeByObject((log: Log) => new Outages(log))

/** Logs an error: in full, or as part of an outage if a known component failed. */
export const logFailure = (log: Log, level: Level, fields: FailureFields, message: string): void =>
  outagesOf(log).fail(level, fields, message)

/** Returns the component whose outage caused an error; undefined for all other errors. */
export function componentOf(error: unknown): string | undefined {
  if (isDatabaseDown(error)) return 'database'
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof Unavailable) return cause.component
  }
  return undefined
}

/** Messages of pg for lost and failed connections, which carry no code. */
const NO_CONNECTION =
  /^(?:Connection terminated|timeout exceeded when|Query read timeout|Client has encountered)/
/**
 * SQLSTATE classes and socket errors of a database that is temporarily unavailable. 57014 and 55P03
 * are the limits of time for a statement and for a lock, which a database that hung exceeds. 25006
 * is a write on a server that is a standby, during a failover.
 */
const UNAVAILABLE_CODES =
  /^(?:08|25006|57P|57014|55P03|53)|^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/

/** Returns true for errors of pg, and of its sockets, that a working database would not cause. */
export function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? UNAVAILABLE_CODES.test(code) : NO_CONNECTION.test(error.message)
}

const CAUSES_MAX = 4
const TEXT_MAX = 300

/** Describes an error and its causes in one line without numbers, equal for equal errors. */
function describe(error: unknown): string {
  const parts: string[] = []
  for (let cause = error; cause != null && parts.length < CAUSES_MAX; ) {
    const { name, message, code } = cause as Partial<NodeJS.ErrnoException>
    const [firstLine = ''] = (message ?? JSON.stringify(cause)).split('\n', 1)
    parts.push([name, code, firstLine].filter((part) => part !== undefined).join(' '))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return parts
    .join(' ← ')
    .replaceAll(/0x[\da-f]+|\d+/gi, '#')
    .slice(0, TEXT_MAX)
}

const toSeconds = (ms: number): number => Math.round(ms / 1_000)
