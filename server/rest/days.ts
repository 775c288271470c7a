import { z } from 'zod'
import { dayStart, daysBefore, monthStart } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'

/** Optional range of UTC days in a query; both ends are included. */
export const dayFields = {
  from: z.iso.date().optional().meta({ description: 'First UTC day.' }),
  to: z.iso.date().optional().meta({ description: 'Last UTC day.' }),
}

interface DayQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

const DAY_MS = 86_400_000
/** Last day with a four-digit year: what follows it has no name. */
const LAST_MS = Date.parse('9999-12-31T00:00:00Z')

/** Converts UTC days to instants: `from` is inclusive, `to` is the start of the next day. */
export const dayBounds = ({
  from,
  to,
}: DayQuery): { readonly from: Date | undefined; readonly to: Date | undefined } => ({
  from: from === undefined ? undefined : new Date(`${from}T00:00:00Z`),
  to:
    to === undefined
      ? undefined
      : new Date(Math.min(LAST_MS, Date.parse(`${to}T00:00:00Z`) + DAY_MS)),
})

/** Query fields of figures by day; see `dayRange` for the defaults. */
export const dayRangeFields = {
  ...dayFields,
  to: dayFields.to.meta({ description: 'Last UTC day. Default: today.' }),
}
export const dayRangeQuery = z.strictObject(dayRangeFields)

const DAYS_MAX = 366

/** Days of a range, by default the month so far. @throws Fault if reversed or above 366 days */
export function dayRange({ from, to }: DayQuery, now: Date) {
  const until = dayStart(
    to === undefined ? now : new Date(Math.min(LAST_MS - DAY_MS, Date.parse(to))),
  )
  const since = from === undefined ? monthStart(until) : new Date(from)
  if (since <= until && since >= daysBefore(until, DAYS_MAX)) return { since, until }
  throw new Fault(
    'validation_failed',
    `"from" must not be after "to", and at most ${DAYS_MAX} days before it.`,
  )
}
