import type { Amount, Notice } from '../model.ts'
import { addDecimals } from '../parse/decimal.ts'

/** Value of a tender, with the place where it was published. */
export type Estimate = Amount & {
  readonly source: 'procedure' | 'lots_sum' | 'framework_max'
  /** Too small to be an estimate. */
  readonly symbolic: boolean
}

interface RunningLot {
  readonly state: string
  readonly estimated_value: Amount | null
}

/** Value of the procedure; otherwise the sum of its running lots; otherwise a maximum. */
export function estimateOf(notice: Notice, lots: readonly RunningLot[]): Estimate | null {
  if (notice.estimated) {
    return { ...notice.estimated, source: 'procedure', symbolic: isSymbolic(notice.estimated) }
  }
  const running = lots.filter(({ state }) => state !== 'cancelled')
  const values = running.map(({ estimated_value: value }) => value)
  const currency = values[0]?.currency
  const amounts = values.flatMap((value) =>
    value?.currency === currency ? (value?.amount ?? []) : [],
  )
  if (currency && amounts.length === running.length) {
    const sum = { amount: addDecimals(amounts), currency }
    return { ...sum, source: 'lots_sum', symbolic: isSymbolic(sum) }
  }
  const most = notice.frameworkMax
  return most && { ...most, source: 'framework_max', symbolic: isSymbolic(most) }
}

/** Values up to this amount are no estimates, such as EUR 1 where a form demands a number. */
const SYMBOLIC_MAX = 100
export const isSymbolic = ({ amount }: Amount): boolean =>
  amount !== null && Number(amount) <= SYMBOLIC_MAX

const FAR_YEARS = 2
/** Flags deadlines that are no dates, and those far in the future without a dynamic system. */
export function deadlineFlags({ lots, publishedOn, type }: Notice): string[] {
  const far = Number(publishedOn.slice(0, 4)) + FAR_YEARS
  const isFar = lots.some(
    ({ dps, deadlines }) =>
      (dps === null || dps === 'none') &&
      type !== 'qu-sy' &&
      deadlines.some(({ local }) => Number(local.slice(0, 4)) > far),
  )
  const isUnreadable = lots.some(({ unreadableDeadlines = [] }) => unreadableDeadlines.length > 0)
  return [
    ...(isUnreadable ? ['deadline_unreadable'] : []),
    ...(isFar ? ['deadline_far_future'] : []),
  ]
}
