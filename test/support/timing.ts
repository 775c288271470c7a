import { elapsedMs } from '../../core/clock.ts'

/** Returns the result of `work` and its duration in milliseconds. */
export async function timed<T>(work: () => T | Promise<T>): Promise<readonly [T, number]> {
  const start = elapsedMs()
  return [await work(), elapsedMs() - start]
}

/**
 * Returns a time limit in milliseconds for work expected to take no longer than `usual`: tolerates
 * slow machines, but not quadratic cost. @param least minimum limit
 */
export const atMost = (usual: number, least: number): number => Math.max(least, 20 * usual)
