import type { Pool, PoolClient } from 'pg'
import { sha256 } from '../../../crypto/sha256.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { isJsonObject } from '../../../json.ts'
import type { Reason } from '../reasons.ts'
import {
  type ListingCandidate,
  listingId,
  lockListings,
  offerJson,
  type Rank,
  upsertListings,
} from '../store.ts'
import { storable } from './clean-text.ts'
import type { NormalizationResult } from './normalize.ts'

/** A row of a source after normalization. */
export interface NormalizedRow {
  /** Id of the resource within the source. */
  readonly key: string
  readonly raw: unknown
  readonly result: NormalizationResult
}

export interface ImportCounts {
  readonly rows: number
  readonly refused: number
  /** New rows, and rows whose content has changed. */
  readonly changed: number
}

interface SourceRow {
  readonly key: string
  readonly listing: string | null
  readonly reason: Reason | null
  readonly claim: unknown
  readonly digest: string
}

const KEY_MAX = 300
const CLAIM_BYTES = 4_096

/**
 * Imports a page of a source in one transaction: its listings, each row with its reason, and the
 * start of the next page. Of an unchanged row only the date is updated.
 * @param place start of the next page, in the caller's format
 */
export function importPage(
  pool: Pool,
  source: string,
  rank: Rank,
  rows: readonly NormalizedRow[],
  place: unknown,
): Promise<ImportCounts> {
  return inTransaction(pool, async (client) => {
    const pass = await lockPass(client, source)
    const imported = await importSafely(client, rows, (some) =>
      importRows(client, source, rank, some, pass),
    )
    await client.query(
      `UPDATE hub.discovery SET place = $2, pages = pages + 1, rows = rows + $3,
         refused = refused + $4, failures = 0, error = NULL WHERE source = $1`,
      [source, JSON.stringify(place), imported.rows, imported.refused],
    )
    return imported
  })
}

/** Locks the source, so that only one process imports it, and returns its pass. */
async function lockPass(client: PoolClient, source: string): Promise<number> {
  const { rows } = await client.query<{ pass: number }>(
    'SELECT pass FROM hub.discovery WHERE source = $1 FOR UPDATE',
    [source],
  )
  if (!rows[0]) throw new Error(`unknown source: ${source}`)
  return rows[0].pass
}

/**
 * Imports rows, in halves if the database refuses any, so that in the end only the row that it
 * cannot store is missing, and is recorded as refused.
 */
async function importSafely(
  client: PoolClient,
  rows: readonly NormalizedRow[],
  write: (rows: readonly NormalizedRow[]) => Promise<ImportCounts>,
): Promise<ImportCounts> {
  try {
    await client.query('SAVEPOINT import')
    const counts = await write(rows)
    await client.query('RELEASE import')
    return counts
  } catch (error) {
    const [only, ...others] = rows
    if (!isUnstorable(error) || !only) throw error
    await client.query('ROLLBACK TO import')
    if (others.length === 0) {
      const key = `refused #${hexHash(only.key)}`
      return write([{ key, raw: null, result: { reason: 'unreadable' } }])
    }
    // The first half locks words, so that the listings of the second one are locked before it.
    await lockListings(client, candidatesOf(rows).map(idOf))
    const half = rows.length >> 1
    const [first, second] = [rows.slice(0, half), rows.slice(half)]
    return sum(await importSafely(client, first, write), await importSafely(client, second, write))
  }
}

/** Returns true if the database refuses data: SQLSTATE class 22, 23 or 54. */
const isUnstorable = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['22', '23', '54'].includes(String(error.code).slice(0, 2))

const sum = (a: ImportCounts, b: ImportCounts): ImportCounts => ({
  rows: a.rows + b.rows,
  refused: a.refused + b.refused,
  changed: a.changed + b.changed,
})

const candidatesOf = (rows: readonly NormalizedRow[]): ListingCandidate[] =>
  rows.flatMap(({ result }) => ('candidate' in result ? result.candidate : []))

/** Imports rows of a source in the caller's transaction. */
export async function importRows(
  client: PoolClient,
  source: string,
  rank: Rank,
  rows: readonly NormalizedRow[],
  pass: number,
): Promise<ImportCounts> {
  const all = [...new Map(rows.map(sourceRow).map((row) => [row.key, row])).values()]
  const candidateById = new Map(candidatesOf(rows).map((candidate) => [idOf(candidate), candidate]))
  const { rows: known } = await client.query<{ key: string; digest: string }>(
    `SELECT key, encode(digest, 'hex') AS digest FROM hub.listing_source
     WHERE source = $1 AND key = ANY ($2) AND NOT gone`,
    [source, all.map(({ key }) => key)],
  )
  const digests = new Map(known.map(({ key, digest }) => [key, digest]))
  const isNew = ({ key, digest }: SourceRow): boolean => digests.get(key) !== digest
  const changed = all.filter(isNew)
  const changedIds = new Set(changed.flatMap(({ listing }) => listing ?? []))
  const upserts = [...candidateById].flatMap(([id, each]) => (changedIds.has(id) ? [each] : []))
  await upsertListings(client, rank, upserts)
  await writeRows(client, source, changed, pass)
  await client.query(
    `UPDATE hub.listing_source SET pass = $2, seen_at = now()
     WHERE source = $1 AND key = ANY ($3)`,
    [source, pass, all.filter((row) => !isNew(row)).map(({ key }) => key)],
  )
  const refused = all.filter(({ reason }) => reason !== null).length
  return { rows: rows.length, refused, changed: changed.length }
}

function sourceRow({ key: fullKey, raw, result }: NormalizedRow): SourceRow {
  const isLong = fullKey.length > KEY_MAX
  const key = isLong ? `${fullKey.slice(0, KEY_MAX - 65)} ${hexHash(fullKey)}` : fullKey
  if (!('candidate' in result)) {
    const { reason } = result
    const claim = { row: storable(raw, CLAIM_BYTES) ?? truncate(raw) }
    return { key, listing: null, reason, claim, digest: hexHash(JSON.stringify([reason, claim])) }
  }
  const { candidate } = result
  const { url, method } = candidate
  const offers = candidate.offers.map(offerJson)
  const digest = hexHash(JSON.stringify({ ...candidate, offers }))
  return { key, listing: idOf(candidate), reason: null, claim: { url, method, offers }, digest }
}

const idOf = ({ method, url }: ListingCandidate): string => listingId(method, url)

const hexHash = (text: string): string => sha256(text).toString('hex')

/** Returns the beginning of a value that is too large to store. */
function truncate(raw: unknown): string {
  const text = isJsonObject(raw) || Array.isArray(raw) ? jsonText(raw) : String(raw)
  return text
    .slice(0, CLAIM_BYTES / 4)
    .replaceAll('\\', '')
    .toWellFormed()
    .replaceAll('\0', '')
}

function jsonText(raw: unknown): string {
  try {
    return JSON.stringify(raw)
  } catch {
    return 'nested too deeply'
  }
}

async function writeRows(
  client: PoolClient,
  source: string,
  rows: readonly SourceRow[],
  pass: number,
): Promise<void> {
  if (rows.length === 0) return
  await client.query(
    `INSERT INTO hub.listing_source AS s (source, key, listing, reason, claim, digest, pass)
     SELECT $1, key, listing, reason, claim, decode(digest, 'hex'), $3
     FROM jsonb_to_recordset($2)
       r (key text, listing text, reason text, claim jsonb, digest text)
     ON CONFLICT (source, key) DO UPDATE SET listing = excluded.listing, reason = excluded.reason,
       claim = excluded.claim, digest = excluded.digest, pass = excluded.pass, gone = false,
       seen_at = now()`,
    [source, JSON.stringify(rows), pass],
  )
}
