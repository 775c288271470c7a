import { randomUUID } from 'node:crypto'
import type { Clock, Database } from 'agenthub/plugin'
import { IngestFailure } from './failure.ts'

/** Claim to send requests to the journal, held by one process at a time. */
export interface Claim {
  /** Renews the claim. @throws IngestFailure `displaced` if another worker has it */
  readonly renewClaim: () => Promise<void>
  /** Pauses all workers until then, as the journal requested. */
  keepQuiet(until: Date): Promise<void>
  release(): Promise<void>
}

/** Claims the journal. @returns the time until which another worker has it, or all pause */
export async function claim(
  database: Database,
  clock: Clock,
  claimMs: number,
): Promise<Claim | { readonly until: Date }> {
  const holder = randomUUID()
  const until = () => new Date(clock.now().getTime() + claimMs)
  const claimed = await database.query(
    `UPDATE ingest_worker SET holder = $1, held_until = $2
     WHERE held_until < $3 AND quiet_until < $3`,
    [holder, until(), clock.now()],
  )
  if (claimed.rowCount === 0) return { until: await busyUntil(database) }
  let renewedAt = clock.now().getTime()
  return {
    async renewClaim() {
      const now = clock.now().getTime()
      if (now - renewedAt < claimMs / 4) return
      const { rowCount } = await database.query(
        'UPDATE ingest_worker SET held_until = $2 WHERE holder = $1',
        [holder, until()],
      )
      if (rowCount === 0) throw new IngestFailure('displaced', 'another worker has taken over')
      renewedAt = now
    },
    async keepQuiet(end) {
      await database.query('UPDATE ingest_worker SET quiet_until = $1', [end])
    },
    async release() {
      await database.query(
        `UPDATE ingest_worker SET holder = NULL, held_until = '-infinity' WHERE holder = $1`,
        [holder],
      )
    },
  }
}

/** Time until which another worker has the claim, or all pause; in the past if neither. */
export async function busyUntil(database: Database): Promise<Date> {
  const { rows } = await database.query<{ until: Date }>(
    `SELECT greatest(held_until, quiet_until, '1970-01-01') AS until FROM ingest_worker`,
  )
  return rows[0]!.until
}
