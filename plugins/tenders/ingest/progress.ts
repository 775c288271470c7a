import type { Database } from 'agenthub/plugin'
import type { FoundDay } from './calendar.ts'
import type { Listing } from './search.ts'

export interface Day extends FoundDay {
  readonly announced: number | null
  readonly listing: Listing | null
  readonly problem: string | null
  readonly triedAt: Date | null
  readonly settledAt: Date | null
  readonly rechecked: boolean
}

/** An announced notice that is missing. */
export interface Lacking {
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
  keepListing(day: string, listing: Listing | null): Promise<void>
  /** Stores a complete listing: the notices of the day are known. */
  announce(day: string, listing: Listing): Promise<void>
  lacking(day?: string): Promise<readonly Lacking[]>
  settle(
    day: string,
    numbers: readonly string[],
    state: 'pending' | 'held' | 'refused',
    problem?: string,
  ): Promise<void>
  /** Sets the state of a day, or the problem that prevented it. */
  endDay(
    day: string,
    end: { readonly state?: 'closed' | 'silent'; readonly problem?: string; readonly at: Date },
  ): Promise<void>
}

const COLUMNS = `day, state, ojs, announced, listing, problem, tried_at AS "triedAt",
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
  async keepListing(day, listing) {
    await database.query(
      `UPDATE ingest_day SET listing = $2, rechecked = rechecked OR state = 'closed',
         state = 'listing' WHERE day = $1`,
      [day, listing && JSON.stringify(listing)],
    )
  },
  announce: (day, { numbers, announced, ojs }) =>
    database.transaction(async (transaction) => {
      await transaction.query(
        `INSERT INTO ingest_notice (day, number) SELECT $1, unnest($2::text[])
         ON CONFLICT (day, number) DO NOTHING`,
        [day, numbers],
      )
      await transaction.query(
        `UPDATE ingest_day SET state = 'fetching', listing = NULL, announced = $2,
           ojs = coalesce($3, ojs) WHERE day = $1`,
        [day, announced, ojs],
      )
    }),
  async lacking(day) {
    const { rows } = await database.query<Lacking>(
      `SELECT day, number, state, problem FROM ingest_notice
       WHERE state <> 'held' AND day = coalesce($1, day) ORDER BY day, number`,
      [day ?? null],
    )
    return rows
  },
  async settle(day, numbers, state, problem) {
    await database.query(
      `UPDATE ingest_notice SET state = $3, problem = $4 WHERE day = $1 AND number = ANY ($2)`,
      [day, numbers, state, problem?.slice(0, 500) ?? null],
    )
  },
  async endDay(day, { state, problem, at }) {
    await database.query(
      `UPDATE ingest_day SET state = coalesce($2, state), problem = $3, tried_at = $4,
         settled_at = CASE WHEN $2 IS NULL THEN settled_at ELSE coalesce(settled_at, $4) END
       WHERE day = $1`,
      [day, state ?? null, problem?.slice(0, 500) ?? null, at],
    )
  },
})
