import type { Database } from 'agenthub/plugin'
import { RECEIVED } from './snapshots.ts'

/** Counts of what was set aside, for metrics. */
export async function gauges(database: Database): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.query<{ stage: string; count: number }>(
    'SELECT stage, count(*)::integer AS count FROM refusal GROUP BY stage',
  )
  const days = await database.query<{ failed: number }>(
    `SELECT count(*)::integer AS failed FROM ingest_day WHERE problem IS NOT NULL`,
  )
  const of = (stage: string): number => rows.find((row) => row.stage === stage)?.count ?? 0
  return {
    set_aside_read: of('read'),
    set_aside_store: of('store'),
    set_aside_publish: of('publish'),
    days_with_problem: days.rows[0]?.failed ?? 0,
  }
}

/** Progress of ingestion for operators: days read, missing, and unreadable documents. */
export async function overview(database: Database) {
  return database.reading(async (transaction) => {
    const snapshots = await transaction.query(
      `SELECT day, ojs, source, announced, opened_at, closed_at, ${RECEIVED}
       FROM snapshot s ORDER BY day DESC, id DESC LIMIT 10`,
    )
    const gaps = await transaction.query<{ day: string }>(
      `SELECT day FROM snapshot g WHERE source = 'live' AND closed_at IS NULL AND EXISTS
         (SELECT FROM snapshot s WHERE s.source = 'live' AND s.closed_at IS NOT NULL
            AND s.day > g.day)
       ORDER BY day DESC LIMIT 100`,
    )
    const counts = await transaction.query(
      `SELECT (SELECT count(*) FROM notice)::integer AS notices,
         (SELECT count(*) FROM arrival)::integer AS pending,
         (SELECT count(*) FROM arrival WHERE failed_version IS NOT NULL)::integer AS not_published,
         (SELECT count(*) FROM tender)::integer AS tenders,
         (SELECT count(*) FROM change)::integer AS changes,
         (SELECT count(*) FROM wanted)::integer AS wanted,
         (SELECT count(*) FROM refusal)::integer AS refused`,
    )
    const refused = await transaction.query(
      `SELECT number, stage, reason, detail, source, day, file, stack, code_version, refused_at
       FROM refusal
       ORDER BY refused_at DESC LIMIT 20`,
    )
    return {
      snapshots: snapshots.rows,
      gaps: gaps.rows.map(({ day }) => day),
      ...counts.rows[0],
      newest_refusals: refused.rows,
    }
  })
}
