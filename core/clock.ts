import { setTimeout as delay } from 'node:timers/promises'

/** Source of the current time, which tests can set. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** Monotonic time in milliseconds from an arbitrary start, for durations. */
export const elapsedMs = (): number => performance.now()

/** Converts a value of `elapsedMs` to milliseconds since 1970, consistently within a process. */
export const sinceEpoch = (elapsed: number): number => performance.timeOrigin + elapsed

/** Start of the UTC month `offset` months from that of `date`. */
export const monthStart = (date: Date, offset = 0): Date =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1))

/** UTC month of `date`, as `2026-11`. */
export const monthName = (date: Date): string => date.toISOString().slice(0, 7)

/** UTC day of `date`, as `2026-11-21`. */
export const dayName = (date: Date): string => date.toISOString().slice(0, 10)

export const dayStart = (date: Date): Date => new Date(`${dayName(date)}T00:00:00Z`)

/** Start of the UTC week, Monday 00:00. */
export const weekStart = (date: Date): Date =>
  dayStart(daysBefore(date, (date.getUTCDay() + 6) % 7))

/** `date` minus `days` times 24 hours. */
export const daysBefore = (date: Date, days: number): Date =>
  new Date(date.getTime() - days * 86_400_000)

/** @throws AbortError when `signal` aborts */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, signal && { signal })

/** Sleeps without keeping the process alive; used as the timeout side of a race. */
export const unrefSleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })

/** Sleeps like `unrefSleep`, but ends early when `signal` aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {})
}

/** Resolves with the result of `work`, or with undefined if it fails or takes longer than `ms`. */
export const withTimeout = <T>(ms: number, work: Promise<T>): Promise<T | undefined> =>
  Promise.race([work.catch(() => undefined), unrefSleep(ms).then(() => undefined)])

/** Resolves with the result of `work`. @throws Error if it fails or takes longer than `ms` */
export function withDeadline<T>(
  ms: number,
  work: Promise<T>,
  createError = (): Error => new Error(`no result within ${ms / 1_000} s`),
): Promise<T> {
  // Not Promise.race with finally: their five more promises cost measurable CPU in each call.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(createError()), ms)
    const onResult = (result: T): void => {
      clearTimeout(timer)
      resolve(result)
    }
    work.then(onResult, (error: unknown) => {
      clearTimeout(timer)
      reject(error)
    })
  })
}
