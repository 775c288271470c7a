import { elapsedMs } from '../../core/clock.ts'

/** Result of concurrent call loops: latencies in ms and number of failures. */
export interface Sample {
  readonly latencies: readonly number[]
  /** Number of successful calls. */
  readonly calls: number
  readonly errors: number
  /** Message of the first error. */
  readonly firstError?: string
  readonly seconds: number
}

export interface LoadResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/**
 * Runs `once` in `concurrency` loops for `seconds`, or until `enough` calls succeeded. Errors are
 * counted, and their loop continues.
 */
export async function sample(
  concurrency: number,
  seconds: number,
  once: () => Promise<void>,
  enough = Number.POSITIVE_INFINITY,
): Promise<Sample> {
  const start = elapsedMs()
  const end = start + seconds * 1_000
  const latencies: number[] = []
  const errors: unknown[] = []
  let calls = 0
  let begun = 0
  const loop = async (): Promise<void> => {
    for (let before = elapsedMs(); before < end && begun++ < enough; ) {
      try {
        await once()
        calls++
      } catch (error) {
        errors.push(error)
      }
      const after = elapsedMs()
      latencies.push(after - before)
      before = after
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  const first = errors.length === 0 ? {} : { firstError: String(errors[0]) }
  const took = (elapsedMs() - start) / 1_000
  return { latencies, calls, errors: errors.length, ...first, seconds: took }
}

/** Returns rate and latency over concurrent samples. */
export function summary(samples: readonly Sample[]): LoadResult {
  const latencies = samples.flatMap((each) => each.latencies).sort((a, b) => a - b)
  const rates = samples.map((each) => each.calls / each.seconds)
  return {
    perSecond: rates.reduce((sum, rate) => sum + rate, 0),
    p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  }
}

/** Returns the latencies of all rounds together and the median rate. */
export const overall = (rounds: readonly Sample[]): LoadResult => ({
  ...summary(rounds),
  perSecond: median(rounds.map(rateOf)),
})

type Rate = Pick<Sample, 'calls' | 'seconds'>

const rateOf = ({ calls, seconds }: Rate): number => calls / seconds

/** Returns the median over all rounds of the rate of one side divided by that of another. */
export const ratioOf = (
  rounds: readonly ReadonlyMap<string, Rate>[],
  one: string,
  other: string,
): number => median(rounds.map((round) => rateOf(round.get(one)!) / rateOf(round.get(other)!)))

/** Measures rate and latency of `once`, which must not fail, and the number of calls. */
export async function load(
  ...options: Parameters<typeof sample>
): Promise<LoadResult & { readonly answers: number }> {
  const taken = await sample(...options)
  if (taken.firstError !== undefined) throw new Error(taken.firstError)
  return { ...summary([taken]), answers: taken.latencies.length }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

export const rounded = (value: number, decimals = 1): number => {
  const scale = 10 ** decimals
  return Math.round(value * scale) / scale
}
