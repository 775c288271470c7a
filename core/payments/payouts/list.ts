import type { Pool } from 'pg'
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

/** @throws Fault `not_found` */
export async function findPayout(pool: Pool, owner: KeyManager, id: string): Promise<PayoutInfo> {
  const { rows } = await pool.query<PayoutInfo>(`${SELECT} AND o.id = $2`, [owner, id])
  if (!rows[0]) throw new Fault('not_found', 'You have no payout with this id.')
  return rows[0]
}
