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

/** Returns true if a source was ever opened. */
export async function isOpened(pool: Pool, source: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM hub.discovery WHERE source = $1', [source])
  return rowCount === 1
}

/** Returns the due sources whose names start with `prefix`, those due for longest first. */
export async function dueSources(
  pool: Pool,
  prefix: string,
  limit: number,
): Promise<DiscoverySource[]> {
  const { rows } = await pool.query<DiscoverySource>(
    `SELECT ${COLUMNS} FROM hub.discovery WHERE starts_with(source, $1) AND next_at <= now()
     ORDER BY next_at LIMIT $2`,
    [prefix, limit],
  )
  return rows
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

/** Failures in a row at one place, after which a new pass begins. */
const TRIES = 5

/**
 * Records why a pass stopped; it continues from the same place with exponential backoff. After
 * {@link TRIES} failures at one place, a new pass begins; nothing is marked as gone.
 * @param restarts false for a source without passes
 */
export async function stopPass(
  pool: Pool,
  source: string,
  error: string,
  { afterSeconds = 0, restarts = true }: { afterSeconds?: number; restarts?: boolean } = {},
): Promise<void> {
  await pool.query(
    `UPDATE hub.discovery d SET failures = d.failures + 1, error = $2,
       next_at = now() + make_interval(secs => greatest($3::float8,
         least(86400, 60 * 2 ^ least(d.failures, 12)))),
       place = CASE WHEN again THEN '{}' ELSE place END, pass = pass + again::integer,
       pages = CASE WHEN again THEN 0 ELSE pages END, rows = CASE WHEN again THEN 0 ELSE rows END,
       refused = CASE WHEN again THEN 0 ELSE refused END
     FROM (SELECT $4 AND failures % $5 = $5 - 1 AS again FROM hub.discovery WHERE source = $1) stop
     WHERE d.source = $1`,
    [source, error.slice(0, 500), afterSeconds, restarts, TRIES],
  )
}
