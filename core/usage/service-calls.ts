import type { Pool } from 'pg'
import { type CallPosition, IN_RANGE, SEARCHED_CALLS } from './call-list.ts'
import { type CallerNames, pseudonymSql, saltOf } from './provider-statistics.ts'

/** Outcomes by which a provider filters calls: `failed` ones are not charged. */
export const SERVICE_CALL_OUTCOMES = ['delivered', 'failed', 'unresolved'] as const
export type ServiceCallOutcome = (typeof SERVICE_CALL_OUTCOMES)[number]

/** Call of a service as its provider sees it. Inputs are not stored. */
export interface ServiceCall {
  readonly id: string
  readonly at: Date
  /** Null if the endpoint was deleted. */
  readonly endpoint: string | null
  /** Pseudonym of the caller. */
  readonly customer: string
  readonly outcome: string
  /** Status that the caller got. */
  readonly status: number
  readonly reason: string | null
  readonly latencyMs: number
  /** Microdollars, before refunds. */
  readonly charged: bigint
}

/** Filter and page of the calls of a service. */
export interface ServiceCallsQuery extends CallerNames {
  readonly service: string
  readonly limit: number
  /** Cursor of the last row of the previous page. */
  readonly after?: CallPosition | undefined
  readonly outcome?: ServiceCallOutcome | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** Page of the calls of a service. */
export interface ServiceCallsPage {
  readonly rows: readonly ServiceCall[]
  /** Position up to which a filter has looked for matches, if there may be more after it. */
  readonly searchedTo: CallPosition | null
}

const LIST_CALLS = `
  SELECT c.id, c.at, e.method || ' ' || e.path AS endpoint, c.outcome, c.status, c.reason,
    c.latency_ms AS "latencyMs", c.charged, ${pseudonymSql('$8', 'c.principal')} AS customer
  FROM (SELECT * FROM (SELECT * FROM hub.call k WHERE k.service = $1 AND ${IN_RANGE}
      ORDER BY k.at DESC, k.id DESC LIMIT ${SEARCHED_CALLS}) c
    WHERE $6::text IS NULL OR c.outcome = $6 ORDER BY c.at DESC, c.id DESC LIMIT $7) c
  LEFT JOIN hub.endpoint e ON e.id = c.endpoint ORDER BY c.at DESC, c.id DESC`

const FIND_SEARCH_END = `SELECT k.at, k.id FROM hub.call k WHERE k.service = $1 AND ${IN_RANGE}
  ORDER BY k.at DESC, k.id DESC OFFSET ${SEARCHED_CALLS - 1} LIMIT 1`

/** Lists the calls of a service, newest first. A filter looks at a limited number for a page. */
export async function listServiceCalls(
  pool: Pool,
  query: ServiceCallsQuery,
): Promise<ServiceCallsPage> {
  const { service, limit, outcome = null, from = null, to = null } = query
  const [at = null, id = null] = query.after ?? []
  const range = [service, at, id, from, to]
  const { rows } = await pool.query<ServiceCall>({
    name: 'service-calls.list',
    text: LIST_CALLS,
    values: [...range, outcome, limit, saltOf(query)],
  })
  const isSearch = outcome !== null && rows.length < limit
  return { rows, searchedTo: isSearch ? await findSearchEnd(pool, range) : null }
}

/** Calls of a file. */
export const FILE_CALLS_MAX = 10_000
const FILE_PAGES_MAX = 400
/** Newest calls that a filter looks at for a file. */
export const FILE_SEARCHED_MAX = FILE_PAGES_MAX * SEARCHED_CALLS

/** Reads the calls of a file, newest first, in pages of `SEARCHED_CALLS`. */
export async function* readServiceCalls(
  pool: Pool,
  query: Omit<ServiceCallsQuery, 'limit' | 'after'>,
): AsyncGenerator<readonly ServiceCall[]> {
  let after: CallPosition | null | undefined
  let left = FILE_CALLS_MAX
  for (let pages = 0; pages < FILE_PAGES_MAX && left > 0 && after !== null; pages++) {
    const limit = Math.min(left, SEARCHED_CALLS)
    const { rows, searchedTo } = await listServiceCalls(pool, { ...query, limit, after })
    yield rows
    left -= rows.length
    const last = rows.length === limit ? rows.at(-1) : undefined
    after = last ? [last.at.toISOString(), last.id] : searchedTo
  }
}

async function findSearchEnd(pool: Pool, range: readonly unknown[]): Promise<CallPosition | null> {
  const { rows } = await pool.query<{ at: Date; id: string }>(FIND_SEARCH_END, [...range])
  return rows[0] ? [rows[0].at.toISOString(), rows[0].id] : null
}
