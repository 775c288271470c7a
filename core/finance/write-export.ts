import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Pool } from 'pg'
import type { RecentReads } from '../db/recent-reads.ts'
import { inTransaction } from '../db/transaction.ts'
import { IdSet } from '../ledger/export/id-set.ts'
import { type ExportPosition, writeExport } from '../ledger/export/writer.ts'
import type { Log } from '../log.ts'
import { isDatabaseDown, logFailure } from '../outages.ts'
import { claimNextExport, type ExportWork, readParts } from './export-requests.ts'

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** Minimum uncompressed size of a part; at most this much is lost by a crash. */
const PART_BYTES_MIN = 1_048_576

/** A part being filled, stored together with its end position. */
interface PartBuffer {
  readonly texts: string[]
  bytes: number
  position: ExportPosition | undefined
}

export interface WriteExportDeps {
  readonly pool: Pool
  /** Reads the journal of an export once they contain its scope. @defaultValue the pool */
  readonly recentReads?: RecentReads | undefined
  readonly log: Log
}

/**
 * Writes the next pending export part by part. Each part is stored with its position in one
 * transaction, so that a crash resumes there with identical bytes.
 * @returns 0 if none was pending or the job must stop, else 1
 */
export async function writeNextExport(
  { pool, recentReads, log }: WriteExportDeps,
  stopping: AbortSignal,
): Promise<number> {
  const work = await claimNextExport(pool)
  if (!work) return 0
  const pools = { pool, journal: recentReads?.replicaSince(work.askedAt) ?? pool }
  try {
    const isWhole = work.state === 'written' || (await writeParts(pools, work, stopping))
    if (isWhole) await finishExport(pool, work.id)
  } catch (error) {
    if (isTransient(error)) throw error // the next run retries it
    logFailure(log, 'error', { err: error, export: work.id }, 'failed to write an export')
    await pool.query(
      `UPDATE hub.export SET state = 'failed', failure = 'It could not be written.',
         changed_at = now() WHERE id = $1 AND state IN ('writing', 'written')`,
      [work.id],
    )
  }
  return stopping.aborted ? 0 : 1
}

/** Returns true for lost connections and conflicts with another process writing the same part. */
const isTransient = (error: unknown): boolean => {
  const { code } = error as { code?: unknown }
  return isDatabaseDown(error) || (typeof code === 'string' && /^(?:23505|25|40|55|57)/.test(code))
}

/** @returns true if the export is complete, false if interrupted by `stopping` */
async function writeParts(
  { pool, journal }: { readonly pool: Pool; readonly journal: Pool },
  work: ExportWork,
  stopping: AbortSignal,
): Promise<boolean> {
  const { format, plan, parts, position: resume } = work
  const declared = new IdSet(work.declared ?? undefined)
  const opening = work.opening?.map((each) => ({ ...each, amount: BigInt(each.amount) }))
  let n = parts
  let part: PartBuffer = { texts: [], bytes: 0, position: undefined }
  const written = writeExport(journal, format, plan, {
    declared,
    resume: resume ?? undefined,
    opening,
  })
  for await (const { text, position } of written) {
    part.texts.push(text)
    part.bytes += Buffer.byteLength(text)
    part.position = position ?? part.position
    if (!position || part.bytes < PART_BYTES_MIN) continue
    await savePart(pool, work, n++, part, declared)
    part = { texts: [], bytes: 0, position: undefined }
    if (stopping.aborted) return false
  }
  await savePart(pool, work, n, part, declared, 'written')
  return true
}

async function savePart(
  pool: Pool,
  { id }: ExportWork,
  n: number,
  { texts, bytes, position }: PartBuffer,
  declared: IdSet,
  state: 'writing' | 'written' = 'writing',
): Promise<void> {
  const data = await compress(texts.join(''))
  await inTransaction(pool, async (client) => {
    await client.query('INSERT INTO hub.export_part (export, n, data) VALUES ($1, $2, $3)', [
      id,
      n,
      data,
    ])
    await client.query(
      `UPDATE hub.export SET bytes = bytes + $2, changed_at = now(),
         entries = coalesce(($3::jsonb ->> 'entries')::bigint, entries),
         position = coalesce($3, position), declared = $4, state = $5 WHERE id = $1`,
      [id, bytes, position ? JSON.stringify(position) : null, JSON.stringify(declared), state],
    )
  })
}

/** Hashes the uncompressed text, so that it can be compared with an export by the CLI. */
async function finishExport(pool: Pool, id: string): Promise<void> {
  const hash = createHash('sha256')
  for await (const part of readParts(pool, id)) hash.update(await decompress(part))
  await pool.query(
    `UPDATE hub.export SET state = 'done', sha256 = $2, changed_at = now()
     WHERE id = $1 AND state = 'written'`,
    [id, hash.digest('hex')],
  )
}
