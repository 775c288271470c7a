import type { Pool } from 'pg'
import { type KeyManager, MANAGED_KEYS } from '../identity/sub-keys.ts'
import type { CallRecord } from './call-records.ts'

/** What a call came to: `failed` calls are not charged, `pending` ones may still be. */
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
}

export type CallPosition = readonly [at: string, id: string]

export interface CallListRow
  extends Pick<
    CallRecord,
    'id' | 'at' | 'source' | 'charged' | 'keyId' | 'latencyMs' | 'status' | 'reason'
  > {
  readonly endpoint: string
  readonly outcome: ListedOutcome
  /** Microdollars refunded to credits after the charge. */
  readonly refunded: bigint
  readonly keyName: string | null
}

const OUTCOME = `CASE WHEN k.outcome = 'unresolved' THEN 'pending'
  WHEN k.outcome = 'failed' THEN 'failed' WHEN k.charged > 0 THEN 'paid' ELSE 'free' END`

/** Selects the newest calls that fulfil a condition, by an index. */
const newest = (condition: string) => `SELECT k.*, ${OUTCOME} AS listed FROM hub.call k
  WHERE ${condition} AND (k.charged > 0 OR NOT $2)
    AND ($3::timestamptz IS NULL OR (k.at, k.id) < ($3, $4::uuid))
    AND ($7::text IS NULL OR ${OUTCOME} = $7) AND ($8::text IS NULL OR k.service = $8)
    AND k.at >= coalesce($9::timestamptz, '-infinity')
    AND k.at < coalesce($10::timestamptz, 'infinity')
  ORDER BY k.at DESC, k.id DESC LIMIT $5`

const LIST_CALLS = `${MANAGED_KEYS} SELECT c.id, c.at, c.source, c.charged, c.status, c.reason,
    c.key_id AS "keyId", c.latency_ms AS "latencyMs", c.listed AS outcome, c.name AS "keyName",
    coalesce(e.service || ' ' || e.method || ' ' || e.path, c.service) AS endpoint,
    (SELECT coalesce(sum(x.amount), 0)::bigint FROM ledger.posting x WHERE x.id = c.id
      AND x.account_id = c.credits AND x.owner = c.credits AND x.phase IN (0, 3)) AS refunded
  FROM (
    SELECT k.*, f.name, f.credits FROM family f CROSS JOIN LATERAL (${newest('k.key_id = f.id')}) k
    UNION ALL
    SELECT k.*, NULL, NULL FROM unnest($6::text[]) w(wallet) CROSS JOIN LATERAL (${newest(
      "k.key_id IS NULL AND k.principal = 'x402:' || w.wallet",
    )}) k
    ORDER BY at DESC, id DESC LIMIT $5
  ) c LEFT JOIN hub.endpoint e ON e.id = c.endpoint
  ORDER BY c.at DESC, c.id DESC`

/** Lists recorded calls of managed keys and of wallets, however they were paid, newest first. */
export async function listCalls(
  pool: Pool,
  manager: KeyManager,
  query: CallListQuery,
): Promise<CallListRow[]> {
  const { limit, wallets, isCharged = false, after: [at = null, id = null] = [] } = query
  const { rows } = await pool.query<CallListRow>(LIST_CALLS, [
    manager,
    isCharged,
    at,
    id,
    limit,
    wallets,
    query.outcome ?? null,
    query.service ?? null,
    query.from ?? null,
    query.to ?? null,
  ])
  return rows
}

/** Reads the addresses of the wallets that are or are linked to one of the principals. */
export async function walletsOf(pool: Pool, principals: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ wallet: string }>(
    `SELECT DISTINCT wallet_address AS wallet FROM hub.principal
     WHERE id = ANY ($1) AND wallet_address IS NOT NULL`,
    [principals],
  )
  return rows.map(({ wallet }) => wallet)
}
