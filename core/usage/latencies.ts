/** Latencies in milliseconds, ascending, with the number of calls of each. */
export interface SortedLatencies {
  readonly ms: readonly number[]
  readonly calls: readonly number[]
}

/** Latencies and counts as the database returns them: numbers separated by spaces. */
export interface LatencyRow {
  readonly ms: string
  readonly counts: string
}

/** Columns of `LatencyRow`, from `hub.outcome_day o`; empty text without a row. */
export const LATENCY_COLUMNS = `coalesce(array_to_string(o.ms, ' '), '') AS ms,
  coalesce(array_to_string(o.calls, ' '), '') AS counts`

/** Returns the latency that `share` of the calls did not exceed; null without calls. */
export function percentile({ ms, calls }: SortedLatencies, share: number): number | null {
  const rank = share * sumOf(calls)
  let cumulative = 0
  for (let i = 0; i < calls.length; i++) {
    cumulative += calls[i]!
    if (cumulative >= rank) return ms[i]!
  }
  return null
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0)

/** Merged latencies of several rows. */
export class LatencyHistogram {
  readonly #calls = new Map<number, number>()
  #undelivered = 0

  /** Calls that were not delivered; rows store them with negative latency. */
  get undelivered(): number {
    return this.#undelivered
  }

  /**
   * Reads both texts side by side: arrays of their numbers were the most garbage of any page. The
   * sign of a negative latency is read like a digit, and leaves the number negative.
   */
  add({ ms, counts }: LatencyRow): void {
    for (let at = 0, countAt = 0; at < ms.length; at++, countAt++) {
      let latency = 0
      for (; at < ms.length && ms.charCodeAt(at) !== SPACE; at++) {
        latency = latency * 10 + ms.charCodeAt(at) - ZERO
      }
      let calls = 0
      for (; countAt < counts.length && counts.charCodeAt(countAt) !== SPACE; countAt++) {
        calls = calls * 10 + counts.charCodeAt(countAt) - ZERO
      }
      this.#count(latency, calls)
    }
  }

  addAll(other: LatencyHistogram): void {
    other.#calls.forEach((calls, ms) => this.#count(ms, calls))
    this.#undelivered += other.#undelivered
  }

  #count(ms: number, calls: number): void {
    if (ms < 0) this.#undelivered += calls
    else this.#calls.set(ms, (this.#calls.get(ms) ?? 0) + calls)
  }

  sorted(): SortedLatencies {
    const ms = [...Float64Array.from(this.#calls.keys()).sort()]
    return { ms, calls: ms.map((each) => this.#calls.get(each)!) }
  }
}

const SPACE = 32
const ZERO = 48
