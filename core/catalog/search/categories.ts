import type { Pool } from 'pg'
import { Fault } from '../../errors.ts'

/** Maximum number of categories offered as filters; the search itself accepts any. */
const CATEGORIES_MAX = 60

/** Lists the categories in use, by name. Each costs one index lookup. */
async function listedCategories(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ category: string }>(
    `WITH RECURSIVE known AS (
       (SELECT category FROM hub.search_entry ORDER BY category LIMIT 1)
       UNION ALL
       SELECT (SELECT e.category FROM hub.search_entry e WHERE e.category > k.category
         ORDER BY e.category LIMIT 1) FROM known k WHERE k.category IS NOT NULL)
     SELECT category FROM known WHERE category IS NOT NULL LIMIT $1`,
    [CATEGORIES_MAX],
  )
  return rows.map(({ category }) => category)
}

/** @throws Fault `validation_failed` with the known categories if this is none of them */
export async function assertKnownCategory(pool: Pool, category: string | undefined): Promise<void> {
  if (category === undefined) return
  const categories = await listedCategories(pool)
  if (categories.length === 0 || categories.includes(category)) return
  const detail = `There is no category "${category}". Known: ${categories.join(', ')}.`
  throw new Fault('validation_failed', detail, { extras: { categories } })
}
