import type { Transaction } from 'agenthub/plugin'
import { LRUCache } from 'lru-cache'
import type { Change } from '../domain/change.ts'
import type { Tender } from '../domain/tender.ts'
import type { NewestSnapshot } from './envelope.ts'

interface Items {
  readonly tender: Tender
  readonly change: Change
}

/** Cache of parsed items by edition, table and id, because the same ones are returned often. */
const known = new LRUCache<string, Tender | Change>({ max: 2_000 })

/** Reads tenders or changes by id. An edition's items never change. */
export async function itemsOf<T extends keyof Items>(
  transaction: Transaction,
  { edition }: Pick<NewestSnapshot, 'edition'>,
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
