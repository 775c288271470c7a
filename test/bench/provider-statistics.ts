import { rmSync } from 'node:fs'
import type { Pool } from 'pg'
import { daysBefore, elapsedMs, systemClock } from '../../core/clock.ts'
import { migrate } from '../../core/db/migrate.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { listCustomers, readCallStatistics } from '../../core/usage/provider-statistics.ts'
import { newFolder } from './folder.ts'
import { median, rounded } from './load.ts'
import { below, type Report } from './report.ts'

const CALLS = 1_000_000
const DAYS = 90
const ROUNDS = 5
const MONTH_GOAL_MS = 1_000

/** One provider with a million calls in ninety days, and as many calls of other providers. */
export async function providerStatistics(): Promise<Report> {
  const dataDir = newFolder()
  const database = await openDatabase({ dataDir })
  const owner = createPool(database.url, { max: 2, statementMs: 0, applicationName: 'bench' })
  const hub = createPool(database.url, { max: 2, role: 'hub_app' })
  try {
    await migrate(database.url)
    await fill(owner)
    const figures = { ...(await measure(hub, 30)), ...(await measure(hub, DAYS)) }
    const name = 'statistics of a month of a third of a million calls, in ms'
    const target = below(name, figures['statistics_30_days_ms']!, MONTH_GOAL_MS)
    return { name: 'provider-statistics', figures, targets: [target] }
  } finally {
    await Promise.all([owner.end(), hub.end()])
    await database.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO hub.call (id, at, request_id, principal, service, endpoint, price_version, source,
       charged, outcome, status, latency_ms, reason)
     SELECT gen_random_uuid(), now() - random() * $2 * interval '1 day', 'req_bench',
       'prn_' || n % 5000, CASE WHEN n % 2 = 0 THEN 'mine-' || n % 10 ELSE 'other-' || n % 100 END,
       1, 1, 'credits', 3000, CASE WHEN n % 50 < 2 THEN 'failed' ELSE 'delivered' END,
       CASE WHEN n % 50 < 2 THEN 502 ELSE 200 END, (random() * 900)::integer,
       CASE WHEN n % 50 < 2 THEN 'plugin_failed' END
     FROM generate_series(1, $1::integer) n`,
    [2 * CALLS, DAYS],
  )
  await pool.query('VACUUM ANALYZE hub.call')
}

/** Returns the median time of the queries over `days` days, in milliseconds. */
async function measure(pool: Pool, days: number): Promise<Record<string, number>> {
  const until = systemClock.now()
  const services = Array.from({ length: 5 }, (_, n) => `mine-${2 * n}`)
  const range = { sales: { providers: ['mine'], services }, from: daysBefore(until, days), until }
  const figures: Record<string, number> = {}
  const time = async (name: string, ask: () => Promise<unknown>): Promise<void> => {
    const taken: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const start = elapsedMs()
      await ask()
      taken.push(elapsedMs() - start)
    }
    figures[`${name}_${days}_days_ms`] = rounded(median(taken))
  }
  await time('statistics', () => readCallStatistics(pool, { ...range, by: 'day' }))
  await time('outcomes', () => readCallStatistics(pool, { ...range, by: 'outcome' }))
  const order = { limit: 21, after: undefined, secret: Buffer.alloc(32) }
  await time('customers', () => listCustomers(pool, { ...range, ...order }))
  return figures
}
