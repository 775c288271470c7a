import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import { isJsonObject } from '../../../json.ts'
import type { Reason } from '../reasons.ts'
import { type Candidate, listingId, offerRow, type Rank, upsertListings } from '../store.ts'
import { storable } from './clean-text.ts'
import type { Judged } from './normalize.ts'

/** A row of a source after it was judged. */
export interface JudgedRow {
  /** What the source calls the resource. */
  readonly key: string
  readonly raw: unknown
  readonly judged: Judged
}

export interface Imported {
  readonly rows: number
  readonly refused: number
  /** Rows that were new, or said something else than before. */
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
 * Writes a page of a source: its listings, each row with its reason, and where the next page
 * begins, all in one transaction. What a row says a second time costs nothing but its date.
 * @param place where to go on; the caller's own
 */
export function importPage(
  pool: Pool,
  source: string,
  rank: Rank,
  rows: readonly JudgedRow[],
  place: unknown,
): Promise<Imported> {
  return inTransaction(pool, async (client) => {
    const pass = await passOf(client, source)
    const imported = await importRows(client, source, rank, rows, pass)
    await client.query(
      `UPDATE hub.discovery SET place = $2, pages = pages + 1, rows = rows + $3,
         refused = refused + $4, failures = 0, error = NULL WHERE source = $1`,
      [source, JSON.stringify(place), imported.rows, imported.refused],
    )
    return imported
  })
}

/** Also keeps two processes from reading the same source at once. */
async function passOf(client: PoolClient, source: string): Promise<number> {
  const { rows } = await client.query<{ pass: number }>(
    'SELECT pass FROM hub.discovery WHERE source = $1 FOR UPDATE',
    [source],
  )
  if (!rows[0]) throw new Error(`no such source: ${source}`)
  return rows[0].pass
}

/** Writes what a source says, in the caller's transaction. */
export async function importRows(
  client: PoolClient,
  source: string,
  rank: Rank,
  rows: readonly JudgedRow[],
  pass: number,
): Promise<Imported> {
  const candidates = new Map<string, Candidate>()
  const written = new Map<string, SourceRow>()
  for (const row of rows) {
    const { judged } = row
    if ('candidate' in judged) candidates.set(idOf(judged.candidate), judged.candidate)
    const one = sourceRow(row)
    written.set(one.key, one)
  }
  const all = [...written.values()]
  const { rows: known } = await client.query<{ key: string; digest: string }>(
    `SELECT key, encode(digest, 'hex') AS digest FROM hub.listing_source
     WHERE source = $1 AND key = ANY ($2) AND NOT gone`,
    [source, all.map(({ key }) => key)],
  )
  const digests = new Map(known.map(({ key, digest }) => [key, digest]))
  const isNew = ({ key, digest }: SourceRow): boolean => digests.get(key) !== digest
  const news = all.filter(isNew)
  const fresh = new Set(news.flatMap(({ listing }) => listing ?? []))
  const wanted = [...candidates].filter(([id]) => fresh.has(id))
  await upsertListings(
    client,
    rank,
    wanted.map(([, candidate]) => candidate),
  )
  await writeRows(client, source, news, pass)
  await client.query(
    `UPDATE hub.listing_source SET pass = $2, seen_at = now()
     WHERE source = $1 AND key = ANY ($3)`,
    [source, pass, all.filter((row) => !isNew(row)).map(({ key }) => key)],
  )
  const refused = all.filter(({ reason }) => reason !== null).length
  return { rows: rows.length, refused, changed: news.length }
}

const idOf = ({ method, url }: Candidate): string => listingId(method, url)

function sourceRow({ key, raw, judged }: JudgedRow): SourceRow {
  const isGood = 'candidate' in judged
  const claim = isGood ? claimOf(judged.candidate) : { row: storable(raw, CLAIM_BYTES) ?? cut(raw) }
  const said = JSON.stringify(isGood ? rowOf(judged.candidate) : [judged.reason, claim])
  return {
    key: key.length <= KEY_MAX ? key : `${key.slice(0, KEY_MAX - 65)} ${sha256(key)}`,
    listing: isGood ? idOf(judged.candidate) : null,
    reason: isGood ? null : judged.reason,
    claim,
    digest: sha256(said),
  }
}

const rowOf = (candidate: Candidate) => ({
  ...candidate,
  offers: candidate.offers.map(offerRow),
})

const claimOf = ({ url, method, offers }: Candidate) => ({
  url,
  method,
  offers: offers.map(offerRow),
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The beginning of what is too large to keep. */
function cut(raw: unknown): string {
  const text = isJsonObject(raw) || Array.isArray(raw) ? shown(raw) : String(raw)
  return text
    .slice(0, CLAIM_BYTES / 4)
    .replaceAll('\\', '')
    .toWellFormed()
    .replaceAll('\0', '')
}

function shown(raw: unknown): string {
  try {
    return JSON.stringify(raw)
  } catch {
    return 'nested too deeply to be shown'
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
