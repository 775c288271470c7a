import { randomUUID } from 'node:crypto'
import type { Clock, Database } from 'agenthub/plugin'
import { IngestFailure } from './failure.ts'

/** The right to ask the journal, which one process has at a time. */
export interface Claim {
  /** Keeps it. @throws IngestFailure `displaced` when another worker has it */
  readonly stay: () => Promise<void>
  /** All workers keep quiet until then: the journal asked for it. */
  keepQuiet(until: Date): Promise<void>
  release(): Promise<void>
}

/** @returns when the claim is taken, or has to be quiet: until when */
export async function claim(
  database: Database,
  clock: Clock,
  claimMs: number,
): Promise<Claim | { readonly until: Date }> {
  const holder = randomUUID()
  const until = () => new Date(clock.now().getTime() + claimMs)
  const taken = await database.query(
    `UPDATE ingest_worker SET holder = $1, held_until = $2
     WHERE held_until < $3 AND quiet_until < $3`,
    [holder, until(), clock.now()],
  )
  if (taken.rowCount === 0) return { until: await busyUntil(database) }
  let kept = clock.now().getTime()
  return {
    async stay() {
      const now = clock.now().getTime()
      if (now - kept < claimMs / 4) return
      const { rowCount } = await database.query(
        'UPDATE ingest_worker SET held_until = $2 WHERE holder = $1',
        [holder, until()],
      )
      if (rowCount === 0) throw new IngestFailure('displaced', 'another worker has taken over')
      kept = now
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

/** When the journal may be asked by somebody else; in the past when it may be now. */
export async function busyUntil(database: Database): Promise<Date> {
  const { rows } = await database.query<{ until: Date }>(
    `SELECT greatest(held_until, quiet_until, '1970-01-01') AS until FROM ingest_worker`,
  )
  return rows[0]!.until
}
