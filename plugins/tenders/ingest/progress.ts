import type { Database } from 'agenthub/plugin'
import { DETAIL_MAX, STACK_MAX, storable } from '../store/set-aside.ts'
import type { PublicationDay } from './calendar.ts'
import type { Listing } from './search.ts'

export interface Day extends PublicationDay {
  readonly announced: number | null
  readonly listing: Listing | null
  readonly problem: string | null
  /** Stack of an unexpected problem. */
  readonly stack: string | null
  /** Oddities of the day, such as `unreadable_hits:2`. */
  readonly flags: readonly string[]
  readonly triedAt: Date | null
  readonly settledAt: Date | null
  readonly rechecked: boolean
}

/** An announced notice that is missing. */
export interface MissingNotice {
  readonly day: string
  readonly number: string
  readonly state: 'pending' | 'refused'
  readonly problem: string | null
}

/** Progress of ingestion. Every method commits and is idempotent. */
export interface Progress {
  /** Schedules days for reading, including known ones. */
  want(days: readonly string[]): Promise<void>
  /** Lists the days in order. */
  days(): Promise<readonly Day[]>
  storeListing(day: string, listing: Listing | null): Promise<void>
  /** Stores a complete listing: the notices of the day are known. */
  announce(day: string, listing: Listing): Promise<void>
  missing(day?: string): Promise<readonly MissingNotice[]>
  settle(
    day: string,
    numbers: readonly string[],
    state: 'pending' | 'held' | 'refused',
    problem?: string,
  ): Promise<void>
  /** Sets the state of a day, or the problem that prevented it. */
  endDay(day: string, end: DayEnd): Promise<void>
  /** Marks the notices of a day that were set aside when it was published. */
  markSetAside(day: string): Promise<void>
  /** Reopens days with notices that another version of the code has set aside. */
  retrySetAside(version: string): Promise<void>
}

/** End of an attempt to read a day. */
export interface DayEnd {
  readonly state?: 'closed' | 'silent'
  readonly problem?: string
  readonly stack?: string
  readonly at: Date
}

const COLUMNS = `day, state, ojs, announced, listing, problem, stack, flags, tried_at AS "triedAt",
  settled_at AS "settledAt", rechecked`

/** Progress stored in the plugin's schema. */
export const progressIn = (database: Database): Progress => ({
  async want(days) {
    await database.query(
      'INSERT INTO ingest_day (day) SELECT unnest($1::date[]) ON CONFLICT (day) DO NOTHING',
      [days],
    )
  },
  async days() {
    const { rows } = await database.query<Day>(`SELECT ${COLUMNS} FROM ingest_day ORDER BY day`)
    return rows
  },
  async storeListing(day, listing) {
    await database.query(
      `UPDATE ingest_day SET listing = $2, rechecked = rechecked OR state = 'closed',
         state = 'listing' WHERE day = $1`,
      [day, listing && JSON.stringify(listing)],
    )
  },
  announce: (day, { numbers, announced, ojs, unreadable }) =>
    database.transaction(async (transaction) => {
      await transaction.query(
        `INSERT INTO ingest_notice (day, number) SELECT $1, unnest($2::text[])
         ON CONFLICT (day, number) DO NOTHING`,
        [day, numbers],
      )
      await transaction.query(
        `UPDATE ingest_day SET state = 'fetching', listing = NULL, announced = $2,
           ojs = coalesce($3, ojs), flags = $4 WHERE day = $1`,
        [day, announced, ojs, unreadable === undefined ? [] : [`unreadable_hits:${unreadable}`]],
      )
    }),
  async missing(day) {
    const { rows } = await database.query<MissingNotice>(
      `SELECT day, number, state, problem FROM ingest_notice
       WHERE state <> 'held' AND day = coalesce($1, day) ORDER BY day, number`,
      [day ?? null],
    )
    return rows
  },
  async settle(day, numbers, state, problem) {
    await database.query(
      `UPDATE ingest_notice SET state = $3, problem = $4 WHERE day = $1 AND number = ANY ($2)`,
      [day, numbers, state, storable(problem, DETAIL_MAX)],
    )
  },
  async endDay(day, { state, problem, stack, at }) {
    await database.query(
      `UPDATE ingest_day SET state = coalesce($2, state), problem = $3, tried_at = $4, stack = $5,
         settled_at = CASE WHEN $2 IS NULL THEN settled_at ELSE coalesce(settled_at, $4) END
       WHERE day = $1`,
      [day, state ?? null, storable(problem, DETAIL_MAX), at, storable(stack, STACK_MAX)],
    )
  },
  ...setAsideIn(database),
})

/** Notices that were set aside after they had arrived. */
const setAsideIn = (database: Database): Pick<Progress, 'markSetAside' | 'retrySetAside'> => ({
  async markSetAside(day) {
    await database.query(
      `UPDATE ingest_notice n SET state = 'refused',
         problem = left(coalesce(r.reason || ': ' || r.detail, 'not published'), 500)
       FROM arrival a LEFT JOIN refusal r ON r.number = a.number AND r.stage = 'publish'
       WHERE n.day = $1 AND a.number = n.number AND a.failed_version IS NOT NULL`,
      [day],
    )
  },
  async retrySetAside(version) {
    await database.query(
      `WITH again AS (
         UPDATE ingest_notice n SET state = 'pending' WHERE n.state = 'refused' AND EXISTS (
           SELECT FROM refusal r WHERE r.number = n.number AND r.code_version <> $1
           UNION ALL SELECT FROM arrival a WHERE a.number = n.number AND a.failed_version <> $1)
         RETURNING n.day)
       UPDATE ingest_day SET state = 'fetching' WHERE day IN (SELECT day FROM again)`,
      [version],
    )
  },
})
