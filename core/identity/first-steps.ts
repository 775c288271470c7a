import type { Pool } from 'pg'
import type { KeyManager } from './sub-keys.ts'

/** Steps of a new account that are done. */
export interface FirstSteps {
  readonly hasKey: boolean
  /** True after a delivered call, paid or free. */
  readonly hasCalled: boolean
  /** True if a key has a limit of its own. */
  readonly hasLimits: boolean
}

/** Reads which first steps the keys of these principals have taken. */
export async function readFirstSteps(pool: Pool, principals: KeyManager): Promise<FirstSteps> {
  const { rows } = await pool.query<FirstSteps>(
    `WITH own AS (SELECT id, parent,
         num_nonnulls(max_call, max_day, max_total, services) AS limits
       FROM hub.api_key WHERE principal = ANY ($1) AND revoked_at IS NULL)
     SELECT EXISTS (SELECT FROM own) AS "hasKey",
       EXISTS (SELECT FROM hub.spending WHERE calls + free_calls > 0 AND payer IN (
         SELECT unnest($1::text[]) UNION ALL
         SELECT id FROM own WHERE parent IS NULL)) AS "hasCalled",
       EXISTS (SELECT FROM own WHERE limits > 0) AS "hasLimits"`,
    [principals],
  )
  return rows[0]!
}
