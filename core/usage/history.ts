import type { Pool } from 'pg'
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
  AND ($6::text[] IS NULL OR k.event = ANY ($6)) AND ($7::text IS NULL OR e.service = $7)
  AND j.at >= coalesce($8::timestamptz, '-infinity')
  AND j.at < coalesce($9::timestamptz, 'infinity')`
const BALANCE = '(SELECT sum(b.balance)::bigint FROM ledger.balance b WHERE b.account = $1)'
const NEWEST = 'ORDER BY j.id DESC, j.phase DESC, j.kind DESC LIMIT $5'

/** Entries of a row, with the last one. A call is one row of the view `calls`. */
const ENTRIES: Readonly<Record<HistoryView, { readonly sql: string; readonly where: string }>> = {
  movements: {
    sql: `CROSS JOIN LATERAL (SELECT j AS last, ARRAY[j] AS entries) c`,
    where: '',
  },
  calls: {
    sql: `CROSS JOIN LATERAL (SELECT (array_agg(x ORDER BY x.seq DESC))[1] AS last,
        array_agg(x) AS entries FROM ledger.journal x WHERE x.owner = j.owner AND x.id = j.id
        AND (j.phase = 1 OR x.phase = j.phase)) c`,
    where: `AND (j.phase = 1 OR NOT EXISTS (SELECT 1 FROM ledger.journal h
      WHERE h.owner = j.owner AND h.id = j.id AND h.phase = 1))`,
  },
}

const branch = (view: HistoryView, where: string, joinCalls: string) => `SELECT c.last AS row,
    c.entries, j.id, j.phase, j.kind, j.at, k.event,
    e.service || ' ' || e.method || ' ' || e.path AS endpoint
  FROM ledger.journal j ${joinCalls} ${ENTRIES[view].sql}
  JOIN ledger.kind k ON k.id = (c.last).kind
  LEFT JOIN hub.endpoint e ON e.id = j.endpoint
  WHERE ${where} ${ENTRIES[view].where} AND ${WHERE} ${NEWEST}`

const historySql = (view: HistoryView, joinCalls = '') => `
  SELECT r.*, CASE WHEN $11 THEN coalesce($10::bigint, ${BALANCE}) - r.later END AS balance
  FROM (SELECT s.*, coalesce(sum(s.change) OVER (ORDER BY s.id DESC, s.phase DESC, s.kind DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint AS later
  FROM (SELECT n.id, n.phase, n.kind, n.event, n.at, l.amount AS change, n.endpoint,
    (SELECT x.amount FROM unnest(n.entries) x WHERE x.phase = 2) AS charged,
    (SELECT split_part(a.code, ':', 3) FROM ledger.account a
      WHERE n.kind = 31 AND a.id <> $1 AND a.id = ANY ((n.row).accounts)) AS "otherKey",
    coalesce((n.row).meta ->> 'transaction', (n.row).meta ->> 'tx') AS transaction,
    coalesce((n.row).meta ->> 'reason', (SELECT c.reason FROM hub.call c
      WHERE (n.row).phase = 2 AND c.id = n.id)) AS reason,
    (SELECT json_build_object('unit', c.unit, 'quantity', c.quantity,
        'price_microdollars', c.unit_amount, 'per', c.unit_per) FROM hub.call c
      WHERE (n.row).phase = 2 AND c.id = n.id AND c.quantity IS NOT NULL) AS usage
  FROM (
    (${branch(view, 'j.owner = $1', joinCalls)})
    UNION ALL
    (${branch(
      view,
      `j.accounts @> ARRAY[$1::bigint] AND j.kind IN (${FOREIGN_KINDS}) AND j.owner <> $1`,
      joinCalls,
    )})
  ) n
  CROSS JOIN LATERAL (SELECT coalesce(sum(g.amount), 0)::bigint AS amount
    FROM unnest(n.entries) x CROSS JOIN LATERAL ledger.legs(x) g WHERE g.account = $1) l
  ORDER BY n.id DESC, n.phase DESC, n.kind DESC LIMIT $5) s) r
  ORDER BY r.id DESC, r.phase DESC, r.kind DESC`

const CALLS_OF_KEYS = 'JOIN hub.call m ON m.id = j.id AND m.key_id = ANY ($12)'

/**
 * Reads changes of an account of credits, newest first. The balance of a later page continues that
 * of the page before it.
 */
export async function readHistory(
  pool: Pool,
  credits: bigint,
  query: HistoryQuery,
): Promise<HistoryRow[]> {
  const { view, after, events, service, from, to, madeBy } = query
  const [id = null, phase = null, kind = null, before] = after ?? []
  const isFiltered = events !== undefined || service !== undefined || to !== undefined || madeBy
  const hasBalance = !isFiltered && (after === undefined || before !== undefined)
  const { rows } = await pool.query<HistoryRow>(historySql(view, madeBy && CALLS_OF_KEYS), [
    credits,
    id,
    phase,
    kind,
    query.limit,
    events ?? null,
    service ?? null,
    from ?? null,
    to ?? null,
    before ?? null,
    hasBalance,
    ...(madeBy ? [madeBy] : []),
  ])
  return rows
}
