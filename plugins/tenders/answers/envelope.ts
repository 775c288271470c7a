import type { Transaction } from 'agenthub/plugin'
import type { Source } from '../store/types.ts'
import type { Page } from './query.ts'

const ATTRIBUTION = '© European Union, https://ted.europa.eu; reused under Decision 2011/833/EU'

/** What answers are as of: the newest complete snapshot. */
export interface Standing {
  readonly closedAt: Date
  readonly day: string
  readonly ojs: string | null
  readonly source: Source
  readonly stale: boolean
}

interface Row {
  readonly closed_at: Date
  readonly day: string
  readonly ojs: string | null
  readonly source: Source
  readonly gaps: boolean
}

/**
 * The newest complete snapshot; undefined before there is one. Live data is stale when a weekday
 * before today is missing after it, or a day before it was begun and is not complete; a folder and
 * samples are what they are.
 */
export async function standing(transaction: Transaction, now: Date): Promise<Standing | undefined> {
  const { rows } = await transaction.query<Row>(
    `SELECT s.closed_at, s.day, s.ojs, s.source, EXISTS (SELECT FROM snapshot g
       WHERE g.source = 'live' AND g.closed_at IS NULL AND g.day < s.day) AS gaps
     FROM snapshot s WHERE s.closed_at IS NOT NULL AND s.day <= $1
     ORDER BY (s.source <> 'sample') DESC, s.day DESC, s.id DESC LIMIT 1`,
    [now.toISOString().slice(0, 10)],
  )
  const [row] = rows
  if (!row) return undefined
  const { closed_at: closedAt, day, ojs, source, gaps } = row
  return { closedAt, day, ojs, source, stale: source === 'live' && (gaps || isLate(day, now)) }
}

const DAY = 86_400_000
const SATURDAY = 6

/** Whether a weekday lies between a day and today. Days without an issue have snapshots too. */
function isLate(day: string, now: Date): boolean {
  const today = Math.floor(now.getTime() / DAY)
  const next = Date.parse(`${day}T00:00:00Z`) / DAY + 1
  if (today - next > SATURDAY) return true
  return Array.from({ length: Math.max(0, today - next) }, (_, more) => next + more).some(
    (each) => ![0, SATURDAY].includes(new Date(each * DAY).getUTCDay()),
  )
}

/** What every answer has beside its data. */
export const around = ({ closedAt, source, stale }: Standing) => ({
  snapshot_as_of: closedAt.toISOString(),
  stale,
  attribution: ATTRIBUTION,
  ...(source === 'sample' && { sample: true, note: SAMPLE_NOTE }),
})

const SAMPLE_NOTE = 'Fictional notices for trying things out; none of them was ever published.'

export const pagination = ({ limit, offset }: Page, total: number, returned: number) => ({
  limit,
  offset,
  total,
  returned,
  next_offset: offset + returned < total && returned > 0 ? offset + returned : null,
})
