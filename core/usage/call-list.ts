import type { Pool } from 'pg'
import { type KeyManager, MANAGED_KEYS } from '../identity/sub-keys.ts'
import { type CallRecord, type UsageColumns, usageOf } from './call-records.ts'

/** Outcomes in a list of calls: `failed` ones are not charged, `pending` ones may still be. */
export const CALL_OUTCOMES = ['paid', 'free', 'failed', 'pending'] as const
export type ListedOutcome = (typeof CALL_OUTCOMES)[number]

/** Filter and page of a list of calls. */
export interface CallListQuery {
  readonly limit: number
  /** Cursor of the last row of the previous page. */
  readonly after?: CallPosition | undefined
  /** Wallets whose calls without a key are listed as well. */
  readonly wallets: readonly string[]
  /** True for charged calls alone. */
  readonly isCharged?: boolean
  readonly outcome?: ListedOutcome | undefined
  readonly service?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** Calls among which a filter looks for matches. @defaultValue 5000 */
  readonly searchedMax?: number
}

export type CallPosition = readonly [at: string, id: string]

/** Calls that a filter looks at for a page: looking at more would take too long. */
export const SEARCHED_CALLS = 5_000
/** Share of each key, at least, so that a busy one among many is searched too. */
const SEARCHED_OF_KEY = 100
/** Calls of each key, at least, by whose times the end of a page is estimated. */
const SAMPLED_OF_KEY = 4

/** Page of a list of calls. */
export interface CallListPage {
  readonly rows: readonly CallListRow[]
  /**
   * Position up to which a filter has looked for matches, if there may be more after it. Null if
   * the rows fill the page or are all there are.
   */
  readonly searchedTo: CallPosition | null
}

export interface CallListRow
  extends Pick<
    CallRecord,
    'id' | 'at' | 'source' | 'charged' | 'keyId' | 'latencyMs' | 'status' | 'reason' | 'usage'
  > {
  readonly endpoint: string
  readonly outcome: ListedOutcome
  /** Microdollars refunded to credits after the charge. */
  readonly refunded: bigint
  readonly keyName: string | null
}

/** Row of a list, with the account of credits and the shard of its key. */
type PaidCall = Omit<CallListRow, 'refunded' | 'usage'> &
  UsageColumns & {
    readonly credits: bigint | null
    readonly shard: number | null
  }

const OUTCOME = `CASE WHEN k.outcome = 'unresolved' THEN 'pending'
  WHEN k.outcome = 'failed' THEN 'failed' WHEN k.charged > 0 THEN 'paid' ELSE 'free' END`

/** Calls `k` after the cursor $2, $3, and from $4 to $5. */
export const IN_RANGE = `(k.at, k.id) < (coalesce($2::timestamptz, 'infinity'),
      coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    AND k.at >= coalesce($4::timestamptz, '-infinity')
    AND k.at < coalesce($5::timestamptz, 'infinity')`

const OF_KEY = 'k.key_id = f.id'
const OF_WALLET = "k.key_id IS NULL AND k.principal = 'x402:' || w.wallet"

/** Selects the newest calls that fulfil a condition, by an index. */
const newest = (condition: string) => `SELECT k.*, ${OUTCOME} AS listed FROM hub.call k
  WHERE ${condition} AND ${IN_RANGE} AND (k.charged > 0 OR NOT $8)
    AND ($9::text IS NULL OR ${OUTCOME} = $9) AND ($10::text IS NULL OR k.service = $10)
    AND ($11::timestamptz IS NULL OR k.at >= $11)
  ORDER BY k.at DESC, k.id DESC LIMIT $7`

/** Selects the times of calls before the page, newest first, from an index alone. */
const newestTimes = (condition: string) => `SELECT k.at FROM hub.call k
  WHERE ${condition} AND k.at < least($2::timestamptz, $4)
    AND k.at >= coalesce($3::timestamptz, '-infinity')
  ORDER BY k.at DESC`

/** Share of a key or wallet in $6 calls, at least `min` of them. */
const share = (min: number) => `greatest(least($6::integer, ${min}), $6::integer /
    greatest(1, (SELECT count(*) FROM family) + cardinality($5::text[])))`

/** Selects the time of the last one of the calls of a key or wallet that are searched. */
const lastSearched = (condition: string) => `${newestTimes(condition)}
  OFFSET ${share(SEARCHED_OF_KEY)} - 1 LIMIT 1`

const sampledTimes = (condition: string) => `${newestTimes(condition)}
  LIMIT ${share(SAMPLED_OF_KEY)}`

/** Finds a time since which there are the calls of a page without a filter, and few others. */
const FIND_PAGE_END = `${MANAGED_KEYS} SELECT n.at FROM (
    SELECT k.at FROM family f CROSS JOIN LATERAL (${sampledTimes(OF_KEY)}) k
    UNION ALL
    SELECT k.at FROM unnest($5::text[]) w(wallet)
      CROSS JOIN LATERAL (${sampledTimes(OF_WALLET)}) k) n
  ORDER BY n.at DESC OFFSET $6 - 1 LIMIT 1`

/** Finds where a search ends: at the newest of the last calls, before which all were looked at. */
const FIND_SEARCH_END = `${MANAGED_KEYS} SELECT max(b.at) AS at FROM (
    SELECT k.at FROM family f CROSS JOIN LATERAL (${lastSearched(OF_KEY)}) k
    UNION ALL
    SELECT k.at FROM unnest($5::text[]) w(wallet)
      CROSS JOIN LATERAL (${lastSearched(OF_WALLET)}) k) b`

// Named, like the list itself: each connection parses them once.
const PAGE_END = { name: 'call-list.page-end', text: FIND_PAGE_END }
const SEARCH_END = { name: 'call-list.search-end', text: FIND_SEARCH_END }

const LIST_CALLS = `${MANAGED_KEYS} SELECT c.id, c.at, c.source, c.charged, c.status, c.reason,
    c.key_id AS "keyId", c.latency_ms AS "latencyMs", c.listed AS outcome, c.name AS "keyName",
    coalesce(e.service || ' ' || e.method || ' ' || e.path, c.service) AS endpoint,
    c.credits, c.shard, c.unit, c.quantity, c.unit_amount, c.unit_per
  FROM (
    SELECT k.*, f.name, f.credits, p.shard FROM family f JOIN hub.principal p ON p.id = f.principal
      CROSS JOIN LATERAL (${newest(OF_KEY)}) k
    UNION ALL
    SELECT k.*, NULL, NULL, NULL FROM unnest($6::text[]) w(wallet)
      CROSS JOIN LATERAL (${newest(OF_WALLET)}) k
    ORDER BY at DESC, id DESC LIMIT $7
  ) c LEFT JOIN hub.endpoint e ON e.id = c.endpoint
  ORDER BY c.at DESC, c.id DESC`

/**
 * Lists recorded calls of managed keys and of wallets, however they were paid, newest first. A
 * filter by outcome, service or charge looks at a limited number of calls for a page.
 */
export async function listCalls(
  pool: Pool,
  manager: KeyManager,
  query: CallListQuery,
): Promise<CallListPage> {
  const { limit, wallets, isCharged = false, outcome = null, service = null } = query
  const [at = null, id = null] = query.after ?? []
  const range = [manager, at, id, query.from ?? null, query.to ?? null, wallets]
  const isFiltered = isCharged || outcome !== null || service !== null
  const end = isFiltered
    ? await findEnd(pool, SEARCH_END, manager, query, query.searchedMax ?? SEARCHED_CALLS)
    : await findEnd(pool, PAGE_END, manager, query, limit)
  const { rows } = await pool.query<PaidCall>({
    name: 'call-list.read',
    text: LIST_CALLS,
    values: [...range, limit, isCharged, outcome, service, end],
  })
  const refunds = await readRefunds(pool, rows)
  return {
    rows: rows.map((row) => ({
      ...row,
      usage: usageOf(row),
      refunded: refunds.get(row.id) ?? 0n,
    })),
    searchedTo: isFiltered && end && rows.length < limit ? [end.toISOString(), FIRST_ID] : null,
  }
}

/** Before every other id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Finds the time down to which a page looks at calls; null if it looks at all. */
async function findEnd(
  pool: Pool,
  query: typeof PAGE_END,
  manager: KeyManager,
  { after, from, to, wallets }: CallListQuery,
  count: number,
): Promise<Date | null> {
  const values = [manager, after?.[0] ?? 'infinity', from ?? null, to ?? 'infinity', wallets, count]
  const { rows } = await pool.query<{ at: Date | null }>({ ...query, values })
  return rows[0]?.at ?? null
}

/** Reads what was refunded of calls paid by credits, from the shards of their payers. */
async function readRefunds(
  pool: Pool,
  calls: readonly PaidCall[],
): Promise<ReadonlyMap<string, bigint>> {
  const paid = calls.filter(({ source, charged }) => source === 'credits' && charged > 0n)
  const found = await Promise.all(
    [...Map.groupBy(paid, ({ shard }) => shard)].map(async ([shard, all]) => {
      const { rows } = await pool.query<{ id: string; amount: bigint }>(REFUNDS, [
        shard,
        [...new Set(all.map(({ credits }) => credits))],
        all.map(({ id }) => id),
      ])
      return rows
    }),
  )
  return new Map(found.flat().map(({ id, amount }) => [id, amount]))
}

/** Kinds: 20 external.refunded, 29 call.reversed. */
const REFUNDS = `SELECT j.id, sum((SELECT sum(u.amount) FROM unnest(j.accounts, j.amounts)
    u(account, amount) WHERE u.account = j.owner))::bigint AS amount
  FROM ledger.journal j WHERE j.shard = $1 AND j.owner = ANY ($2::bigint[])
    AND j.id = ANY ($3::uuid[]) AND j.kind IN (20, 29) GROUP BY j.id`

/** Reads the addresses of the wallets that are or are linked to one of the principals. */
export async function walletsOf(pool: Pool, principals: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ wallet: string }>(
    `SELECT DISTINCT wallet_address AS wallet FROM hub.principal
     WHERE id = ANY ($1) AND wallet_address IS NOT NULL`,
    [principals],
  )
  return rows.map(({ wallet }) => wallet)
}
