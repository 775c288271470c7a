import { elapsedMs, sleep } from '../../../core/clock.ts'

/** Fault that is injected repeatedly. */
export interface RecurringFault {
  /** Returns the pause before the next injection, in milliseconds. */
  readonly pause: () => number
  readonly act: () => Promise<void>
}

/** Duration of each workload run; shorter values are for development. */
export const SECONDS = Number(process.env['FAULTS_SECONDS'] ?? 60)

export const randomBetween = (low: number, high: number) => (): number =>
  low + Math.floor(Math.random() * (high - low + 1))

/**
 * Injects the faults concurrently for `seconds`; started injections finish. @param isEnough ends
 * the injection early @returns number of injections of each fault
 */
export function injectFaults(
  seconds: number,
  faults: readonly RecurringFault[],
  isEnough: () => boolean = () => false,
): Promise<number[]> {
  const end = elapsedMs() + seconds * 1_000
  const hasEnded = (): boolean => elapsedMs() >= end || isEnough()
  return Promise.all(
    faults.map(async ({ pause, act }) => {
      for (let times = 0; ; times++) {
        const next = Math.min(elapsedMs() + pause(), end)
        while (elapsedMs() < next && !isEnough()) await sleep(Math.min(100, next - elapsedMs()))
        if (hasEnded()) return times
        await act()
      }
    }),
  )
}
