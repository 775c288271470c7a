import type { Transaction } from 'agenthub/plugin'
import type { Change } from '../domain/change.ts'
import type { Verification } from '../domain/enums.ts'
import { labelOf } from '../domain/relevance.ts'
import type { Tender } from '../domain/tender.ts'
import { TENTHS } from '../store/rows.ts'
import { countOf } from './count.ts'
import { namesOfCodes } from './cpv-names.ts'
import type { NewestSnapshot } from './envelope.ts'
import { currentOf, estimateOf } from './item.ts'
import { itemsOf } from './items.ts'
import type { ChangesQuery } from './query.ts'
import { where } from './where.ts'

/** Default verification statuses: those based on the official journal. */
export const OFFICIAL: readonly Verification[] = ['verified', 'declared', 'suspect']

/** A stored change. */
export interface ChangeRow {
  readonly item: Change
  /** The changed tender as it is now; null if it is not published. */
  readonly tender: Tender | null
  readonly detected_at: Date
  readonly score: number
}

/** A row of `change`. */
export interface KeyRow {
  readonly id: string
  readonly tender: string | null
  readonly detected_at: Date
  readonly score: number
}

/** Adds the items of changes and of their tenders. */
export async function rowsOf(
  transaction: Transaction,
  at: Pick<NewestSnapshot, 'edition'>,
  rows: readonly KeyRow[],
): Promise<ChangeRow[]> {
  const ids = [...new Set(rows.flatMap(({ tender }) => tender ?? []))]
  const tenders = await itemsOf(transaction, at, 'tender', ids)
  const ofChanges = rows.map(({ id }) => id)
  const items = await itemsOf(transaction, at, 'change', ofChanges)
  return rows.map(({ id, tender, ...row }) => ({
    ...row,
    item: items.get(id)!,
    tender: tenders.get(tender ?? '') ?? null,
  }))
}

/** Finds the changes that match a query, newest first, and their total count. */
export async function changes(
  transaction: Transaction,
  query: ChangesQuery,
  at: NewestSnapshot,
  now: Date,
) {
  const { edition } = at
  const { event, signal, verification, country, cpvPrefix, minScore } = query
  const { text, values } = where(
    ['published_on <= $1'],
    [now.toISOString().slice(0, 10)],
    [
      ['event = ?', event],
      ['signal = ?', signal],
      ['countries @> ARRAY[?::text]', country],
      ['cpv @> ARRAY[?::text]', cpvPrefix],
      ['score >= ?', minScore && Math.round(minScore * TENTHS)],
      ['verification = ANY (?)', verification ? [verification] : OFFICIAL],
    ],
  )
  const total = await countOf(transaction, { table: 'change', text, values, edition, now })
  const { rows } = await transaction.query<KeyRow>(
    `SELECT id, tender, detected_at, score FROM change WHERE ${text}
     ORDER BY published_on DESC, id LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
    [...values, query.limit, query.offset],
  )
  const items = await rowsOf(transaction, at, rows)
  return { total, items: items.map((row) => changeOf(row, now)) }
}

/** Builds the item of a change, with what is needed to act on it as of an instant. */
export function changeOf({ item, tender, detected_at: detectedAt, score }: ChangeRow, now: Date) {
  const current = tender && currentOf(tender, now)
  return {
    ...item,
    title: item.title ?? tender?.title ?? null,
    title_en: tender?.title_en ?? null,
    buyer: item.buyer ?? tender?.buyers[0]?.name ?? null,
    country: item.country ?? tender?.country ?? null,
    cpv_names: namesOfCodes(item.cpv === null ? [] : [item.cpv]),
    tender_id: tender?.id ?? null,
    tender_status: current?.status ?? null,
    current_deadline: current?.deadline ?? null,
    estimated_value: estimateOf(tender?.estimated_value ?? null),
    detected_at: detectedAt.toISOString(),
    score: score / TENTHS,
    label: labelOf(score / TENTHS),
  }
}
