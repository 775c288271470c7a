import type { Transaction } from 'agenthub/plugin'
import type { Tender } from '../domain/tender.ts'
import { type ChangeRow, OFFICIAL } from './changes.ts'
import type { Standing } from './envelope.ts'

/** Maximum entries per list of the brief; `counts` has the totals. */
export const MOST = 100

/** New tenders and changes of one publication day, best first. */
interface Issue {
  readonly published: readonly Tender[]
  readonly changed: readonly ChangeRow[]
  readonly counts: { readonly newly_published: number; readonly official_changes: number }
}

let kept: { readonly of: string; readonly issue: Issue } | undefined

/** Latest publication day, cached until another snapshot is closed. */
export async function issueOf(
  transaction: Transaction,
  { edition, day }: Pick<Standing, 'edition' | 'day'>,
): Promise<Issue> {
  const of = `${edition} ${day}`
  if (kept?.of !== of) kept = { of, issue: await readIssue(transaction, day) }
  return kept.issue
}

async function readIssue(transaction: Transaction, day: string): Promise<Issue> {
  const published = await transaction.query<{ item: Tender; total: bigint }>(
    `SELECT i.item, p.total FROM (
       SELECT id, score, number, count(*) OVER () AS total FROM tender
       WHERE called_on @> ARRAY[$1::date] AND score >= 200
       ORDER BY score DESC, number LIMIT $2) p
     JOIN tender_item i USING (id) ORDER BY p.score DESC, p.number`,
    [day, MOST],
  )
  const changed = await transaction.query<ChangeRow & { total: bigint }>(
    `SELECT i.item, t.item AS tender, p.detected_at, p.score, p.total FROM (
       SELECT id, tender, detected_at, score, count(*) OVER () AS total FROM change
       WHERE published_on = $1 AND score >= 200 AND verification = ANY ($2)
       ORDER BY score DESC, id LIMIT $3) p
     JOIN change_item i USING (id) LEFT JOIN tender_item t ON t.id = p.tender
     ORDER BY p.score DESC, p.id`,
    [day, OFFICIAL, MOST],
  )
  return {
    published: published.rows.map(({ item }) => item),
    changed: changed.rows,
    counts: {
      newly_published: totalOf(published.rows),
      official_changes: totalOf(changed.rows),
    },
  }
}

/** Total number of rows, of which these are the first. */
export const totalOf = ([first]: readonly { readonly total: bigint }[]): number =>
  Number(first?.total ?? 0n)
