import { setTimeout as delay } from 'node:timers/promises'

/** The only reader of the time. Whatever depends on it takes a `Clock`, which tests can set. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** Milliseconds from an arbitrary start, for durations. */
export const elapsedMs = (): number => performance.now()

/** What `elapsedMs` gave, in milliseconds since 1970: spans of one process agree on it. */
export const sinceEpoch = (elapsed: number): number => performance.timeOrigin + elapsed

/** The first instant of a UTC month, `offset` months from the one that holds `date`. */
export const monthStart = (date: Date, offset = 0): Date =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1))

/** The UTC month of `date` as `2026-11`. */
export const monthName = (date: Date): string => date.toISOString().slice(0, 7)

/** The UTC day: `2026-11-21`. */
export const dayName = (date: Date): string => date.toISOString().slice(0, 10)

export const dayStart = (date: Date): Date => new Date(`${dayName(date)}T00:00:00Z`)

/** The first instant of the UTC week, from Monday on. */
export const weekStart = (date: Date): Date =>
  dayStart(daysBefore(date, (date.getUTCDay() + 6) % 7))

/** So many times 24 hours earlier. */
export const daysBefore = (date: Date, days: number): Date =>
  new Date(date.getTime() - days * 86_400_000)

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/** Waits like `sleep`, but does not keep the process alive: for the other side of a race. */
export const patience = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })

/** Waits like `patience`, and no longer than until `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {})
}

/** What comes of work within some time; undefined when it fails, or takes longer. */
export const within = <T>(ms: number, work: Promise<T>): Promise<T | undefined> =>
  Promise.race([work.catch(() => undefined), patience(ms).then(() => undefined)])
