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

  add({ ms, counts }: LatencyRow): void {
    if (ms === '') return
    const calls = numbersOf(counts)
    for (const [i, latency] of numbersOf(ms).entries()) this.#count(latency, calls[i]!)
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
    const ms = [...Float64Array.from(this.#calls.keys()).sort()]
    return { ms, calls: ms.map((each) => this.#calls.get(each)!) }
  }
}

const SPACE = 32
const ZERO = 48

/** Parses natural numbers separated by spaces, in a quarter of the time of `split` and `Number`. */
function numbersOf(text: string): readonly number[] {
  const numbers: number[] = []
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === SPACE) {
      numbers.push(value)
      value = 0
    } else value = value * 10 + code - ZERO
  }
  numbers.push(value)
  return numbers
}
