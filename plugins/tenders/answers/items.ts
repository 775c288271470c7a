import type { Transaction } from 'agenthub/plugin'
import type { Tender } from '../domain/tender.ts'
import type { Standing } from './envelope.ts'

const MOST = 1_000

let kept = { edition: '', items: new Map<string, Tender>() }

/** In the given order. Cached until another snapshot is closed: the same ids recur. */
export async function tendersOf(
  transaction: Transaction,
  { edition }: Pick<Standing, 'edition'>,
  ids: readonly string[],
): Promise<Tender[]> {
  if (kept.edition !== edition || kept.items.size > MOST) kept = { edition, items: new Map() }
  const { items } = kept // another snapshot may close meanwhile
  const missing = ids.filter((id) => !items.has(id))
  if (missing.length > 0) {
    const { rows } = await transaction.query<{ id: string; item: Tender }>(
      'SELECT id, item FROM tender_item WHERE id = ANY ($1)',
      [missing],
    )
    for (const { id, item } of rows) items.set(id, item)
  }
  return ids.map((id) => items.get(id)!)
}
