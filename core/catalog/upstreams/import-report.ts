import type { Pool, PoolClient } from 'pg'
import { cleanText } from '../../text.ts'
import type { ImportedApi } from './openapi/read.ts'

/** Parts of an imported document that were not taken over. */
export interface ImportReport
  extends Pick<ImportedApi, 'gaps' | 'wants' | 'secretChoices' | 'guarded'> {
  readonly at: Date
}

/** A report of an earlier version lacks `secretChoices`. */
type StoredReport = Omit<ImportReport, 'at' | 'secretChoices'> &
  Partial<Pick<ImportReport, 'secretChoices'>>

const AT_MAX = 300
const WHAT_MAX = 500

/** Stores what the import of a draft left out or simplified. */
export async function storeImportReport(
  client: PoolClient,
  slug: string,
  {
    gaps,
    wants,
    secretChoices,
    guarded,
  }: Pick<ImportedApi, 'gaps' | 'wants' | 'secretChoices' | 'guarded'>,
): Promise<void> {
  const report = {
    gaps: gaps.map(({ at, what }) => ({
      at: cleanText(at, AT_MAX),
      what: cleanText(what, WHAT_MAX),
    })),
    wants: wants.map((want) => ({
      ...want,
      name: cleanText(want.name, AT_MAX),
      ...(want.tokenUrl !== undefined && { tokenUrl: cleanText(want.tokenUrl, WHAT_MAX) }),
      ...(want.scope !== undefined && { scope: cleanText(want.scope, WHAT_MAX) }),
    })),
    secretChoices: secretChoices.map((labels) => labels.map((each) => cleanText(each, AT_MAX))),
    guarded,
  }
  await client.query('INSERT INTO hub.upstream_import (service, report) VALUES ($1, $2)', [
    slug,
    JSON.stringify(report),
  ])
}

/** @returns undefined if the service was not imported from a document */
export async function readImportReport(
  pool: Pool,
  slug: string,
): Promise<ImportReport | undefined> {
  const { rows } = await pool.query<{ at: Date; report: StoredReport }>(
    'SELECT at, report FROM hub.upstream_import WHERE service = $1',
    [slug],
  )
  return rows[0] && { at: rows[0].at, secretChoices: [], ...rows[0].report }
}
