import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { IdSet } from '../ledger/export/id-set.ts'
import { type Position, writeExport } from '../ledger/export/index.ts'
import type { Log } from '../log.ts'
import { type ExportWork, nextExport, readParts } from './exports.ts'

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** A part of a file has at least so many bytes before it is packed: so much is lost by a crash. */
const PART_BYTES = 1_048_576

/** A part that is written in one go with how far it comes. */
interface Piece {
  readonly texts: string[]
  bytes: number
  /** Of the last entry in it. */
  position: Position | undefined
}

/**
 * Writes the next export that waits, part by part, each with how far it comes in one transaction,
 * so that it goes on there after a crash, to the same bytes.
 * @returns 0: none waited, or it has to stop
 */
export async function writeNextExport(
  { pool, log }: { readonly pool: Pool; readonly log: Log },
  stopping: AbortSignal,
): Promise<number> {
  const work = await nextExport(pool)
  if (!work) return 0
  try {
    const isWhole = work.state === 'written' || (await writeParts(pool, work, stopping))
    if (isWhole) await finish(pool, work.id)
  } catch (error) {
    if (isLost(error)) throw error // tried again by the next run
    log.error({ err: error, export: work.id }, 'an export could not be written')
    await pool.query(
      `UPDATE hub.export SET state = 'failed', failure = 'It could not be written.',
         changed_at = now() WHERE id = $1 AND state IN ('writing', 'written')`,
      [work.id],
    )
  }
  return stopping.aborted ? 0 : 1
}

/** Connections, and the other process that writes the same part: not the fault of the export. */
const isLost = (error: unknown): boolean => {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(?:08|23505|25|40|53|55|57|ECONN|EPIPE)/.test(code)
}

/** @returns whether it came to its end */
async function writeParts(pool: Pool, work: ExportWork, stopping: AbortSignal): Promise<boolean> {
  const { id, format, plan, position: resume } = work
  const declared = new IdSet(work.declared ?? undefined)
  const opening = work.opening?.map((each) => ({ ...each, amount: BigInt(each.amount) }))
  let n = await partCount(pool, id)
  let piece: Piece = { texts: [], bytes: 0, position: undefined }
  const written = writeExport(pool, format, plan, {
    declared,
    resume: resume ?? undefined,
    opening,
  })
  for await (const { text, position } of written) {
    piece.texts.push(text)
    piece.bytes += Buffer.byteLength(text)
    piece.position = position ?? piece.position
    if (!position || piece.bytes < PART_BYTES) continue
    await save(pool, work, n++, piece, declared)
    piece = { texts: [], bytes: 0, position: undefined }
    if (stopping.aborted) return false
  }
  await save(pool, work, n, piece, declared, 'written')
  return true
}

async function partCount(pool: Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ parts: number }>(
    'SELECT count(*)::integer AS parts FROM hub.export_part WHERE export = $1',
    [id],
  )
  return rows[0]!.parts
}

async function save(
  pool: Pool,
  { id }: ExportWork,
  n: number,
  { texts, bytes, position }: Piece,
  declared: IdSet,
  state: 'writing' | 'written' = 'writing',
): Promise<void> {
  const data = await pack(texts.join(''))
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

/** The hash is that of the text, so that it can be compared with an export by the command line. */
async function finish(pool: Pool, id: string): Promise<void> {
  const hash = createHash('sha256')
  for await (const part of readParts(pool, id)) hash.update(await unpack(part))
  await pool.query(
    `UPDATE hub.export SET state = 'done', sha256 = $2, changed_at = now()
     WHERE id = $1 AND state = 'written'`,
    [id, hash.digest('hex')],
  )
}
