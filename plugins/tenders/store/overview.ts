import type { Database } from 'agenthub/plugin'

/** Progress of ingestion for operators: days read, missing, and unreadable documents. */
export async function overview(database: Database) {
  return database.reading(async (transaction) => {
    const snapshots = await transaction.query(
      `SELECT day, ojs, source, announced, opened_at, closed_at,
         ((SELECT count(*) FROM arrival WHERE snapshot = s.id)
           + (SELECT count(*) FROM notice WHERE snapshot = s.id))::integer AS received
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
         (SELECT count(*) FROM tender)::integer AS tenders,
         (SELECT count(*) FROM change)::integer AS changes,
         (SELECT count(*) FROM wanted)::integer AS wanted,
         (SELECT count(*) FROM refusal)::integer AS refused`,
    )
    const refused = await transaction.query(
      `SELECT number, reason, detail, source, refused_at FROM refusal
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
