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
}

export type CallPosition = readonly [at: string, id: string]

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
    c.credits, c.shard, c.unit, c.quantity, c.unit_amount, c.unit_per
  FROM (
    SELECT k.*, f.name, f.credits, p.shard FROM family f JOIN hub.principal p ON p.id = f.principal
      CROSS JOIN LATERAL (${newest('k.key_id = f.id')}) k
    UNION ALL
    SELECT k.*, NULL, NULL, NULL FROM unnest($6::text[]) w(wallet) CROSS JOIN LATERAL (${newest(
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
  const { rows } = await pool.query<PaidCall>(LIST_CALLS, [
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
  const refunds = await readRefunds(pool, rows)
  return rows.map((row) => ({
    ...row,
    usage: usageOf(row),
    refunded: refunds.get(row.id) ?? 0n,
  }))
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
