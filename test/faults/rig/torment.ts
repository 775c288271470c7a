import { elapsedMs, sleep } from '../../../core/clock.ts'

/** Something that goes wrong, again and again. */
export interface Torment {
  /** How long until the next time, in milliseconds. */
  readonly pause: () => number
  readonly act: () => Promise<void>
}

/** Seconds of each run of a workload; shorter ones are for development. */
export const SECONDS = Number(process.env['FAULTS_SECONDS'] ?? 60)

export const between = (low: number, high: number) => (): number =>
  low + Math.floor(Math.random() * (high - low + 1))

/**
 * Lets everything go wrong for so long, side by side; what has begun is finished.
 * @param enough ends it before its time
 * @returns how often each happened
 */
export function torment(
  seconds: number,
  torments: readonly Torment[],
  enough: () => boolean = () => false,
): Promise<number[]> {
  const end = elapsedMs() + seconds * 1_000
  const over = (): boolean => elapsedMs() >= end || enough()
  return Promise.all(
    torments.map(async ({ pause, act }) => {
      for (let times = 0; ; times++) {
        const next = Math.min(elapsedMs() + pause(), end)
        while (elapsedMs() < next && !enough()) await sleep(Math.min(100, next - elapsedMs()))
        if (over()) return times
        await act()
      }
    }),
  )
}
