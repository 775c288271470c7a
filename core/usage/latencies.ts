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
  const rank = share * calls.reduce((sum, count) => sum + count, 0)
  let cumulative = 0
  for (const [i, count] of calls.entries()) {
    cumulative += count
    if (cumulative >= rank) return ms[i]!
  }
  return null
}

/** Merged latencies of several rows. */
export class LatencyHistogram {
  readonly #calls = new Map<number, number>()
  #undelivered = 0

  /** Calls that were not delivered; rows store them with negative latency. */
  get undelivered(): number {
    return this.#undelivered
  }

  add({ ms, counts }: LatencyRow): void {
    if (ms === '') return
    const calls = counts.split(' ')
    for (const [i, text] of ms.split(' ').entries()) this.#count(Number(text), Number(calls[i]))
  }

  addAll(other: LatencyHistogram): void {
    for (const [ms, calls] of other.#calls) this.#count(ms, calls)
    this.#undelivered += other.#undelivered
  }

  #count(ms: number, calls: number): void {
    if (ms < 0) this.#undelivered += calls
    else this.#calls.set(ms, (this.#calls.get(ms) ?? 0) + calls)
  }

  sorted(): SortedLatencies {
    const all = [...this.#calls].sort(([a], [b]) => a - b)
    return { ms: all.map(([ms]) => ms), calls: all.map(([, calls]) => calls) }
  }
}
