import type { Pool } from 'pg'
import type { ShardAccount } from '../ledger/account-balances.ts'
import type { UsageView } from './usage-view.ts'

/** Filter and page of a history. Times are those of posting. */
export interface HistoryQuery {
  readonly limit: number
  /** `calls`: one row per call, with its net change. `movements`: one row per entry. */
  readonly view: HistoryView
  /** Cursor of the last row of the previous page. */
  readonly after?: HistoryCursor | undefined
  /** Event names, such as `call.settled`. */
  readonly events?: readonly string[] | undefined
  readonly service?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** Only calls made by these keys. */
  readonly madeBy?: readonly string[] | undefined
}

export type HistoryView = 'calls' | 'movements'

/** Position in a history: id, phase and kind of an entry, and the balance before it, if shown. */
export type HistoryCursor = readonly [
  id: string,
  phase: number,
  kind: number,
  before?: number | undefined,
]

/** Effect of a call or another entry on the credits of a key. */
export interface HistoryRow {
  readonly id: string
  readonly phase: number
  readonly kind: number
  readonly event: string
  readonly at: Date
  /** Microdollars, signed. */
  readonly change: bigint
  /**
   * Balance after this row, in the order of the list: a call counts from its start. Null for a list
   * that leaves out rows after it.
   */
  readonly balance: bigint | null
  /** Price of a settled call; null for other entries. */
  readonly charged: bigint | null
  readonly endpoint: string | null
  /** Other key of a key-to-key transfer. */
  readonly otherKey: string | null
  /** Transaction hash. */
  readonly transaction: string | null
  /** Reason of a manual entry or of a refunded call. */
  readonly reason: string | null
  /** Usage of a call with a metered price. */
  readonly usage: UsageView | null
}

/** Entry kinds that change credits other than their owner's; matches the partial index. */
const FOREIGN_KINDS = '31, 37, 40, 41'
const WHERE = `($2::uuid IS NULL OR (j.id, j.phase, j.kind) < ($2, $3, $4))
  AND ($6::text[] IS NULL OR k.event = ANY ($6))
  AND ($7::integer[] IS NULL OR j.endpoint = ANY ($7))
  AND j.at >= coalesce($8::timestamptz, '-infinity')
  AND j.at < coalesce($9::timestamptz, 'infinity')`
const NEWEST = 'ORDER BY j.id DESC, j.phase DESC, j.kind DESC LIMIT $5'

/** Entries of a row, with the last one. A call is one row of the view `calls`. */
const ENTRIES: Readonly<Record<HistoryView, { readonly sql: string; readonly where: string }>> = {
  movements: {
    sql: `CROSS JOIN LATERAL (SELECT ROW(j.*)::ledger.journal AS last,
        ARRAY[ROW(j.*)::ledger.journal] AS entries) c`,
    where: '',
  },
  calls: {
    sql: `CROSS JOIN LATERAL (
        SELECT (array_agg(ROW(x.*)::ledger.journal ORDER BY x.seq DESC))[1] AS last,
          array_agg(ROW(x.*)::ledger.journal) AS entries
        FROM ledger.journal x WHERE x.shard = $10 AND x.owner = j.owner AND x.id = j.id
        AND (j.phase = 1 OR x.phase = j.phase)) c`,
    where: `AND (j.phase = 1 OR NOT EXISTS (SELECT 1 FROM ledger.journal h
      WHERE h.shard = $10 AND h.owner = j.owner AND h.id = j.id AND h.phase = 1))`,
  },
}

const branch = (view: HistoryView, where: string) => `SELECT c.last AS row,
    c.entries, j.id, j.phase, j.kind, j.at, j.endpoint, k.event
  FROM ledger.journal j ${ENTRIES[view].sql}
  JOIN ledger.kind k ON k.id = (c.last).kind
  WHERE j.shard = $10 AND ${where} ${ENTRIES[view].where} AND ${WHERE} ${NEWEST}`

const IS_OWN = 'j.owner = $1'
const IS_FOREIGN = `j.accounts @> ARRAY[$1::bigint] AND j.kind IN (${FOREIGN_KINDS})
  AND j.owner <> $1`
const IS_CALL_OF_KEYS = `${IS_OWN}
  AND j.id IN (SELECT m.id FROM hub.call m WHERE m.key_id = ANY ($11))`

/** Ids of the entries of a page of calls that keys made. They belong to the account that paid. */
const callIdsSql = (view: HistoryView) => `SELECT n.id FROM (${branch(view, IS_CALL_OF_KEYS)}) n`

const rowsSql = (view: HistoryView, hasIds: boolean) =>
  hasIds
    ? branch(view, `${IS_OWN} AND j.id = ANY ($13)`)
    : `(${branch(view, IS_OWN)}) UNION ALL (${branch(view, IS_FOREIGN)})`

/** Reads the entries first: Citus cannot join them with all calls, and crashes if it tries. */
const historySql = (view: HistoryView, hasIds: boolean) => `
  WITH n AS MATERIALIZED (
    SELECT n.id, n.phase, n.kind, n.event, n.at, n.endpoint,
      (SELECT coalesce(sum(g.amount), 0)::bigint FROM unnest(n.entries) x
        CROSS JOIN LATERAL ledger.legs(ROW(x.*)::ledger.journal) g
        WHERE g.account = $1) AS change,
      (SELECT x.amount FROM unnest(n.entries) x WHERE x.phase = 2) AS charged,
      (SELECT split_part(a.code, ':', 3) FROM ledger.account a
        WHERE n.kind = 31 AND a.id <> $1 AND a.id = ANY ((n.row).accounts)) AS "otherKey",
      coalesce((n.row).meta ->> 'transaction', (n.row).meta ->> 'tx') AS transaction,
      (n.row).meta ->> 'reason' AS reason, (n.row).phase = 2 AS "isSettled",
      (SELECT b.balance FROM ledger.balance b WHERE b.account = $1 AND b.shard = $10) AS total
    FROM (${rowsSql(view, hasIds)}) n
    ORDER BY n.id DESC, n.phase DESC, n.kind DESC LIMIT $5
  )
  SELECT r.id, r.phase, r.kind, r.event, r.at, r.change, r.charged, r."otherKey", r.transaction,
    (SELECT e.service || ' ' || e.method || ' ' || e.path FROM hub.endpoint e
      WHERE e.id = r.endpoint) AS endpoint,
    coalesce(r.reason, c.reason) AS reason,
    CASE WHEN $12 THEN coalesce($11::bigint, r.total) - r.later END AS balance,
    CASE WHEN c.quantity IS NOT NULL THEN json_build_object('unit', c.unit,
      'quantity', c.quantity, 'price_microdollars', c.unit_amount, 'per', c.unit_per) END AS usage
  FROM (SELECT n.*, coalesce(sum(n.change) OVER (ORDER BY n.id DESC, n.phase DESC, n.kind DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint AS later FROM n) r
  LEFT JOIN LATERAL (SELECT * FROM hub.call c WHERE r."isSettled" AND c.id = r.id LIMIT 1) c
    ON true
  ORDER BY r.id DESC, r.phase DESC, r.kind DESC`

/**
 * Reads changes of an account of credits, newest first. The balance of a later page continues that
 * of the page before it.
 */
export async function readHistory(
  pool: Pool,
  credits: ShardAccount,
  query: HistoryQuery,
): Promise<HistoryRow[]> {
  const { view, after, events, service, from, to, madeBy } = query
  const [id = null, phase = null, kind = null, before] = after ?? []
  const isFiltered = events !== undefined || service !== undefined || to !== undefined || madeBy
  const hasBalance = !isFiltered && (after === undefined || before !== undefined)
  const endpoints = service === undefined ? null : await findEndpoints(pool, service)
  const values = [
    credits.id,
    id,
    phase,
    kind,
    query.limit,
    events ?? null,
    endpoints,
    from ?? null,
    to ?? null,
    credits.shard,
  ]
  const ids =
    madeBy && (await pool.query<{ id: string }>(callIdsSql(view), [...values, madeBy])).rows
  const { rows } = await pool.query<HistoryRow>({
    // Planning takes longer than reading a first page. A later one needs a plan for its position.
    ...(!after && !isFiltered && { name: `history.${view}` }),
    text: historySql(view, ids !== undefined),
    values: [...values, before ?? null, hasBalance, ...(ids ? [ids.map((row) => row.id)] : [])],
  })
  return rows
}

/** Finds the endpoints of all versions of a service. */
async function findEndpoints(pool: Pool, service: string): Promise<readonly number[]> {
  const { rows } = await pool.query<{ id: number }>(
    'SELECT id FROM hub.endpoint WHERE service = $1',
    [service],
  )
  return rows.map(({ id }) => id)
}
