import type { FaultName } from './fault-schedule.ts'
import type { ClientLog } from './request-log.ts'

/** Kinds of calls that take 30 ms of work and need no chain and no seller. */
const KINDS: ReadonlySet<string> = new Set(['credits', 'free', 'free units', 'metered', 'sub-key'])
const START: FaultName = 'kill -9 of the hub'
/** Mean duration of such a call, and time until a killed hub works again, on an idle machine. */
const IDLE = { callMs: 250, startMs: 10_000 }
/** Maximum: a hub that has become slower itself must not pass for a slow machine. */
export const SLOWNESS_MAX = 4
/** Time after a repair until calls are as fast as without the fault. */
const CALM_AFTER_MS = 5_000

/**
 * Slowness of this machine as a multiple of an idle one, by the calls that no fault has touched and
 * by the starts of the hub; from 1 to `SLOWNESS_MAX`. All targets of time are multiplied by it:
 * other work on the machine is no fault of the hub.
 */
export function slownessOf({ requests, faults }: ClientLog): number {
  const isCalm = (from: number, to: number): boolean =>
    faults.every(({ begunAt, backAt }) => to < begunAt || from > backAt + CALM_AFTER_MS)
  const calls = requests
    .filter(({ kind }) => KINDS.has(kind))
    .flatMap(({ attempts }) => attempts)
    .flatMap(({ status, sentAt, endedAt }) =>
      status === 200 && endedAt !== undefined && isCalm(sentAt, endedAt) ? endedAt - sentAt : [],
    )
  const starts = faults.flatMap(({ name, begunAt, backAt }) =>
    name === START ? backAt - begunAt : [],
  )
  const slowness = Math.max(1, mean(calls) / IDLE.callMs, mean(starts) / IDLE.startMs)
  return Math.min(slowness, SLOWNESS_MAX)
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, each) => sum + each, 0) / values.length
