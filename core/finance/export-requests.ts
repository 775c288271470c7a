import type { Pool } from 'pg'
import { withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import type { IdSet } from '../ledger/export/id-set.ts'
import {
  type AccountBalance,
  countEntries,
  type ExportOrder,
  type ExportPlan,
  planExport,
} from '../ledger/export/plan.ts'
import { type ExportPosition, FORMATS, type FormatName } from '../ledger/export/writer.ts'
import { openingBalances } from '../ledger/retained-earnings.ts'
import type { FinanceDeps, Staff } from './staff-acts.ts'

/** An export of the journal and its progress. */
export interface LedgerExport {
  readonly id: string
  readonly format: FormatName
  readonly title: string
  readonly askedBy: string
  readonly askedAt: Date
  /** Entries to read, an upper bound of `entries`. */
  readonly total: bigint
  readonly entries: bigint
  /** Size of the uncompressed text. */
  readonly bytes: bigint
  /** `written`: the hash is being computed; `dropped`: the file was deleted. */
  readonly state: 'waiting' | 'writing' | 'written' | 'done' | 'failed' | 'dropped'
  /** Hash of the uncompressed text, in hex; null until complete. */
  readonly sha256: string | null
  readonly failure: string | null
}

/** State from which a job continues an export. */
export interface ExportWork extends LedgerExport {
  readonly plan: ExportPlan
  /** Opening balances as JSON: amounts are text. */
  readonly opening: readonly (Omit<AccountBalance, 'amount'> & { readonly amount: string })[] | null
  /** Number of stored parts, as of `position`. */
  readonly parts: number
  readonly position: ExportPosition | null
  readonly declared: ReturnType<IdSet['toJSON']> | null
}

const COLUMNS = `id, format, title, asked_by AS "askedBy", asked_at AS "askedAt", total, entries,
  bytes, state, sha256, failure`

export interface ExportRequest {
  readonly format: FormatName
  readonly order: ExportOrder
  /** True to start with the balances before the period. */
  readonly opening: boolean
  readonly title: string
}

const PENDING_EXPORTS_MAX = 20

/**
 * Requests an export. Its scope is fixed now: entries posted later are not included.
 * @throws Fault `validation_failed` if opening balances are not possible; `rate_limited` if too
 *   many exports are pending
 */
export async function startExport(
  { pool }: Pick<FinanceDeps, 'pool'>,
  by: Staff,
  { format, order, opening, title }: ExportRequest,
  reason: string,
): Promise<LedgerExport> {
  if (opening && (!order.period || order.accounts || !('opening' in FORMATS[format]))) {
    throw new Fault(
      'validation_failed',
      'Opening balances require hledger, ledger or beancount and a period of the whole journal.',
    )
  }
  const plan = await planExport(pool, order)
  const rows = opening && order.period ? await openingBalances(pool, order.period.from) : undefined
  const balances = rows?.map((row) => ({ ...row, amount: String(row.amount) }))
  return withAudit(pool, by, reason, async (client, note) => {
    const { rows } = await client.query<LedgerExport>(
      `INSERT INTO hub.export (id, format, title, plan, opening, asked_by, total)
       SELECT $1, $2, $3, $4, $5, $6, $7 WHERE $8 > (SELECT count(*) FROM hub.export
         WHERE state IN ('waiting', 'writing', 'written')) RETURNING ${COLUMNS}`,
      [
        prefixedId('exp'),
        format,
        title,
        JSON.stringify(plan),
        balances ? JSON.stringify(balances) : null,
        by.name,
        countEntries(plan),
        PENDING_EXPORTS_MAX,
      ],
    )
    const [created] = rows
    if (!created) throw new Fault('rate_limited', 'Too many exports are pending. Try again later.')
    note({ act: 'export.start', subject: created.id, after: { format, title } })
    return created
  })
}

/** Reads exports, the newest first. @param before id of the last one on the previous page */
export async function listExports(
  pool: Pool,
  limit: number,
  before: string | undefined,
): Promise<readonly LedgerExport[]> {
  const { rows } = await pool.query<LedgerExport>(
    `SELECT ${COLUMNS} FROM hub.export e WHERE $1::text IS NULL OR (asked_at, id) <
       (SELECT b.asked_at, b.id FROM hub.export b WHERE b.id = $1)
     ORDER BY asked_at DESC, id DESC LIMIT $2`,
    [before ?? null, limit],
  )
  return rows
}

/** @throws Fault `not_found` */
export async function findExport(pool: Pool, id: string): Promise<LedgerExport> {
  const { rows } = await pool.query<LedgerExport>(
    `SELECT ${COLUMNS} FROM hub.export WHERE id = $1`,
    [id],
  )
  if (!rows[0]) throw new Fault('not_found', 'There is no such export.')
  return rows[0]
}

/** Streams a gzip file. @throws Fault `not_found`, `export_not_ready`, `export_dropped` */
export async function openParts(pool: Pool, id: string): Promise<AsyncGenerator<Buffer>> {
  const { state, failure } = await findExport(pool, id)
  if (state === 'dropped') throw new Fault('export_dropped')
  if (state !== 'done') throw new Fault('export_not_ready', failure ?? undefined)
  return readParts(pool, id)
}

export async function* readParts(pool: Pool, id: string): AsyncGenerator<Buffer> {
  for (let n = 0; ; n++) {
    const { rows } = await pool.query<{ data: Buffer }>(
      'SELECT data FROM hub.export_part WHERE export = $1 AND n = $2',
      [id, n],
    )
    if (!rows[0]) return
    yield rows[0].data
  }
}

/** Deletes the files of expired exports; their records remain. */
export async function dropExpiredExports(pool: Pool, days: number): Promise<void> {
  await pool.query(
    `WITH old AS (
       UPDATE hub.export SET state = 'dropped', changed_at = now()
       WHERE state = 'done' AND changed_at < now() - make_interval(days => $1) RETURNING id)
     DELETE FROM hub.export_part p USING old WHERE p.export = old.id`,
    [days],
  )
}

/**
 * Claims the next export to start or to continue. The parts are counted by the statement that reads
 * the position: if another process stores a part after it, the next part conflicts with that one.
 */
export async function claimNextExport(pool: Pool): Promise<ExportWork | undefined> {
  const { rows } = await pool.query<ExportWork>(
    `UPDATE hub.export SET changed_at = now(),
       state = CASE state WHEN 'written' THEN state ELSE 'writing' END
     WHERE id = (SELECT id FROM hub.export WHERE state IN ('waiting', 'writing', 'written')
       ORDER BY asked_at, id LIMIT 1)
     RETURNING ${COLUMNS}, plan, opening, position, declared,
       (SELECT count(*)::integer FROM hub.export_part p WHERE p.export = hub.export.id) AS parts`,
  )
  return rows[0]
}
