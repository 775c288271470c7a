import type { Pool, PoolClient } from 'pg'
import type { Understood } from './openapi/read.ts'

/** What was not taken over of a document that an API was imported from. */
export interface ImportReport extends Pick<Understood, 'gaps' | 'wants' | 'guarded'> {
  readonly at: Date
}

const AT_MAX = 300
const WHAT_MAX = 500

/** The database takes no text with U+0000, and no half of a pair. */
const kept = (text: string, max: number): string =>
  text.replaceAll('\0', '').slice(0, max).toWellFormed()

/** Keeps with a draft what its import left out or took loosely. */
export async function keepReport(
  client: PoolClient,
  slug: string,
  { gaps, wants, guarded }: Pick<Understood, 'gaps' | 'wants' | 'guarded'>,
): Promise<void> {
  const report = {
    gaps: gaps.map(({ at, what }) => ({ at: kept(at, AT_MAX), what: kept(what, WHAT_MAX) })),
    wants: wants.map((want) => ({
      ...want,
      name: kept(want.name, AT_MAX),
      prefix: kept(want.prefix, AT_MAX),
    })),
    guarded,
  }
  await client.query('INSERT INTO hub.upstream_import (service, report) VALUES ($1, $2)', [
    slug,
    JSON.stringify(report),
  ])
}

/** Undefined: it was not imported. */
export async function readReport(pool: Pool, slug: string): Promise<ImportReport | undefined> {
  const { rows } = await pool.query<{ at: Date; report: Omit<ImportReport, 'at'> }>(
    'SELECT at, report FROM hub.upstream_import WHERE service = $1',
    [slug],
  )
  return rows[0] && { at: rows[0].at, ...rows[0].report }
}
