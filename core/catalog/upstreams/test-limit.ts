import type { Pool } from 'pg'
import { Fault } from '../../errors.ts'

const TESTS_PER_DAY = 200
const TEST_INTERVAL_MS = 500

/** Counts a test call: 2 per second, 200 per UTC day. @throws Fault `test_limit_reached` */
export async function countTestCall(pool: Pool, slug: string): Promise<void> {
  const today = `(now() AT TIME ZONE 'UTC')::date`
  const sameDay = `(tested_at AT TIME ZONE 'UTC')::date = ${today}`
  const { rowCount } = await pool.query(
    `UPDATE hub.upstream SET tested_at = now(),
       tests = CASE WHEN ${sameDay} THEN tests + 1 ELSE 1 END
     WHERE slug = $1 AND (tested_at IS NULL OR (
       tested_at <= now() - interval '${TEST_INTERVAL_MS} milliseconds'
         AND (tests < ${TESTS_PER_DAY} OR NOT ${sameDay})))`,
    [slug],
  )
  if (rowCount !== 1) {
    throw new Fault('test_limit_reached')
  }
}
