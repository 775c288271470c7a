import type { Pool } from 'pg'
import { dayName } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'

/** A payout as shown to its provider. Amounts in microdollars. */
export interface PayoutInfo {
  readonly id: string
  readonly provider: string
  /** Principal that owns the provider. */
  readonly owner: string
  /** The UTC day: `2026-11-21`. */
  readonly batch: string
  readonly state: 'started' | 'confirmed' | 'failed'
  readonly amount: bigint
  /** Debts that were deducted from the earnings. */
  readonly recovered: bigint
  readonly payee: string
  readonly transaction: string | null
  readonly startedAt: Date
  readonly endedAt: Date | null
}

const SELECT = `SELECT o.id, o.provider, p.owner, o.batch::text AS batch, o.state, o.amount,
    o.recovered, o.payee, o.transaction, o.started_at AS "startedAt", o.ended_at AS "endedAt"
  FROM hub.payout o JOIN hub.provider p ON p.id = o.provider WHERE p.owner = ANY ($1)`

/** Lists payouts of an owner's providers, newest first. */
export async function listPayouts(
  pool: Pool,
  owner: KeyManager,
  limit: number,
  after: string | undefined,
): Promise<readonly PayoutInfo[]> {
  const { rows } = await pool.query<PayoutInfo>(
    `${SELECT} AND ($3::uuid IS NULL OR o.id < $3) ORDER BY o.id DESC LIMIT $2`,
    [owner, limit, after ?? null],
  )
  return rows
}

/** A payout that is not final, as shown to finance. */
export interface StartedPayout
  extends Pick<PayoutInfo, 'id' | 'provider' | 'amount' | 'payee' | 'startedAt' | 'transaction'> {
  readonly triedAt: Date
  /** Why it could not be sent when it was last tried. */
  readonly reason: string | null
}

/** Maximum of listed payouts, the oldest. */
const STARTED_MAX = 500

/** Lists payouts that were started and are not final, oldest first. */
export async function listStartedPayouts(pool: Pool): Promise<readonly StartedPayout[]> {
  const { rows } = await pool.query<StartedPayout>(
    `SELECT id, provider, amount, payee, transaction, reason, started_at AS "startedAt",
       tried_at AS "triedAt"
     FROM hub.payout WHERE state = 'started' ORDER BY started_at, id LIMIT ${STARTED_MAX}`,
  )
  return rows
}

/** @throws Fault `not_found` */
export async function findPayout(pool: Pool, owner: KeyManager, id: string): Promise<PayoutInfo> {
  const { rows } = await pool.query<PayoutInfo>(`${SELECT} AND o.id = $2`, [owner, id])
  if (!rows[0]) throw new Fault('not_found', 'You have no payout with this id.')
  return rows[0]
}

/** Returns what an owner's providers were paid, by UTC month such as `2026-11`. */
export async function readPayoutMonths(
  pool: Pool,
  owner: KeyManager,
  from: Date,
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ month: string; amount: bigint }>(
    `SELECT to_char(o.batch, 'YYYY-MM') AS month, sum(o.amount)::bigint AS amount
     FROM hub.payout o JOIN hub.provider p ON p.id = o.provider
     WHERE p.owner = ANY ($1) AND o.state = 'confirmed' AND o.batch >= $2 GROUP BY 1`,
    [owner, dayName(from)],
  )
  return new Map(rows.map(({ month, amount }) => [month, amount]))
}
