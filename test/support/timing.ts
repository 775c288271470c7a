import { elapsedMs } from '../../core/clock.ts'

/** What comes of some work, and how many milliseconds it took. */
export async function timed<T>(work: () => T | Promise<T>): Promise<readonly [T, number]> {
  const start = elapsedMs()
  return [await work(), elapsedMs() - start]
}

/**
 * How many milliseconds work may take that is to cost no more than `usual` work of its size, on a
 * machine of any speed: none is so uneven, and what costs the square is far beyond.
 * @param least what is never too long
 */
export const atMost = (usual: number, least: number): number => Math.max(least, 20 * usual)
