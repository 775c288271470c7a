import { setImmediate } from 'node:timers/promises'
import type { Pool } from 'pg'
import { dayName, daysBefore, weekStart } from '../clock.ts'
import { readSnapshot } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import { LATENCY_COLUMNS, LatencyHistogram, type LatencyRow, percentile } from './latencies.ts'

/** What an owner sells. */
export interface SoldServices {
  /** Ids of providers. */
  readonly providers: readonly string[]
  /** Slugs of services. */
  readonly services: readonly string[]
}

/**
 * The services of an owner, the retired ones included: their calls were made.
 * @param service one of them alone
 * @throws Fault `service_not_found` for one that is not the owner's
 */
export async function findSoldServices(
  pool: Pool,
  owner: KeyManager,
  service: string | undefined,
): Promise<SoldServices> {
  const { rows } = await pool.query<{ provider: string; slug: string | null }>(
    `SELECT p.id AS provider, s.slug FROM hub.provider p
     LEFT JOIN hub.service s ON s.provider = p.id AND ($2::text IS NULL OR s.slug = $2)
     WHERE p.owner = ANY ($1) ORDER BY 1, 2`,
    [owner, service ?? null],
  )
  const services = rows.flatMap(({ slug }) => (slug === null ? [] : [slug]))
  if (service !== undefined && services.length === 0) throw new Fault('service_not_found')
  return { providers: [...new Set(rows.map(({ provider }) => provider))], services }
}

/** How calls went, as they were recorded. */
export interface CallGroupStatistics {
  /** What they have in common; null: all of the range together. */
  readonly of: string | null
  readonly calls: bigint
  readonly delivered: bigint
  /** Failed by the caller's own doing, such as invalid input. */
  readonly refused: bigint
  /**
   * Milliseconds of what was delivered: half, 95 and 99 of a hundred were not slower. Above 64 they
   * are at most 3.2 per cent more than it was.
   */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export type StatisticsGroup = 'day' | 'service' | 'endpoint' | 'outcome'

export interface StatisticsQuery {
  readonly sales: SoldServices
  readonly by: StatisticsGroup
  readonly from: Date
  /** Excluded. */
  readonly until: Date
}

/** To compile a query would take longer than to read a month of most providers. */
const queryWithoutJit =
  <Row extends object>(pool: Pool) =>
  (text: string, values: unknown[]) =>
    readSnapshot(pool, (client) => client.query<Row>(text, values), 'SET LOCAL jit = off')

/** More kinds of outcomes or endpoints are not shown. */
const ROWS_MAX = 1_000

/** What they have in common, of `hub.outcome_day o` and `hub.endpoint e`. */
const GROUP_EXPRESSIONS: Readonly<Record<StatisticsGroup, string>> = {
  day: 'o.day::text',
  service: 'o.service',
  endpoint: `coalesce(e.service || ' ' || e.method || ' ' || e.path, o.endpoint::text)`,
  outcome: 'o.outcome',
}

interface OutcomeRow extends LatencyRow {
  readonly of: string
  readonly refused: boolean
}

/** So many rows are added up in one go; then others have their turn. */
const YIELD_EVERY_ROWS = 500

/**
 * How the calls of an owner's services went in UTC days, by what is kept of each day: the groups by
 * name, and all of them together as the last one.
 */
export async function readCallStatistics(
  pool: Pool,
  { sales, by, from, until }: StatisticsQuery,
): Promise<readonly CallGroupStatistics[]> {
  const { rows } = await queryWithoutJit<OutcomeRow>(pool)(
    `SELECT ${GROUP_EXPRESSIONS[by]} AS of, o.refused, ${LATENCY_COLUMNS}
     FROM hub.outcome_day o LEFT JOIN hub.endpoint e ON e.id = o.endpoint
     WHERE o.service = ANY ($1) AND o.day >= $2 AND o.day < $3`,
    [sales.services, dayName(from), dayName(until)],
  )
  const groups = new Map<string, GroupTotals>()
  for (const [n, row] of rows.entries()) {
    if (n % YIELD_EVERY_ROWS === YIELD_EVERY_ROWS - 1) await setImmediate()
    const sums = groups.get(row.of) ?? new GroupTotals()
    groups.set(row.of, sums)
    sums.add(row)
  }
  const whole = new GroupTotals()
  for (const sums of groups.values()) whole.addAll(sums)
  const named = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, ROWS_MAX)
  return [...named, [null, whole] as const]
    .map(([of, sums]) => ({ of, ...sums.statistics() }))
    .filter(({ calls }) => calls > 0n)
}

/** What calls came to that have something in common. */
class GroupTotals {
  readonly #latencies = new LatencyHistogram()
  #refused = 0

  add(row: OutcomeRow): void {
    this.#latencies.add(row)
    if (row.refused) this.#refused += Number(row.counts) // one number: none was delivered
  }

  addAll(other: GroupTotals): void {
    this.#latencies.addAll(other.#latencies)
    this.#refused += other.#refused
  }

  statistics(): Omit<CallGroupStatistics, 'of'> {
    const latencies = this.#latencies.sorted()
    const delivered = latencies.calls.reduce((sum, count) => sum + count, 0)
    return {
      calls: BigInt(delivered + this.#latencies.undelivered),
      delivered: BigInt(delivered),
      refused: BigInt(this.#refused),
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
      p99: percentile(latencies, 0.99),
    }
  }
}

/** A caller as a provider may know it. */
export interface Customer {
  /** A pseudonym: the same for the same caller, another one at each provider. */
  readonly customer: string
  readonly calls: bigint
  readonly delivered: bigint
  /** Microdollars, by the records of calls. */
  readonly charged: bigint
  readonly firstAt: Date
  readonly lastAt: Date
}

export interface CustomersQuery extends Omit<StatisticsQuery, 'by'> {
  readonly limit: number
  /** `charged` and `customer` of the last one of the page before. */
  readonly after: readonly [bigint, string] | undefined
  /** Callers are told apart by it, and not known by it elsewhere. */
  readonly secret: Buffer
}

/** Callers in UTC days, those first who paid most: by whole weeks, and by the days around them. */
export async function listCustomers(
  pool: Pool,
  order: CustomersQuery,
): Promise<readonly Customer[]> {
  const { sales, from, until, limit, after, secret } = order
  const salt = Buffer.concat([secret, Buffer.from(sales.providers.join(' '))])
  const weeks = wholeWeeks(from, until)
  const { rows } = await queryWithoutJit<Customer>(pool)(
    `SELECT * FROM (
       SELECT left(encode(sha256($6::bytea || convert_to(c.principal, 'UTF8')), 'hex'), 16)
           AS customer, sum(c.calls) AS calls, sum(c.delivered) AS delivered,
         sum(c.charged)::bigint AS charged, min(c.first_at) AS "firstAt", max(c.last_at) AS "lastAt"
       FROM (SELECT * FROM hub.caller_day WHERE service = ANY ($1) AND day >= $2 AND day < $3
         UNION ALL
         SELECT * FROM hub.caller_week WHERE service = ANY ($1) AND week >= $3 AND week < $4
         UNION ALL
         SELECT * FROM hub.caller_day WHERE service = ANY ($1) AND day >= $4 AND day < $5) c
       GROUP BY c.principal) g
     WHERE $7::bigint IS NULL OR (charged, customer) < ($7, $8::text)
     ORDER BY charged DESC, customer DESC LIMIT $9`,
    [
      sales.services,
      dayName(from),
      dayName(weeks.from),
      dayName(weeks.until),
      dayName(until),
      salt,
      after?.[0] ?? null,
      after?.[1] ?? null,
      limit,
    ],
  )
  return rows
}

/** The weeks that lie within a range of UTC days; none: both are where it ends. */
function wholeWeeks(from: Date, until: Date): { readonly from: Date; readonly until: Date } {
  const weeks = { from: weekStart(daysBefore(from, -6)), until: weekStart(until) }
  return weeks.from < weeks.until ? weeks : { from: until, until }
}
