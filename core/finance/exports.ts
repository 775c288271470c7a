import type { Pool } from 'pg'
import { audited } from '../audit/audit.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import type { IdSet } from '../ledger/export/id-set.ts'
import { FORMATS, type FormatName, type Position } from '../ledger/export/index.ts'
import {
  type AccountBalance,
  type ExportOrder,
  type ExportPlan,
  entriesOf,
  planExport,
} from '../ledger/export/plan.ts'
import { balancesAt } from '../ledger/history/balance.ts'
import type { FinancePorts, Staff } from './adjustments.ts'

/** An export of the journal, on its way or written. */
export interface Export {
  readonly id: string
  readonly format: FormatName
  /** What it covers, for people. */
  readonly title: string
  readonly askedBy: string
  readonly askedAt: Date
  /** Entries that are looked at, and those that are written. */
  readonly total: bigint
  readonly entries: bigint
  /** Of the text. */
  readonly bytes: bigint
  /** `written`: it is read once more, for its hash; `dropped`: it is no longer kept. */
  readonly state: 'waiting' | 'writing' | 'written' | 'done' | 'failed' | 'dropped'
  /** Of the text; null: it is not whole yet. */
  readonly sha256: string | null
  readonly failure: string | null
}

/** What a job needs to go on with an export. */
export interface ExportWork extends Export {
  readonly plan: ExportPlan
  /** As JSON: amounts are texts. */
  readonly opening: readonly (Omit<AccountBalance, 'amount'> & { readonly amount: string })[] | null
  readonly position: Position | null
  readonly declared: ReturnType<IdSet['toJSON']> | null
}

const COLUMNS = `id, format, title, asked_by AS "askedBy", asked_at AS "askedAt", total, entries,
  bytes, state, sha256, failure`

/** What somebody wants to have exported. */
export interface ExportWish {
  readonly format: FormatName
  readonly order: ExportOrder
  /** Whether it begins with the balances before its period. */
  readonly opening: boolean
  readonly title: string
}

/** Together, so many exports wait or are written at a time. */
const UNDER_WAY_MAX = 20

/**
 * Asks for an export. What it covers is fixed now, whatever is booked later.
 * @throws Fault `validation_failed` where an opening has no place; `rate_limited` while too many
 *   wait
 */
export async function startExport(
  { pool }: Pick<FinancePorts, 'pool'>,
  by: Staff,
  { format, order, opening, title }: ExportWish,
  reason: string,
): Promise<Export> {
  if (opening && (!order.period || order.accounts || !('opening' in FORMATS[format]))) {
    throw new Fault(
      'validation_failed',
      'Opening balances go with a period of the whole journal, as hledger, ledger or beancount.',
    )
  }
  const plan = await planExport(pool, order)
  const begins = opening && order.period ? await balancesAt(pool, order.period.from) : undefined
  const balances = begins?.map(({ account: code, asset, balance }) => {
    return { code, asset, amount: String(balance) }
  })
  return audited(pool, by, reason, async (client, note) => {
    const { rows } = await client.query<Export>(
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
        entriesOf(plan),
        UNDER_WAY_MAX,
      ],
    )
    const [made] = rows
    if (!made) throw new Fault('rate_limited', 'Too many exports are under way: wait for them.')
    note({ act: 'export.start', subject: made.id, after: { format, title } })
    return made
  })
}

/** The newest exports first. @param before the id of the last one of the page before */
export async function listExports(
  pool: Pool,
  limit: number,
  before: string | undefined,
): Promise<readonly Export[]> {
  const { rows } = await pool.query<Export>(
    `SELECT ${COLUMNS} FROM hub.export e WHERE $1::text IS NULL OR (asked_at, id) <
       (SELECT b.asked_at, b.id FROM hub.export b WHERE b.id = $1)
     ORDER BY asked_at DESC, id DESC LIMIT $2`,
    [before ?? null, limit],
  )
  return rows
}

/** @throws Fault `not_found` */
export async function findExport(pool: Pool, id: string): Promise<Export> {
  const { rows } = await pool.query<Export>(`SELECT ${COLUMNS} FROM hub.export WHERE id = $1`, [id])
  if (!rows[0]) throw new Fault('not_found', 'There is no such export.')
  return rows[0]
}

/**
 * The parts of an export: one after the other they are a gzip file.
 * @throws Fault `not_found`, `export_not_ready`, `export_dropped`
 */
export async function partsOf(pool: Pool, id: string): Promise<AsyncGenerator<Buffer>> {
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

/** Written exports are kept so long. */
const KEPT_DAYS = 30

/** Drops the files of exports that were written long ago; that they were is kept. */
export async function dropExports(pool: Pool): Promise<void> {
  await pool.query(
    `WITH old AS (
       UPDATE hub.export SET state = 'dropped', changed_at = now()
       WHERE state = 'done' AND changed_at < now() - make_interval(days => $1) RETURNING id)
     DELETE FROM hub.export_part p USING old WHERE p.export = old.id`,
    [KEPT_DAYS],
  )
}

/** The next export to be written, or to be gone on with. */
export async function nextExport(pool: Pool): Promise<ExportWork | undefined> {
  const { rows } = await pool.query<ExportWork>(
    `UPDATE hub.export SET changed_at = now(),
       state = CASE state WHEN 'written' THEN state ELSE 'writing' END
     WHERE id = (SELECT id FROM hub.export WHERE state IN ('waiting', 'writing', 'written')
       ORDER BY asked_at, id LIMIT 1)
     RETURNING ${COLUMNS}, plan, opening, position, declared`,
  )
  return rows[0]
}
