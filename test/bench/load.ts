import { elapsedMs } from '../../core/clock.ts'

export interface LoadResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Runs `once` from `concurrency` loops for `seconds`; measures its rate and latency. */
export async function load(
  concurrency: number,
  seconds: number,
  once: () => Promise<void>,
): Promise<LoadResult> {
  const start = elapsedMs()
  const end = start + seconds * 1_000
  const latencies: number[] = []
  const loop = async (): Promise<void> => {
    for (let before = elapsedMs(); before < end; ) {
      await once()
      const after = elapsedMs()
      latencies.push(after - before)
      before = after
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  const took = (elapsedMs() - start) / 1_000
  latencies.sort((a, b) => a - b)
  return {
    perSecond: latencies.length / took,
    p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
    p99Ms: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

export const rounded = (value: number, decimals = 1): number => {
  const scale = 10 ** decimals
  return Math.round(value * scale) / scale
}
