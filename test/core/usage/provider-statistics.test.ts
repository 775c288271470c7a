import { expect } from 'chai'
import * as fc from 'fast-check'
import { readServiceDays } from '../../../core/catalog/services/service-days.ts'
import { dayName, daysBefore, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { listCustomers, readCallStatistics } from '../../../core/usage/provider-statistics.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

/** Expected contents of the aggregate tables, computed from all calls. */
const EXPECTED = {
  'hub.service_day': `SELECT service, (at AT TIME ZONE 'UTC')::date AS day, count(*) AS calls,
      count(*) FILTER (WHERE status < 500) AS up,
      count(*) FILTER (WHERE outcome = 'delivered') AS delivered,
      count(*) FILTER (WHERE outcome = 'failed') AS failed, sum(latency_ms)::bigint AS latency_ms,
      NULL::double precision AS weight, NULL::double precision AS up_weight
    FROM hub.call GROUP BY 1, 2`,
  'hub.call_day': `SELECT service, (at AT TIME ZONE 'UTC')::date AS day, endpoint,
      CASE outcome WHEN 'failed' THEN coalesce(reason, 'failed') ELSE outcome END AS outcome,
      outcome = 'failed' AND status < 500 AS refused,
      CASE outcome WHEN 'delivered' THEN hub.about_ms(latency_ms) ELSE -1 END AS ms,
      count(*)::integer AS calls FROM hub.call GROUP BY 1, 2, 3, 4, 5, 6`,
  'hub.caller_day': `SELECT service, (at AT TIME ZONE 'UTC')::date AS day, principal,
      count(*)::integer AS calls, (count(*) FILTER (WHERE outcome = 'delivered'))::integer,
      sum(charged)::bigint AS charged, min(at), max(at),
      (count(*) FILTER (WHERE status < 500))::integer AS up FROM hub.call GROUP BY 1, 2, 3`,
  'hub.caller_week': `SELECT service, date_trunc('week', at AT TIME ZONE 'UTC')::date, principal,
      count(*)::integer AS calls, (count(*) FILTER (WHERE outcome = 'delivered'))::integer,
      sum(charged)::bigint AS charged, min(at), max(at) FROM hub.call GROUP BY 1, 2, 3`,
}

interface Call {
  readonly service: string
  readonly daysAgo: number
  readonly endpoint: number
  readonly outcome: 'delivered' | 'failed' | 'unresolved'
  readonly status: number
  readonly ms: number
}

const call: fc.Arbitrary<Call> = fc.record({
  service: fc.constantFrom('tides', 'maps'),
  daysAgo: fc.integer({ min: 0, max: 3 }),
  endpoint: fc.integer({ min: 1, max: 2 }),
  outcome: fc.constantFrom('delivered', 'failed', 'unresolved'),
  status: fc.constantFrom(200, 404, 502),
  ms: fc.integer({ min: 0, max: 63 }), // exact
})

describe('call statistics', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())
  const truncate = () =>
    database.admin.query(
      'TRUNCATE hub.call, hub.outcome_day, hub.service_day, hub.caller_day, hub.caller_week',
    )
  beforeEach(truncate)

  const now = systemClock.now()
  const add = (calls: readonly Call[]) =>
    database.pool.query(
      `INSERT INTO hub.call SELECT * FROM json_populate_recordset(NULL::hub.call, $1)
       ON CONFLICT (id) DO NOTHING`,
      [JSON.stringify(calls.map(rowOf))],
    )
  const rowOf = (each: Call) => ({
    id: uuidv7(now.getTime()),
    at: daysBefore(now, each.daysAgo),
    request_id: 'req',
    principal: `prn_${each.ms % 3}`,
    service: each.service,
    endpoint: each.endpoint,
    price_version: 1,
    source: 'credits',
    charged: 1,
    outcome: each.outcome,
    status: each.status,
    latency_ms: each.ms,
    reason: each.outcome === 'failed' && each.status === 502 ? 'plugin_failed' : null,
  })
  /** Asserts that the aggregate tables contain exactly the calls. */
  const expectAggregates = async () => {
    for (const [table, expected] of Object.entries(EXPECTED)) {
      const { rows } = await database.admin.query(
        `WITH stored AS (SELECT * FROM ${table} WHERE calls <> 0), expected AS (${expected})
         (SELECT 'stored', * FROM (TABLE stored EXCEPT TABLE expected) k)
         UNION ALL (SELECT 'expected', * FROM (TABLE expected EXCEPT TABLE stored) c)`,
      )
      expect(rows, table).to.deep.equal([])
    }
    const { rows } = await database.admin.query(
      `SELECT * FROM hub.outcome_day WHERE 0 = ANY (calls)
         OR ms <> ARRAY(SELECT DISTINCT each FROM unnest(ms) each ORDER BY each)`,
    )
    expect(rows, 'each latency once, ascending').to.deep.equal([])
  }

  it('match all calls after concurrent batches and later changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(call, { maxLength: 20 }), { maxLength: 6 }),
        async (all) => {
          await Promise.all([
            ...all.map(add),
            database.pool.query(
              `UPDATE hub.call SET charged = 2, outcome = 'taken' WHERE outcome = 'unresolved'`,
            ),
          ])
          await database.pool.query(
            `UPDATE hub.call SET charged = 0, outcome = 'failed' WHERE outcome = 'taken'`,
          )
          await expectAggregates()
        },
      ),
      { numRuns: 25 },
    )
  })

  it('feed search with the last 30 days exactly', async () => {
    const services = ['tides', 'maps', 'silent']
    await database.admin.query(
      `INSERT INTO hub.search_document (kind, id, name, provider, category, tags, description,
         words, networks, price, state, listed_at)
       SELECT 'native', id, id, 'p', 'data', '{}', '', '', '{}', 1, 'active', now()
       FROM unnest($1::text[]) id`,
      [services],
    )
    const aged = call.chain((each) =>
      fc.constantFrom(0, 29, 30).map((daysAgo) => ({ ...each, daysAgo })),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(aged, { maxLength: 30 }), async (calls) => {
        await truncate()
        await add(calls)
        await database.pool.query('SELECT hub.refresh_service_signals()')
        const { rows } = await database.admin.query(
          `SELECT d.id, d.calls, d.delivered, d.latency_ms AS ms, d.uptime AS up, c.*, u.* FROM (
             SELECT service, count(*)::integer AS n,
               percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)
                 FILTER (WHERE outcome = 'delivered') AS median
             FROM hub.call WHERE at > $1 GROUP BY service) c
           JOIN hub.search_document d ON d.id = c.service
           CROSS JOIN LATERAL (SELECT 100 * sum(weight * share) / sum(weight) AS expected FROM (
             SELECT 0.1 AS weight, avg((status < 500)::int) AS share FROM hub.call
               WHERE service = c.service AND at >= $2 GROUP BY principal
             UNION ALL
             SELECT 1, avg((status < 500)::int) FROM hub.call
               WHERE service = c.service AND at BETWEEN $1 AND $2 HAVING count(*) > 0) w) u`,
          [daysBefore(now, 29.5), daysBefore(now, 5)],
        )
        for (const row of rows) {
          const { calls: n, delivered, ms: median, up } = row
          expect({ n, median }).to.deep.equal({ n: row.n, median: row.median })
          expect(up).to.be.closeTo(Number(row.expected), 0.001)
          expect(delivered).to.be.closeTo((n * row.expected) / 100, 0.501)
        }
        const { rows: silent } = await database.admin.query(
          `SELECT calls, uptime FROM hub.search_document WHERE id = 'silent'`,
        )
        expect(silent).to.deep.equal([{ calls: 0, uptime: null }])
      }),
      { numRuns: 25 },
    )
  })

  /** SQL of the group keys, from `hub.call`. */
  const GROUPS = {
    day: `(at AT TIME ZONE 'UTC')::date::text`,
    service: 'service',
    endpoint: 'endpoint::text', // none of them is in the catalog
    outcome: `CASE outcome WHEN 'failed' THEN coalesce(reason, 'failed') ELSE outcome END`,
  } as const

  it('return the exact percentiles and totals of a range of days', async () => {
    const by = fc.constantFrom('day', 'service', 'endpoint', 'outcome')
    const some = fc.array(call, { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(some, by, async (calls, each) => {
        await truncate()
        await add(calls)
        const sales = { providers: ['p'], services: ['tides', 'maps'] }
        const range = { sales, from: daysBefore(now, 2), until: daysBefore(now, -1) }
        const { rows } = await database.admin.query(
          `SELECT * FROM (SELECT ${GROUPS[each]} AS "groupKey", count(*) AS calls,
             count(*) FILTER (WHERE outcome = 'delivered') AS delivered,
             count(*) FILTER (WHERE outcome = 'failed' AND status < 500) AS refused,
             ${[50, 95, 99]
               .map(
                 (share) => `percentile_disc(${share / 100}) WITHIN GROUP (ORDER BY latency_ms)
                 FILTER (WHERE outcome = 'delivered') AS p${share}`,
               )
               .join(', ')}
           FROM hub.call
           WHERE (at AT TIME ZONE 'UTC')::date > (now() AT TIME ZONE 'UTC')::date - 3
           GROUP BY GROUPING SETS (1, ()) HAVING count(*) > 0) g
           ORDER BY g."groupKey" COLLATE "C" NULLS LAST`,
        )
        expect(await readCallStatistics(database.pool, { ...range, by: each })).to.deep.equal(rows)
      }),
      { numRuns: 40 },
    )
  })

  it('return the median of each of the last days of a service', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 40 }), async (calls) => {
        await truncate()
        await add(calls)
        const { rows } = await database.admin.query(
          `SELECT d.day::text, count(c.id)::integer AS calls,
             percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)
               FILTER (WHERE outcome = 'delivered') AS latency
           FROM (SELECT (now() AT TIME ZONE 'UTC')::date - n AS day FROM generate_series(0, 2) n) d
           LEFT JOIN hub.call c ON c.service = 'tides' AND (at AT TIME ZONE 'UTC')::date = d.day
           GROUP BY 1 ORDER BY 1`,
        )
        const days = await readServiceDays(database.pool, 'tides', 3)
        expect(
          days.map(({ day, calls: count, latency }) => ({
            day,
            calls: count,
            latency: latency.p50,
          })),
        ).to.deep.equal(rows)
      }),
      { numRuns: 15 },
    )
  })

  it('total many endpoints and days completely', async () => {
    await database.admin.query(
      `INSERT INTO hub.outcome_day SELECT 'tides', ($1::date - n % 3), n, 'delivered', false,
         ARRAY[n % 7, 100], ARRAY[1, 2] FROM generate_series(1, 1300) n`,
      [now],
    )
    const sales = { providers: ['p'], services: ['tides'] }
    const range = { sales, from: daysBefore(now, 2), until: daysBefore(now, -1) }
    const figures = await readCallStatistics(database.pool, { ...range, by: 'day' })
    expect(figures.at(-1)).to.deep.include({ calls: 3_900n, p50: 100, p99: 100 })
    const endpoints = await readCallStatistics(database.pool, { ...range, by: 'endpoint' })
    expect(endpoints, 'the first thousand and the total').to.have.length(1_001)
    expect(endpoints.at(-1)).to.deep.equal(figures.at(-1))
  })

  it('list the callers of any range of days, whatever weeks it spans', async () => {
    const far = fc.record({ call, daysAgo: fc.nat(40) })
    const days = fc.tuple(fc.nat(40), fc.nat(40))
    await fc.assert(
      fc.asyncProperty(fc.array(far, { maxLength: 60 }), days, async (calls, [a, b]) => {
        await truncate()
        await add(calls.map(({ call: each, daysAgo }) => ({ ...each, daysAgo })))
        const [from, until] = [daysBefore(now, Math.max(a, b)), daysBefore(now, Math.min(a, b) - 1)]
        const { rows } = await database.admin.query(
          `SELECT '' AS customer, count(*) AS calls,
             count(*) FILTER (WHERE outcome = 'delivered') AS delivered,
             sum(charged)::bigint AS charged, min(at) AS "firstAt", max(at) AS "lastAt"
           FROM hub.call WHERE service = 'tides' AND (at AT TIME ZONE 'UTC')::date >= $1
             AND (at AT TIME ZONE 'UTC')::date < $2 GROUP BY principal`,
          [dayName(from), dayName(until)],
        )
        const sales = { providers: ['p'], services: ['tides'] }
        const order = { sales, from, until, limit: 9, secret: Buffer.alloc(32) }
        const found = await listCustomers(database.pool, { ...order, after: undefined })
        const ids = new Set(found.map(({ customer }) => customer))
        expect(ids.size).to.equal(rows.length)
        expect(found.map((each) => ({ ...each, customer: '' }))).to.have.deep.members(rows)
      }),
      { numRuns: 40 },
    )
  })

  it('round latencies up, by at most 3.2 percent', async () => {
    const { rows } = await database.pool.query<{ ms: number; about: number }>(
      `SELECT ms, hub.about_ms(ms) AS about FROM (SELECT generate_series(0, 20000) AS ms
         UNION ALL SELECT (2 ^ n)::integer + d FROM generate_series(6, 29) n,
           generate_series(-1, 1) d) m`,
    )
    for (const { ms, about } of rows) {
      expect(about, String(ms)).to.be.within(ms, ms < 64 ? ms : ms * 1.032)
    }
  })
})
