import type { Pool } from 'pg'

/** More are not offered; any can be searched for. */
const MOST = 60

/** Categories in which something is listed, by name. Each costs one step in the index. */
export async function listedCategories(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ category: string }>(
    `WITH RECURSIVE known AS (
       (SELECT category FROM hub.search_entry ORDER BY category LIMIT 1)
       UNION ALL
       SELECT (SELECT e.category FROM hub.search_entry e WHERE e.category > k.category
         ORDER BY e.category LIMIT 1) FROM known k WHERE k.category IS NOT NULL)
     SELECT category FROM known WHERE category IS NOT NULL LIMIT $1`,
    [MOST],
  )
  return rows.map(({ category }) => category)
}
