import type { Pool } from 'pg'
import { readTogether } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import type { Manager } from '../identity/children.ts'

/** What an owner sells. */
export interface Sales {
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
export async function salesOf(
  pool: Pool,
  owner: Manager,
  service: string | undefined,
): Promise<Sales> {
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
export interface CallFigures {
  /** What they have in common; null: all of the range together. */
  readonly of: string | null
  readonly calls: bigint
  readonly delivered: bigint
  /** Failed by the caller's own doing, such as invalid input. */
  readonly refused: bigint
  /** Milliseconds of what was delivered: half, 95 and 99 of a hundred were not slower. */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export type FiguresBy = 'day' | 'service' | 'endpoint' | 'outcome'

export interface FiguresRange {
  readonly sales: Sales
  readonly by: FiguresBy
  readonly from: Date
  /** Excluded. */
  readonly until: Date
}

/** To compile the sums would take longer than to add up a month of most providers. */
const plainly =
  <Row extends object>(pool: Pool) =>
  (text: string, values: unknown[]) =>
    readTogether(pool, (client) => client.query<Row>(text, values), 'SET LOCAL jit = off')

/** More kinds of outcomes or endpoints are not shown. */
const ROWS_MAX = 1_000

const GROUPS: Readonly<Record<FiguresBy, string>> = {
  day: `(c.at AT TIME ZONE 'UTC')::date`,
  service: 'c.service',
  endpoint: `(SELECT e.service || ' ' || e.method || ' ' || e.path FROM hub.endpoint e
    WHERE e.id = c.endpoint)`,
  outcome: `CASE c.outcome WHEN 'failed' THEN coalesce(c.reason, 'failed') ELSE c.outcome END`,
}

/** How the calls of an owner's services went, by the index of service and time. */
export async function callFigures(
  pool: Pool,
  { sales, by, from, until }: FiguresRange,
): Promise<readonly CallFigures[]> {
  const { rows } = await plainly<CallFigures>(pool)(
    `SELECT of::text, calls, delivered, refused, p[1] AS p50, p[2] AS p95, p[3] AS p99 FROM (
       SELECT g.of, count(*) AS calls,
         count(*) FILTER (WHERE g.outcome = 'delivered') AS delivered,
         count(*) FILTER (WHERE g.outcome = 'failed' AND g.status < 500) AS refused,
         percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY g.latency_ms)
           FILTER (WHERE g.outcome = 'delivered') AS p
       FROM (SELECT ${GROUPS[by]} AS of, c.outcome, c.status, c.latency_ms FROM hub.call c
         WHERE c.service = ANY ($1) AND c.at >= $2 AND c.at < $3) g
       GROUP BY GROUPING SETS ((g.of), ())) f
     ORDER BY of NULLS LAST LIMIT ${ROWS_MAX}`,
    [sales.services, from, until],
  )
  return rows
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

export interface CustomersOrder extends Omit<FiguresRange, 'by'> {
  readonly limit: number
  /** `charged` and `customer` of the last one of the page before. */
  readonly after: readonly [bigint, string] | undefined
  /** Callers are told apart by it, and not known by it elsewhere. */
  readonly secret: Buffer
}

/** Callers, those first who paid most. */
export async function customersOf(pool: Pool, order: CustomersOrder): Promise<readonly Customer[]> {
  const { sales, from, until, limit, after, secret } = order
  const salt = Buffer.concat([secret, Buffer.from(sales.providers.join(' '))])
  const { rows } = await plainly<Customer>(pool)(
    `SELECT * FROM (
       SELECT left(encode(sha256($4::bytea || convert_to(c.principal, 'UTF8')), 'hex'), 16)
           AS customer, count(*) AS calls,
         count(*) FILTER (WHERE c.outcome = 'delivered') AS delivered,
         sum(c.charged)::bigint AS charged, min(c.at) AS "firstAt", max(c.at) AS "lastAt"
       FROM hub.call c WHERE c.service = ANY ($1) AND c.at >= $2 AND c.at < $3
       GROUP BY c.principal) g
     WHERE $5::bigint IS NULL OR (charged, customer) < ($5, $6::text)
     ORDER BY charged DESC, customer DESC LIMIT $7`,
    [sales.services, from, until, salt, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
  return rows
}
