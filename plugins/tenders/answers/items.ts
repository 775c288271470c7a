import type { Transaction } from 'agenthub/plugin'
import { LRUCache } from 'lru-cache'
import type { Change } from '../domain/change.ts'
import type { Tender } from '../domain/tender.ts'
import type { Standing } from './envelope.ts'

interface Items {
  readonly tender: Tender
  readonly change: Change
}

/** Parsed items by edition, table and id: the same ones are returned again and again. */
const known = new LRUCache<string, Tender | Change>({ max: 2_000 })

/** Reads tenders or changes by id. An edition's items never change. */
export async function itemsOf<T extends keyof Items>(
  transaction: Transaction,
  { edition }: Pick<Standing, 'edition'>,
  table: T,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Items[T]>> {
  const keyOf = (id: string): string => `${edition} ${table} ${id}`
  const items = new Map<string, Items[T]>()
  const missing = ids.filter((id) => {
    const item = known.get(keyOf(id)) as Items[T] | undefined
    if (item) items.set(id, item)
    return !item
  })
  if (missing.length === 0) return items
  const { rows } = await transaction.query<{ id: string; item: Items[T] }>(
    `SELECT id, item FROM ${table}_item WHERE id = ANY ($1)`,
    [missing],
  )
  for (const { id, item } of rows) {
    items.set(id, item)
    known.set(keyOf(id), item)
  }
  return items
}
