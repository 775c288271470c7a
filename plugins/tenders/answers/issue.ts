import type { Transaction } from 'agenthub/plugin'
import type { Tender } from '../domain/tender.ts'
import { type ChangeRow, type KeyRow, OFFICIAL, rowsOf } from './changes.ts'
import type { NewestSnapshot } from './envelope.ts'
import { itemsOf } from './items.ts'

/** Maximum entries per list of the brief; `counts` has the totals. */
export const ENTRIES_MAX = 100

/** New tenders and changes of one publication day, best first. */
interface Issue {
  readonly published: readonly Tender[]
  readonly changed: readonly ChangeRow[]
  readonly counts: { readonly newly_published: number; readonly official_changes: number }
}

let cached: { readonly key: string; readonly issue: Issue } | undefined

/** Latest publication day, cached until another snapshot is closed. */
export async function issueOf(
  transaction: Transaction,
  { edition, day }: Pick<NewestSnapshot, 'edition' | 'day'>,
): Promise<Issue> {
  const key = `${edition} ${day}`
  if (cached?.key !== key) cached = { key, issue: await readIssue(transaction, { edition, day }) }
  return cached.issue
}

async function readIssue(
  transaction: Transaction,
  at: Pick<NewestSnapshot, 'edition' | 'day'>,
): Promise<Issue> {
  const published = await transaction.query<{ id: string; total: bigint }>(
    `SELECT id, count(*) OVER () AS total FROM tender
     WHERE called_on @> ARRAY[$1::date] AND score >= 200
     ORDER BY score DESC, number LIMIT $2`,
    [at.day, ENTRIES_MAX],
  )
  const changed = await transaction.query<KeyRow & { total: bigint }>(
    `SELECT id, tender, detected_at, score, count(*) OVER () AS total FROM change
     WHERE published_on = $1 AND score >= 200 AND verification = ANY ($2)
     ORDER BY score DESC, id LIMIT $3`,
    [at.day, OFFICIAL, ENTRIES_MAX],
  )
  const ids = published.rows.map(({ id }) => id)
  const items = await itemsOf(transaction, at, 'tender', ids)
  return {
    published: ids.map((id) => items.get(id)!),
    changed: await rowsOf(transaction, at, changed.rows),
    counts: {
      newly_published: totalOf(published.rows),
      official_changes: totalOf(changed.rows),
    },
  }
}

/** Total number of rows, of which these are the first. */
export const totalOf = ([first]: readonly { readonly total: bigint }[]): number =>
  Number(first?.total ?? 0n)
