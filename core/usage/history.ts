import type { Pool } from 'pg'

/** Filter and page of a history. Times are those of posting. */
export interface HistoryQuery {
  readonly limit: number
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

/** Position in a history: id, phase and kind of an entry. */
export type HistoryCursor = readonly [id: string, phase: number, kind: number]

/** Effect of an entry on the credits of a key. */
export interface HistoryRow {
  readonly id: string
  readonly phase: number
  readonly kind: number
  readonly event: string
  readonly at: Date
  /** Microdollars, signed. */
  readonly change: bigint
  /** Price of a settled call; null for other entries. */
  readonly charged: bigint | null
  readonly endpoint: string | null
  /** Other key of a key-to-key transfer. */
  readonly otherKey: string | null
  /** Transaction hash. */
  readonly transaction: string | null
  /** Reason of a manual entry or of a refunded call. */
  readonly reason: string | null
}

/** Entry kinds that change credits other than their owner's; matches the partial index. */
const FOREIGN_KINDS = '31, 37, 40, 41'
const WHERE = `($2::uuid IS NULL OR (j.id, j.phase, j.kind) < ($2, $3, $4))
  AND ($6::text[] IS NULL OR k.event = ANY ($6)) AND ($7::text IS NULL OR e.service = $7)
  AND j.at >= coalesce($8::timestamptz, '-infinity')
  AND j.at < coalesce($9::timestamptz, 'infinity')`
const entries = (joinCalls: string) => `SELECT j AS row, j.id, j.phase, j.kind, k.event,
    e.service || ' ' || e.method || ' ' || e.path AS endpoint
  FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind ${joinCalls}
  LEFT JOIN hub.endpoint e ON e.id = j.endpoint`
const NEWEST = 'ORDER BY j.id DESC, j.phase DESC, j.kind DESC LIMIT $5'

const historySql = (joinCalls = '') => `
  SELECT n.id, n.phase, n.kind, n.event, (n.row).at, l.amount AS change, n.endpoint,
    CASE WHEN n.phase = 2 THEN (n.row).amount END AS charged,
    (SELECT split_part(a.code, ':', 3) FROM ledger.account a
      WHERE n.kind = 31 AND a.id <> $1 AND a.id = ANY ((n.row).accounts)) AS "otherKey",
    coalesce((n.row).meta ->> 'transaction', (n.row).meta ->> 'tx') AS transaction,
    coalesce((n.row).meta ->> 'reason', (SELECT c.reason FROM hub.call c
      WHERE (n.row).phase = 2 AND c.id = (n.row).id)) AS reason
  FROM (
    (${entries(joinCalls)} WHERE j.owner = $1 AND ${WHERE} ${NEWEST})
    UNION ALL
    (${entries(joinCalls)} WHERE j.accounts @> ARRAY[$1::bigint] AND j.kind IN (${FOREIGN_KINDS})
      AND j.owner <> $1 AND ${WHERE} ${NEWEST})
  ) n
  CROSS JOIN LATERAL (SELECT coalesce(sum(amount), 0)::bigint AS amount
    FROM ledger.legs(n.row) WHERE account = $1) l
  ORDER BY n.id DESC, n.phase DESC, n.kind DESC LIMIT $5`

const READ_HISTORY = historySql()
const READ_CALLS = historySql('JOIN hub.call m ON m.id = j.id AND m.key_id = ANY ($10)')

/** Reads changes of an account of credits, newest first. */
export async function readHistory(
  pool: Pool,
  credits: bigint,
  { limit, after, events, service, from, to, madeBy }: HistoryQuery,
): Promise<HistoryRow[]> {
  const [id = null, phase = null, kind = null] = after ?? []
  const { rows } = await pool.query<HistoryRow>(madeBy ? READ_CALLS : READ_HISTORY, [
    credits,
    id,
    phase,
    kind,
    limit,
    events ?? null,
    service ?? null,
    from ?? null,
    to ?? null,
    ...(madeBy ? [madeBy] : []),
  ])
  return rows
}
