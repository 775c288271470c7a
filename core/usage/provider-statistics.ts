import { setImmediate } from 'node:timers/promises'
import type { Pool } from 'pg'
import { dayName, daysBefore, weekStart } from '../clock.ts'
import { Fault } from '../errors.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import { LATENCY_COLUMNS, LatencyHistogram, type LatencyRow, percentile } from './latencies.ts'

/** Providers and services of an owner. */
export interface SoldServices {
  /** Ids of providers. */
  readonly providers: readonly string[]
  /** Slugs of services. */
  readonly services: readonly string[]
}

/** Finds the services of an owner, also retired, or `service`. @throws Fault `service_not_found` */
export async function findSoldServices(
  pool: Pool,
  owner: KeyManager,
  service: string | undefined,
): Promise<SoldServices> {
  const { rows } = await pool.query<{ provider: string; slug: string | null }>({
    name: 'sold-services.find',
    text: `SELECT p.id AS provider, s.slug FROM hub.provider p
     LEFT JOIN hub.service s ON s.provider = p.id AND ($2::text IS NULL OR s.slug = $2)
     WHERE p.owner = ANY ($1) ORDER BY 1, 2`,
    values: [owner, service ?? null],
  })
  const services = rows.flatMap(({ slug }) => (slug === null ? [] : [slug]))
  if (service !== undefined && services.length === 0) throw new Fault('service_not_found')
  return { providers: [...new Set(rows.map(({ provider }) => provider))], services }
}

/** Call counts and latencies of one group. */
export interface CallGroupStatistics {
  /** Group key; null for the total over the range. */
  readonly groupKey: string | null
  readonly calls: bigint
  readonly delivered: bigint
  /** Failed because of the caller, such as invalid input. */
  readonly refused: bigint
  /** Latency percentiles of delivered calls in milliseconds, at most 3.2 % too high. */
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

/** Maximum groups returned. */
const ROWS_MAX = 1_000

/** SQL of the group key, from `hub.outcome_day o` and `hub.endpoint e`. */
const GROUP_EXPRESSIONS: Readonly<Record<StatisticsGroup, string>> = {
  day: 'o.day::text',
  service: 'o.service',
  endpoint: `coalesce(e.service || ' ' || e.method || ' ' || e.path, o.endpoint::text)`,
  outcome: 'o.outcome',
}

interface OutcomeRow extends LatencyRow {
  readonly groupKey: string
  readonly refused: boolean
}

/** Rows summed before yielding to the event loop. */
const YIELD_EVERY_ROWS = 500

/** Reads statistics by UTC day range of an owner's services: groups by name, then the total. */
export async function readCallStatistics(
  pool: Pool,
  { sales, by, from, until }: StatisticsQuery,
): Promise<readonly CallGroupStatistics[]> {
  const { rows } = await pool.query<OutcomeRow>(
    `SELECT ${GROUP_EXPRESSIONS[by]} AS "groupKey", o.refused, ${LATENCY_COLUMNS}
     FROM hub.outcome_day o LEFT JOIN hub.endpoint e ON e.id = o.endpoint
     WHERE o.service = ANY ($1) AND o.day >= $2 AND o.day < $3`,
    [sales.services, dayName(from), dayName(until)],
  )
  const groups = new Map<string, GroupTotals>()
  for (const [n, row] of rows.entries()) {
    if (n % YIELD_EVERY_ROWS === YIELD_EVERY_ROWS - 1) await setImmediate()
    const totals = groups.get(row.groupKey) ?? new GroupTotals()
    groups.set(row.groupKey, totals)
    totals.add(row)
  }
  const total = new GroupTotals()
  for (const totals of groups.values()) total.addAll(totals)
  const named = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, ROWS_MAX)
  return [...named, [null, total] as const]
    .map(([groupKey, totals]) => ({ groupKey, ...totals.statistics() }))
    .filter(({ calls }) => calls > 0n)
}

/** Totals of one group. */
class GroupTotals {
  readonly #latencies = new LatencyHistogram()
  #refused = 0

  add(row: OutcomeRow): void {
    this.#latencies.add(row)
    if (row.refused) this.#refused += Number(row.counts) // refused rows have one count
  }

  addAll(other: GroupTotals): void {
    this.#latencies.addAll(other.#latencies)
    this.#refused += other.#refused
  }

  statistics(): Omit<CallGroupStatistics, 'groupKey'> {
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

/** Usage of an endpoint at a metered price. */
export interface EndpointUsage {
  readonly service: string
  readonly endpoint: string
  readonly unit: string
  readonly calls: bigint
  readonly quantity: bigint
  /** Microdollars. */
  readonly charged: bigint
}

/** Reads the usage of metered endpoints in a range of UTC days, by call records. */
export async function readUsage(
  pool: Pool,
  { sales, from, until }: Omit<StatisticsQuery, 'by'>,
): Promise<readonly EndpointUsage[]> {
  const { rows } = await pool.query<EndpointUsage>({
    name: 'usage.read',
    text: `SELECT c.service, e.method || ' ' || e.path AS endpoint, c.unit, count(*) AS calls,
       sum(c.quantity)::bigint AS quantity, sum(c.charged)::bigint AS charged
     FROM hub.call c JOIN hub.endpoint e ON e.id = c.endpoint
     WHERE c.quantity IS NOT NULL AND c.service = ANY ($1) AND c.at >= $2 AND c.at < $3
     GROUP BY c.service, e.method, e.path, c.unit ORDER BY 1, 2, 3 LIMIT ${ROWS_MAX}`,
    values: [sales.services, from, until],
  })
  return rows
}

/** Caller as shown to a provider. */
export interface Customer {
  /** Pseudonym of the caller, different at each provider. */
  readonly customer: string
  readonly calls: bigint
  readonly delivered: bigint
  /** Microdollars, by call records. */
  readonly charged: bigint
  readonly firstAt: Date
  readonly lastAt: Date
}

/** Pseudonyms of callers, different at each provider. */
export interface CallerNames {
  /** Ids of providers. */
  readonly providers: readonly string[]
  /** Secret from which the pseudonyms derive. */
  readonly secret: Buffer
}

/** Salt of the pseudonyms at the given providers. */
export const saltOf = ({ secret, providers }: CallerNames): Buffer =>
  Buffer.concat([secret, Buffer.from(providers.join(' '))])

/** SQL of a pseudonym. */
export const pseudonymSql = (salt: string, principal: string): string =>
  `left(encode(sha256(${salt}::bytea || convert_to(${principal}, 'UTF8')), 'hex'), 16)`

export interface CustomersQuery extends Omit<StatisticsQuery, 'by'> {
  readonly limit: number
  /** `charged` and `customer` of the last row of the previous page. */
  readonly after: readonly [bigint, string] | undefined
  /** Secret from which the pseudonyms derive. */
  readonly secret: Buffer
}

const CALLER_COLUMNS = 'principal, calls, delivered, charged, first_at, last_at'

/** Lists callers in a range of UTC days, highest charges first. Reads weeks where possible. */
export async function listCustomers(
  pool: Pool,
  order: CustomersQuery,
): Promise<readonly Customer[]> {
  const { sales, from, until, limit, after, secret } = order
  const weeks = wholeWeeks(from, until)
  const { rows } = await pool.query<Customer>(
    `SELECT * FROM (
       SELECT ${pseudonymSql('$6', 'c.principal')} AS customer, sum(c.calls) AS calls,
         sum(c.delivered) AS delivered,
         sum(c.charged)::bigint AS charged, min(c.first_at) AS "firstAt", max(c.last_at) AS "lastAt"
       FROM (SELECT ${CALLER_COLUMNS} FROM hub.caller_day
           WHERE service = ANY ($1) AND day >= $2 AND day < $3
         UNION ALL SELECT ${CALLER_COLUMNS} FROM hub.caller_week
           WHERE service = ANY ($1) AND week >= $3 AND week < $4
         UNION ALL SELECT ${CALLER_COLUMNS} FROM hub.caller_day
           WHERE service = ANY ($1) AND day >= $4 AND day < $5) c
       GROUP BY c.principal) g
     WHERE $7::bigint IS NULL OR (charged, customer) < ($7, $8::text)
     ORDER BY charged DESC, customer DESC LIMIT $9`,
    [
      sales.services,
      dayName(from),
      dayName(weeks.from),
      dayName(weeks.until),
      dayName(until),
      saltOf({ providers: sales.providers, secret }),
      after?.[0] ?? null,
      after?.[1] ?? null,
      limit,
    ],
  )
  return rows
}

/** Returns the whole weeks within a range of UTC days; without any, both ends are `until`. */
function wholeWeeks(from: Date, until: Date): { readonly from: Date; readonly until: Date } {
  const weeks = { from: weekStart(daysBefore(from, -6)), until: weekStart(until) }
  return weeks.from < weeks.until ? weeks : { from: until, until }
}
