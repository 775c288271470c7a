import type { Pool } from 'pg'

/** Progress of reading a source. */
export interface DiscoverySource {
  readonly source: string
  readonly place: Readonly<Record<string, unknown>>
  readonly pass: number
  readonly pages: number
  readonly rows: number
  readonly refused: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly nextAt: Date
  readonly failures: number
  readonly error: string | null
}

const COLUMNS = `source, place, pass, pages, rows, refused, started_at AS "startedAt",
  finished_at AS "finishedAt", next_at AS "nextAt", failures, error`

/** Returns a source, creating it if it is new. */
export async function openSource(pool: Pool, source: string): Promise<DiscoverySource> {
  await pool.query('INSERT INTO hub.discovery (source) VALUES ($1) ON CONFLICT DO NOTHING', [
    source,
  ])
  const { rows } = await pool.query<DiscoverySource>(
    `SELECT ${COLUMNS} FROM hub.discovery WHERE source = $1`,
    [source],
  )
  return rows[0]!
}

export async function listSources(pool: Pool): Promise<DiscoverySource[]> {
  const { rows } = await pool.query<DiscoverySource>(
    `SELECT ${COLUMNS} FROM hub.discovery ORDER BY source`,
  )
  return rows
}

/** Ends a pass over a source. After a complete (`whole`) pass, missing rows are marked as gone. */
export async function finishPass(
  pool: Pool,
  { source, pass }: Pick<DiscoverySource, 'source' | 'pass'>,
  { whole, againSeconds }: { readonly whole: boolean; readonly againSeconds: number },
): Promise<void> {
  await pool.query(
    `WITH ended AS (
       UPDATE hub.discovery SET place = '{}', pass = pass + 1, pages = 0, rows = 0, refused = 0,
         failures = 0, error = NULL, started_at = now(),
         finished_at = CASE WHEN $3 THEN now() ELSE finished_at END,
         next_at = now() + make_interval(secs => $4)
       WHERE source = $1 AND pass = $2 RETURNING source)
     UPDATE hub.listing_source s SET gone = true FROM ended
     WHERE $3 AND s.source = ended.source AND s.pass < $2 AND NOT s.gone`,
    [source, pass, whole, againSeconds],
  )
}

/** Records why a pass stopped; it continues from the same place with exponential backoff. */
export async function stopPass(
  pool: Pool,
  source: string,
  error: string,
  afterSeconds = 0,
): Promise<void> {
  await pool.query(
    `UPDATE hub.discovery SET failures = failures + 1, error = $2,
       next_at = now() + make_interval(secs => greatest($3::float8,
         least(86400, 60 * 2 ^ least(failures, 12)))) WHERE source = $1`,
    [source, error.slice(0, 500), afterSeconds],
  )
}
