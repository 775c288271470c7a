import type { Transaction } from 'agenthub/plugin'
import type { Change } from '../domain/change.ts'
import type { Verification } from '../domain/enums.ts'
import { labelOf } from '../domain/relevance.ts'
import { countOf } from './count.ts'
import type { Standing } from './envelope.ts'
import type { ChangesQuery } from './query.ts'

/** Default verification statuses: those based on the official journal. */
export const OFFICIAL: readonly Verification[] = ['verified', 'declared', 'suspect']

/** A stored change. */
export interface ChangeRow {
  readonly item: Change
  readonly detected_at: Date
  readonly score: number
}

/** Finds the changes that match a query, newest first, and their total count. */
export async function changes(
  transaction: Transaction,
  query: ChangesQuery,
  { edition }: Standing,
  now: Date,
) {
  const values: unknown[] = [now.toISOString().slice(0, 10)]
  const parts = ['published_on <= $1']
  const add = (condition: (name: string) => string, value: unknown): void => {
    values.push(value)
    parts.push(condition(`$${values.length}`))
  }
  const { event, signal, verification, country } = query
  if (event) add((value) => `event = ${value}`, event)
  if (signal) add((value) => `signal = ${value}`, signal)
  if (country) add((value) => `countries @> ARRAY[${value}::text]`, country)
  add((value) => `verification = ANY (${value})`, verification ? [verification] : OFFICIAL)
  const text = parts.join(' AND ')
  const total = await countOf(transaction, { table: 'change', text, values, edition, now })
  const { rows } = await transaction.query<ChangeRow>(
    `SELECT i.item, p.detected_at, p.score FROM (
       SELECT id, published_on, detected_at, score FROM change WHERE ${text}
       ORDER BY published_on DESC, id LIMIT $${values.length + 1} OFFSET $${values.length + 2}) p
     JOIN change_item i USING (id) ORDER BY p.published_on DESC, id`,
    [...values, query.limit, query.offset],
  )
  return { total, items: rows.map(changeOf) }
}

const TENTHS = 10

export const changeOf = ({ item, detected_at: detectedAt, score }: ChangeRow) => ({
  ...item,
  detected_at: detectedAt.toISOString(),
  score: score / TENTHS,
  label: labelOf(score / TENTHS),
})
