/** Latencies in milliseconds, the lowest first, with how many calls took so long. */
export interface SortedLatencies {
  readonly ms: readonly number[]
  readonly calls: readonly number[]
}

/** The same as the database writes it: numbers between spaces. */
export interface LatencyRow {
  readonly ms: string
  readonly counts: string
}

/** The columns of `LatencyText`, of `hub.outcome_day o`; empty where there is no such row. */
export const LATENCY_COLUMNS = `coalesce(array_to_string(o.ms, ' '), '') AS ms,
  coalesce(array_to_string(o.calls, ' '), '') AS counts`

/** The latency that a share of the calls did not exceed; null without calls. */
export function percentile({ ms, calls }: SortedLatencies, share: number): number | null {
  const wanted = share * calls.reduce((sum, count) => sum + count, 0)
  let upto = 0
  for (const [i, count] of calls.entries()) {
    upto += count
    if (upto >= wanted) return ms[i]!
  }
  return null
}

/** Latencies of several rows as one. */
export class LatencyHistogram {
  readonly #calls = new Map<number, number>()
  #undelivered = 0

  /** Calls that were not delivered: they are kept below zero, and have no latency. */
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
